package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"siteapi/integrations/atomicfile"
)

// TestWrite checks that a write that fails halfway changes nothing and leaves no
// temporary file, and that a successful one leaves a single file that only its owner may
// read.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "lead.json")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}

	full := errors.New("the disk is full")
	err := atomicfile.Write(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "ne")
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("the failed write returned %v", err)
	}
	check(t, dir, path, "old")

	if err := atomicfile.WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	check(t, dir, path, "new")

	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
}

func check(t *testing.T, dir, path, content string) {
	t.Helper()
	if data, err := os.ReadFile(path); err != nil || string(data) != content {
		t.Errorf("the file holds %q, %v, not %q", data, err, content)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}
