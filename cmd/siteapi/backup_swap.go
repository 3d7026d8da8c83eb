package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// swap puts the backup in place, all of it or nothing. The claim
// keeps services from beginning their work on it.
func (r *restoration) swap(ctx context.Context) (err error) {
	claim, err := claimDatabase(r.settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Close()) }()
	live := filepath.Join(r.settings.DataDir, databaseFile)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("nothing was restored: %w", err), r.takeBack())
		}
	}()
	if err := r.swapContent(); err != nil {
		return err
	}
	for _, folder := range driverFolders(r.settings) {
		if err := r.replace(filepath.Join(r.settings.DataDir, folder), filepath.Join(r.fresh, folder)); err != nil {
			return err
		}
	}
	for _, side := range []string{"-wal", "-shm", "-journal"} { // of a database that SQLite can't read
		if err := r.putAside(live + side); err != nil {
			return err
		}
	}
	if err := r.replaceDatabase(live, filepath.Join(r.fresh, databaseFile)); err != nil {
		return err
	}
	return syncFolder(r.settings.DataDir)
}

// replaceDatabase leaves no moment without a database under its name: after a power cut
// in such a moment a service would begin a new one.
func (r *restoration) replaceDatabase(live, fresh string) error {
	if !exists(live) {
		return r.replace(live, fresh)
	}
	aside, err := r.asideName(databaseFile)
	if err != nil {
		return err
	}
	if err := os.Link(live, aside); err != nil {
		return r.replace(live, fresh) // a file system without hard links
	}
	r.undo = append(r.undo, func() error {
		// Renaming does nothing where both names are those of one file still.
		if err := os.Rename(aside, live); err != nil {
			return err
		}
		if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err := os.Rename(fresh, live); err != nil {
		return fmt.Errorf("moving the database into place: %w", err)
	}
	return nil
}

// swapContent replaces the content file, which CMS_FILE may have put anywhere.
func (r *restoration) swapContent() error {
	fresh := filepath.Join(r.fresh, contentName)
	if !exists(fresh) {
		return nil
	}
	path := r.settings.ContentPath()
	if filepath.Dir(path) == filepath.Clean(r.settings.DataDir) {
		return r.replace(path, fresh)
	}
	aside, err := r.asideName(contentName)
	if err != nil {
		return err
	}
	if exists(path) {
		if err := copyFile(path, aside); err != nil {
			return err
		}
		r.undo = append(r.undo, func() error { return copyFile(aside, path) })
	}
	return copyFile(fresh, path)
}

// replace moves what is live aside and something fresh into its place.
func (r *restoration) replace(live, fresh string) error {
	if err := r.putAside(live); err != nil {
		return err
	}
	if err := os.Rename(fresh, live); err != nil {
		return fmt.Errorf("moving %s into place: %w", filepath.Base(live), err)
	}
	r.undo = append(r.undo, func() error { return os.Rename(live, fresh) })
	return nil
}

// putAside moves a file or folder aside; one that is not there needs no moving.
func (r *restoration) putAside(path string) error {
	if !exists(path) {
		return nil
	}
	aside, err := r.asideName(filepath.Base(path))
	if err != nil {
		return err
	}
	if err := os.Rename(path, aside); err != nil {
		return fmt.Errorf("keeping the old %s: %w", filepath.Base(path), err)
	}
	r.undo = append(r.undo, func() error { return os.Rename(aside, path) })
	return nil
}

// asideName returns where a file goes, in a folder that is made when it is needed.
func (r *restoration) asideName(name string) (string, error) {
	if r.aside == "" {
		folder := filepath.Join(r.settings.DataDir, asideMark+time.Now().UTC().Format("20060102T150405.000Z"))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return "", fmt.Errorf("keeping what was there: %w", err)
		}
		r.aside = folder
	}
	return filepath.Join(r.aside, name), nil
}

// takeBack undoes what was done, last first.
func (r *restoration) takeBack() error {
	var errs []error
	for _, undo := range slices.Backward(r.undo) {
		errs = append(errs, undo())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("what was there lies in %s: %w", r.aside, err)
	}
	if r.aside != "" {
		_ = os.Remove(r.aside) // an empty folder does no harm
	}
	return nil
}

// copyFile replaces a file by a copy of another one, whole or not at all.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err == nil {
		err = writeWhole(to, true, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("copying %s: %w", filepath.Base(from), err)
	}
	return nil
}

// syncFolder brings the names in a folder to the disk.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("syncing %s: %w", filepath.Base(path), err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil && !errors.Is(err, fs.ErrInvalid) {
		return fmt.Errorf("syncing %s: %w", filepath.Base(path), err)
	}
	return nil
}
