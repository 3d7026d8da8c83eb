package lastgood_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"siteapi/integrations/lastgood"
)

func TestFolderKeepsTheLatestCopy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "content")
	f, err := lastgood.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load("content:locale:en"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("loading what was never saved: %v, want fs.ErrNotExist", err)
	}
	for _, value := range []string{"first", "second"} {
		if err := f.Save("content:locale:en", []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := lastgood.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Load("content:locale:en"); err != nil || string(got) != "second" {
		t.Fatalf("got %q, %v, want the second copy", got, err)
	}
	if got, _ := again.Load("content:locale:es"); got != nil {
		t.Fatalf("another key has the copy %q", got)
	}
}

func TestFolderStaysInsideItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := lastgood.Open(filepath.Join(dir, "inner"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Save("../../outside", []byte("x")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder above holds %v, %v, want only the inner one", entries, err)
	}
}

func TestFolderSaysWhatFailed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lastgood.Open(filepath.Join(file, "below")); err == nil {
		t.Error("a folder below a file was opened")
	}
	f, err := lastgood.Open(filepath.Join(dir, "gone"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := f.Save("key", []byte("x")); err == nil {
		t.Error("a copy was saved in a folder that is gone")
	}
	if err := os.WriteFile(filepath.Join(dir, "gone"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load("key"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("loading below a file: %v, want an error other than fs.ErrNotExist", err)
	}
}
