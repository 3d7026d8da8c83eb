// Package atomicfile changes files so that a crash leaves either the old or the new state
// on disk.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// temporary returns the path to which a file is written before it replaces the old one.
// One such path is enough, because callers let only one goroutine at a time write a path.
func temporary(path string) string { return path + ".tmp" }

// Write replaces a file, which only the current user may read. When it returns nil, the
// file is on disk.
func Write(path string, data []byte) error {
	f, err := os.OpenFile(temporary(path), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}

	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}

	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temporary(path), path)
	}

	if err != nil {
		return errors.Join(err, os.Remove(temporary(path)))
	}

	return SyncDir(filepath.Dir(path))
}

// Remove deletes a file and any temporary file that a crash has left beside it. Deleting
// a file that does not exist is not an error.
func Remove(path string) error {
	for _, p := range []string{path, temporary(path)} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes renames and removals in a folder durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
