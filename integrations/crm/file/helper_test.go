package file_test

import (
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// contactFile returns the path of the only contact in a folder.
func contactFile(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("contacts: %q, %v", paths, err)
	}
	return paths[0]
}

// holdLock takes the folder's lock as another process would.
func holdLock(t *testing.T, dir string) (release func()) {
	t.Helper()
	lock := flock.New(filepath.Join(dir, ".lock"))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}
}
