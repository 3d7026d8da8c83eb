package operator

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
)

const (
	manifestName  = "manifest.json"
	backupFormat  = 1
	stagingPrefix = ".siteapi-backup-" // of folders with unfinished work
)

// backup is `siteapi backup`.
func (d Deps) backup() *cli.Command {
	return &cli.Command{
		Name: "backup", Usage: "write everything in DATA_DIR to one file, while the service runs",
		Description: "The file holds the database as it stands at one moment and, with the file drivers, the content, the stored\n" +
			"submissions and the contacts. It is checked and read back before it gets its name. It holds personal data:\n" +
			"encrypt it, and remove old ones.\n\n" +
			"   siteapi backup --output /backups/siteapi-$(date +%F).tar.gz\n" +
			"   siteapi backup --output - | age -r age1… > siteapi.tar.gz.age",
		Flags:  outputFlags("file to write, readable by you only; -: standard output"),
		Action: d.action(databaseSettings(), d.writeBackup),
	}
}

// manifest says what a backup holds.
type manifest struct {
	Service     string    `json:"service"` // siteapi
	Format      int       `json:"format"`
	Version     string    `json:"version"` // of the program that wrote it
	CreatedAt   time.Time `json:"createdAt"`
	Submissions int64     `json:"submissions"`
	Sessions    int64     `json:"sessions"`
}

// backupParts returns the patterns of the files in a backup, which is a gzipped tar file, by their paths in DATA_DIR.
func backupParts() []string {
	return []string{DatabaseFile, "content.json", "cms/*.json", "crm/*.json"}
}

func (d Deps) writeBackup(ctx context.Context, c *cli.Command, s *config.Settings) error {
	output := c.String("output")
	switch {
	case s.DatabaseURL != nil:
		return errors.New("the database is PostgreSQL: nothing was written. Run:\n\n" +
			`   pg_dump --format=custom --no-owner --file=siteapi.dump "$DATABASE_URL"`)
	case output == "":
		return errors.New("--output: name the file to write")
	case !exists(databasePath(s)):
		return noDatabase(s)
	}
	folder := filepath.Dir(output)
	if output == "-" {
		folder = s.DataDir
	}
	staging, err := newStaging(folder)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	snapshot := filepath.Join(staging, DatabaseFile)
	if err := d.SQLite.Snapshot(ctx, databasePath(s), snapshot); err != nil {
		return err
	}
	m := manifest{Service: "siteapi", Format: backupFormat, Version: d.Version, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if m.Submissions, m.Sessions, err = d.SQLite.Check(ctx, snapshot); err != nil {
		return err
	}
	if output == "-" {
		return writeArchive(c.Root().Writer, m, snapshot, s.DataDir)
	}
	err = writeFile(output, c.Bool("overwrite"), func(f *os.File) error {
		if err := writeArchive(f, m, snapshot, s.DataDir); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return readArchive(f, func(string, io.Reader) error { return nil })
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Root().Writer, "%s: %d submissions, %d sessions\n", output, m.Submissions, m.Sessions)
	return err
}

// newStaging makes a folder for unfinished work, and removes those that killed processes left a day ago.
func newStaging(parent string) (string, error) {
	left, _ := filepath.Glob(filepath.Join(parent, stagingPrefix+"*"))
	for _, folder := range left {
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(folder)
		}
	}
	return os.MkdirTemp(parent, stagingPrefix)
}

// writeArchive writes the manifest, the snapshot and, read after it was taken, the files of the file drivers: a document
// too many does no harm, while one that is missing would count as delivered.
func writeArchive(w io.Writer, m manifest, snapshot, dataDir string) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed) // the service needs the processors too
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	header := tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(text)), ModTime: m.CreatedAt}
	if err = archive.WriteHeader(&header); err == nil {
		_, err = archive.Write(text)
	}
	if err = errors.Join(err, addFile(archive, DatabaseFile, snapshot)); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	for _, pattern := range backupParts()[1:] {
		files, _ := filepath.Glob(filepath.Join(dataDir, filepath.FromSlash(pattern)))
		for _, file := range files {
			name := path.Join(path.Dir(pattern), filepath.Base(file))
			if err := addFile(archive, name, file); err != nil && !errors.Is(err, fs.ErrNotExist) { // it was erased meanwhile
				return fmt.Errorf("writing the backup: %w", err)
			}
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	return nil
}

func addFile(archive *tar.Writer, name, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

// readArchive reads a backup to its end and hands each file to take. It fails if the archive is damaged, cut short, or
// holds a file that no backup has.
func readArchive(r io.Reader, take func(name string, content io.Reader) error) error {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("this is not a backup: %w", err)
	}
	archive := tar.NewReader(compressed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && !isBackupFile(header) {
			return fmt.Errorf("this is not a backup of this service: it holds %q", header.Name)
		}
		if err == nil {
			err = take(header.Name, archive)
		}
		if err != nil {
			return fmt.Errorf("the backup is damaged or cut short: %w", err)
		}
	}
	// The checksum of the compressed data comes after the last file.
	if _, err := io.Copy(io.Discard, compressed); err != nil {
		return fmt.Errorf("the backup is damaged or cut short: %w", err)
	}
	return nil
}

func isBackupFile(header *tar.Header) bool {
	for _, pattern := range append(backupParts(), manifestName) {
		if ok, _ := path.Match(pattern, header.Name); ok && header.Typeflag == tar.TypeReg {
			return true
		}
	}
	return false
}
