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

	"github.com/spf13/cobra"

	"siteapi/integrations/store/sqlite"
)

const (
	manifestName  = "manifest.json"
	backupFormat  = 1
	stagingPrefix = ".siteapi-backup-" // of folders with unfinished work
)

// backup is `siteapi backup`.
func (d Deps) backup() *cobra.Command {
	return d.command(&cobra.Command{
		Use: "backup", Short: "write everything in DATA_DIR to one file, while the service runs",
		Long: "The file holds the database as it stands at one moment and, with the file drivers, the content, the stored\n" +
			"submissions and the contacts. It is checked and read back before it gets its name. It holds personal data:\n" +
			"encrypt it, and remove old ones.",
		Example: "  siteapi backup --output /backups/siteapi-$(date +%F).tar.gz\n" +
			"  siteapi backup --output - | age -r age1… > siteapi.tar.gz.age",
	}, databaseSettings(), writeBackup, outputFlags("`file` to write, readable by you only; -: standard output"))
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
	return []string{manifestName, DatabaseFile, "content.json", "cms/*.json", "crm/*.json"}
}

func writeBackup(ctx context.Context, c *call) error {
	output, s := c.text("output"), c.settings
	folder := filepath.Dir(output)
	switch {
	case s.DatabaseURL != nil:
		return errors.New("the database is PostgreSQL: nothing was written. Run:\n\n" +
			`   pg_dump --format=custom --no-owner --file=siteapi.dump "$DATABASE_URL"`)
	case output == "":
		return errors.New("--output: name the file to write")
	case !exists(databasePath(s)):
		return noDatabase(s)
	case output == "-":
		folder = s.DataDir
	}
	staging, err := newStaging(folder)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	snapshot := filepath.Join(staging, DatabaseFile)
	if err := sqlite.Snapshot(ctx, databasePath(s), snapshot); err != nil {
		return err
	}
	m := manifest{Service: "siteapi", Format: backupFormat, Version: c.Version, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if m.Submissions, m.Sessions, err = sqlite.Check(ctx, snapshot); err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(staging, manifestName), text, 0o600)
	}
	if err != nil {
		return err
	}
	if output == "-" {
		return writeArchive(c.out, staging, s.DataDir)
	}
	err = writeFile(output, c.on("overwrite"), func(f *os.File) error {
		err := writeArchive(f, staging, s.DataDir)
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			return err
		}
		return readArchive(f, func(string, io.Reader) error { return nil })
	})
	if err == nil {
		c.say("%s: %d submissions, %d sessions", output, m.Submissions, m.Sessions)
	}
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

// writeArchive writes manifest and snapshot and, read after it was taken, the files of the file drivers: a document too
// many does no harm, while one that is missing would count as delivered.
func writeArchive(w io.Writer, staging, dataDir string) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed) // the service needs the processors too
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for i, pattern := range backupParts() {
		folder := os.DirFS(dataDir)
		if i < 2 {
			folder = os.DirFS(staging)
		}
		files, _ := fs.Glob(folder, pattern)
		for _, name := range files {
			if err := addFile(archive, folder, name); err != nil && !errors.Is(err, fs.ErrNotExist) { // it was erased meanwhile
				return fmt.Errorf("writing the backup: %w", err)
			}
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	return nil
}

func addFile(archive *tar.Writer, folder fs.FS, name string) error {
	f, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil {
		err = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()})
	}
	if err == nil {
		_, err = io.Copy(archive, f)
	}
	return err
}

// readArchive reads a backup to its end and hands each file to take. It fails if the archive is damaged, cut short, or
// holds a file that no backup has.
func readArchive(r io.Reader, take func(name string, content io.Reader) error) error {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("this is not a backup: %w", err)
	}
	for archive := tar.NewReader(compressed); ; {
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
	for _, pattern := range backupParts() {
		if ok, _ := path.Match(pattern, header.Name); ok && header.Typeflag == tar.TypeReg {
			return true
		}
	}
	return false
}
