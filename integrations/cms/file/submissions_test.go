package file_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/cms/cmstest"
	"siteapi/integrations/cms/file"
	"siteapi/integrations/upstream"
)

func TestSubmissionsAreForThisUserOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := file.Open(file.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), cmstest.Submission("abc")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{
		filepath.Join(dir, "cms"): 0o700, filepath.Join(dir, "cms", "quoteSubmission.abc.json"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "cms"))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries left, %v", len(entries), err)
	}
}

func TestFolderAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := file.Open(file.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "cms")); err != nil {
		t.Fatal(err)
	}
	_, missing := d.Missing(t.Context(), []string{"a"})
	if missing != nil {
		t.Errorf("Missing: %v, want all of them missing", missing)
	}
	_, find := d.Find(t.Context(), "a@example.com")
	for what, err := range map[string]error{
		"Put":   d.Put(t.Context(), cmstest.Submission("abc")),
		"Erase": d.Erase(t.Context(), []string{"abc"}),
		"Find":  find,
		"Ping":  d.Ping(t.Context()),
	} {
		if err == nil || upstream.KindOf(err) != upstream.Unavailable {
			t.Errorf("%s: %v, want trouble that may pass", what, err)
		}
	}
	// The folder is back: nothing needs a restart.
	if err := os.Mkdir(filepath.Join(dir, "cms"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), cmstest.Submission("abc")); err != nil {
		t.Error(err)
	}
}

// A file that someone damaged is found by the address in it, and erased.
func TestFindInDamagedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := file.Open(file.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"quoteSubmission.cut.json": `{"contact":{"email":"Ana@Example.com"`, "quoteSubmission.other.json": `{"contact":`,
		"quoteSubmission.odd.json": `["ana@example.com"]`, "notes.json": `"ana@example.com"`, "quoteSubmission.txt": `"ana@example.com"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, "cms", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := d.Find(t.Context(), "ana@example.com")
	if slices.Sort(found); err != nil || !slices.Equal(found, []string{"cut", "odd"}) {
		t.Fatalf("found %q %v", found, err)
	}
	if err := d.Erase(t.Context(), found); err != nil {
		t.Error(err)
	}
	if found, err := d.Find(t.Context(), "ana@example.com"); err != nil || len(found) != 0 {
		t.Errorf("left are %q %v", found, err)
	}
}

func TestOpenSweepsWhatACrashLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, young := filepath.Join(dir, "cms", ".writing-1"), filepath.Join(dir, "cms", ".writing-2")
	if err := os.Mkdir(filepath.Dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, old, "{")
	write(t, young, "{")
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(old, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Open(file.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the old one is still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the young one is gone: %v", err)
	}
}
