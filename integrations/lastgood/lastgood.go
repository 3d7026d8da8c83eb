// Package lastgood keeps the latest good copy of content in a folder, so that a
// service that starts while its CMS is away still has something to show. A copy is a
// convenience: losing one loses nothing that the CMS doesn't have.
package lastgood

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Folder keeps one file per key. Several processes may share it: a file is replaced
// as a whole.
type Folder struct{ dir string }

// Open returns the folder at dir, which is made where it is missing.
func Open(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of last good copies: %w", err)
	}
	return &Folder{dir: dir}, nil
}

// Save replaces the copy under key.
func (f *Folder) Save(key string, value []byte) error {
	tmp, err := os.CreateTemp(f.dir, ".tmp-*")
	if err != nil {
		return fmt.Errorf("making a file: %w", err)
	}
	_, err = tmp.Write(value)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.path(key))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing a copy: %w", err), os.Remove(tmp.Name()))
	}
	return nil
}

// Load returns the copy under key. Without one the error is an fs.ErrNotExist.
func (f *Folder) Load(key string) ([]byte, error) {
	value, err := os.ReadFile(f.path(key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading a copy: %w", err)
	}
	return value, err
}

// path turns a key into a file name: anything that could lead elsewhere becomes a dash.
func (f *Folder) path(key string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, key)
	return filepath.Join(f.dir, name+".json")
}
