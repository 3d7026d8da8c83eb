package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store/sqlite"
)

// Names inside a backup, which is a gzipped tar file with the manifest first.
const (
	manifestName = "manifest.json"
	contentName  = "content.json"
	backupFormat = 1
	snapshotMark = ".siteapi-backup-" // begins the names of folders with an unfinished backup
	manifestMost = 1 << 20            // bytes
)

// backupFolders are those of the file drivers.
func backupFolders() []string { return []string{"cms", "crm"} }

// manifest says what a backup is.
type manifest struct {
	Service     string    `json:"service"` // siteapi
	Format      int       `json:"format"`
	Version     string    `json:"version"` // of the program that wrote it
	CreatedAt   time.Time `json:"createdAt"`
	Submissions int64     `json:"submissions"`
	Sessions    int64     `json:"sessions"`
	SHA256      string    `json:"sha256"` // of the database
}

// backup is one that is being made.
type backup struct {
	manifest
	settings *config.Settings
	folder   string // of the snapshot
	files    int    // written beside the database
}

// newBackup takes the snapshot, in a folder beside what is written in the end.
func newBackup(ctx context.Context, s *config.Settings, beside string, now time.Time) (_ *backup, err error) {
	lock, err := joinDatabase(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	sweepSnapshots(beside, now)
	folder, err := os.MkdirTemp(beside, snapshotMark)
	if err != nil {
		return nil, fmt.Errorf("making room for the backup: %w", err)
	}
	b := &backup{settings: s, folder: folder, manifest: manifest{
		Service: "siteapi", Format: backupFormat, Version: versionText(), CreatedAt: now.UTC().Truncate(time.Second),
	}}
	defer func() {
		if err != nil {
			b.discard()
		}
	}()
	if err := sqlite.Snapshot(ctx, filepath.Join(s.DataDir, databaseFile), b.snapshot()); err != nil {
		return nil, err
	}
	b.SHA256, err = digestOf(b.snapshot())
	if err != nil {
		return nil, err
	}
	c, err := sqlite.Check(ctx, b.snapshot())
	b.Submissions, b.Sessions = c.Submissions, c.Sessions
	return b, err
}

func (b *backup) snapshot() string { return filepath.Join(b.folder, databaseFile) }

// discard removes the snapshot.
func (b *backup) discard() { _ = os.RemoveAll(b.folder) } // what stays is swept next time

// sweepSnapshots removes what killed backups left: it holds personal data.
func sweepSnapshots(folder string, now time.Time) {
	left, _ := filepath.Glob(filepath.Join(folder, snapshotMark+"*"))
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(path)
		}
	}
}

// digestOf returns the SHA-256 of a file in hexadecimal digits.
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the database: %w", err)
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("reading the database: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// write writes the archive. The files of the drivers come after the snapshot: what they
// have more than the database does no harm, what they had less would count as delivered.
func (b *backup) write(ctx context.Context, w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed) // the service needs the processors too
	if err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	t := tar.NewWriter(z)
	text, err := json.MarshalIndent(b.manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	header := tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(text)), ModTime: b.CreatedAt}
	if err := t.WriteHeader(&header); err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	if _, err := t.Write(text); err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	if err := addFile(t, databaseFile, b.snapshot()); err != nil {
		return err
	}
	if err := b.addDrivers(ctx, t); err != nil {
		return err
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	return nil
}

// addDrivers adds what the file drivers keep.
func (b *backup) addDrivers(ctx context.Context, t *tar.Writer) error {
	if b.settings.CMSDriver == "file" {
		if err := b.add(t, contentName, b.settings.ContentPath()); err != nil {
			return err
		}
	}
	for _, folder := range driverFolders(b.settings) {
		entries, err := os.ReadDir(filepath.Join(b.settings.DataDir, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("listing %s: %w", folder, err)
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".json" {
				continue
			}
			if err := b.add(t, path.Join(folder, e.Name()), filepath.Join(b.settings.DataDir, folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// driverFolders are those of the drivers in use.
func driverFolders(s *config.Settings) []string {
	var list []string
	for i, driver := range []string{s.CMSDriver, s.CRMDriver} {
		if driver == "file" {
			list = append(list, backupFolders()[i])
		}
	}
	return list
}

// add adds a file that may have gone meanwhile.
func (b *backup) add(t *tar.Writer, name, path string) error {
	err := addFile(t, name, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	b.files++
	return err
}

func addFile(t *tar.Writer, name, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if _, err := io.Copy(t, f); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
