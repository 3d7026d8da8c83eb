package file

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"siteapi/integrations/crm"
)

const extension = ".json"

// errDamaged marks a contact file that is not what this driver wrote.
var errDamaged = errors.New("the contact's file is damaged: repair it or move it away")

// path returns the file of the contact with this address.
func (d *Driver) path(email string) string {
	digest := sha256.Sum256([]byte(crm.Address(email)))
	return filepath.Join(d.dir, hex.EncodeToString(digest[:])+extension)
}

// read returns the properties of the contact in a file.
func read(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var held map[string]string
	// The cause is left out: it may quote what the file holds.
	if err := json.Unmarshal(data, &held); err != nil || len(held) == 0 {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), errDamaged)
	}
	return held, nil
}

// write replaces a contact's file so that a crash leaves either the old or the new
// one. The caller holds the folder's lock, so one temporary name per contact will do,
// and what a crash left under it is overwritten by the next write.
func write(path string, properties map[string]string) (err error) {
	data, err := json.MarshalIndent(properties, "", "  ")
	if err != nil {
		return err
	}
	temp := path + ".tmp"
	defer func() {
		if err != nil {
			_ = os.Remove(temp) // what is left would be overwritten by the next write
		}
	}()
	if err := writeSynced(temp, append(data, '\n')); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// remove deletes a contact's file, and what a crash may have left beside it, for good.
// A file that isn't there is no error.
func remove(path string) error {
	for _, p := range []string{path, path + ".tmp"} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename or removal in a folder durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
