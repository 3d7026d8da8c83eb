package sqlstore

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// Both databases have the same migrations. A file's position is its version, so each has
// the next number: one that was inserted would change the versions of those behind it.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	names := map[string][]string{}
	for _, folder := range []string{"sqlite", "postgres"} {
		files, err := fs.ReadDir(migrations, "migrations/"+folder)
		if err != nil {
			t.Fatal(err)
		}

		for i, f := range files {
			names[folder] = append(names[folder], f.Name())
			if number := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(f.Name(), number) {
				t.Errorf("%s/%s: its name has to begin with %s", folder, f.Name(), number)
			}
		}
	}

	if !slices.Equal(names["sqlite"], names["postgres"]) {
		t.Errorf("the migrations differ:\nsqlite   %v\npostgres %v", names["sqlite"], names["postgres"])
	}
}
