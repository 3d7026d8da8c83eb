package deliveries

import (
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
