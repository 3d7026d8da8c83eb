package postgres_test

import (
	"testing"

	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

func TestStore(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		return storetest.PostgreSQL(server.NewDatabase(t))
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
