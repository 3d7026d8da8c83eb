package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest"
)

// What has been erased is not left behind in the free parts of the file.
func TestErasedForGood(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	const leads = 40
	secret := []byte("Lovelace")
	for i := range leads {
		n := storetest.Submission(i)
		n.Submission.Contact.LastName = string(secret)
		visit := storetest.Visit(n.Submission.SessionID, storetest.When())
		visit.Hints.FirstName = string(secret)
		if err := db.Track(t.Context(), visit); err != nil {
			t.Fatal(err)
		}
		if _, _, err := db.Submit(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Track(t.Context(), storetest.Visit("stays", storetest.When())); err != nil {
		t.Fatal(err)
	}
	held := func() (n int) {
		t.Helper()
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(data, secret)
		}
		return n
	}
	if held() < 2*leads {
		t.Fatalf("the files hold the name %d times before: the test does not see it", held())
	}
	for i := range leads {
		if err := db.Erase(t.Context(), storetest.Submission(i).Submission.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := sqlite.Truncate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if n := held(); n > 0 {
		t.Errorf("the files hold the erased name %d times while the store is open", n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n := held(); n > 0 {
		t.Errorf("the files hold the erased name %d times", n)
	}
}
