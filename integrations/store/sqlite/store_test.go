package sqlite_test

import (
	"path/filepath"
	"testing"

	"siteapi/integrations/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		return storetest.SQLite(filepath.Join(t.TempDir(), "folder", "a b?#%.db"))
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
