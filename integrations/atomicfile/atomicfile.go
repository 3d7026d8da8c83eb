// Package atomicfile changes files so that a crash leaves either the old or the new state
// on disk.
package atomicfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Write replaces the file at path with the output of write. Only the current user may
// read the file. When Write returns nil, the file is on disk under its name. If anything
// fails before the rename, the old file is unchanged.
func Write(path string, write func(io.Writer) error) error {
	folder := filepath.Dir(path) // also of the temporary file
	f, err := renameio.NewPendingFile(path,
		renameio.WithTempDir(folder), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}

	buffered := bufio.NewWriter(f)
	if err := errors.Join(write(buffered), buffered.Flush()); err != nil {
		return errors.Join(err, f.Cleanup())
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return errors.Join(err, f.Cleanup())
	}
	return SyncDir(folder)
}

// WriteFile is Write for data in memory.
func WriteFile(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteJSON is Write for an indented JSON value.
func WriteJSON(path string, value any) error {
	return Write(path, func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(value)
	})
}

// Remove deletes a file and any temporary files that a crash left behind. Deleting a file
// that does not exist is not an error.
func Remove(path string) error {
	dir, name := filepath.Split(path)
	temporary, err := Match(filepath.Clean(dir), "."+name+"[0-9]*")
	if err != nil {
		return err
	}

	for _, path := range append(temporary, path) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return SyncDir(filepath.Dir(path))
}

// Match returns the paths of all files in a folder whose names match a pattern, none if there
// is no such folder. Unlike [filepath.Glob] it takes the folder's name as it is, and fails if
// the folder cannot be read.
func Match(dir, pattern string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	for _, e := range entries {
		matched, err := filepath.Match(pattern, e.Name())
		if err != nil {
			return nil, err
		}
		if matched {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// SyncDir makes renames and removals in a folder durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
