package commands

import (
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// object is a JSON object under construction.
type object = map[string]any

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
