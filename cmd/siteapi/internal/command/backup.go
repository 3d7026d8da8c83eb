package command

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/atomicfile"
	"siteapi/integrations/store/sqlite"
)

func (d commands) backupCommand() *cobra.Command {
	command := d.command("backup", "write a backup of DATA_DIR to a file, even while the service is running",
		databaseSettings(), writeBackup,
		"siteapi backup --output siteapi-$(date +%F).tar.gz",
		"siteapi backup --output - | age -r age1… > siteapi.tar.gz.age")
	outputFlags(command.Flags(), "`file` to write, readable only by you, or - for standard output")
	return command
}

func (d commands) restoreCommand() *cobra.Command {
	command := d.command("restore", "restore a backup into an empty DATA_DIR", databaseSettings(), restoreBackup,
		"siteapi restore --from siteapi-2026-01-31.tar.gz")
	command.Flags().String("from", "", "`file` to restore, or - for standard input")
	return command
}

// Prefixes of temporary folders. That of a restore is in DATA_DIR.
const (
	backupPrefix  = ".siteapi-backup-"
	restorePrefix = ".siteapi-restore-"
)

// backupParts returns patterns of the files in a backup, relative to DATA_DIR. A backup
// is a gzipped tar file.
func backupParts() []string {
	return []string{systems.DatabaseFile, "content.json", "cms/*.json", "crm/*.json", "crm/deals/*.json"}
}

// postgres returns an error if the database is PostgreSQL. The error gives the command
// line to run instead.
func postgres(s *config.Settings, line string) error {
	if s.DatabaseURL == nil {
		return nil
	}
	return errors.New("this command does not support PostgreSQL. Run this instead:\n\n   " + line + "\n\n" +
		"First remove parameters from DATABASE_URL that only this service uses, such as pool_max_conns")
}

func writeBackup(ctx context.Context, c *call) error {
	s, path := c.settings, c.flag("output")
	err := postgres(s, "pg_dump --format=custom --no-owner --file=siteapi.dump.part \"$DATABASE_URL\" && "+
		"mv siteapi.dump.part siteapi.dump")
	if err != nil {
		return err
	}
	if path == "" {
		return errors.New("--output: set the file to write")
	}
	if err := systems.CheckDatabase(s); err != nil {
		return err
	}

	folder := s.DataDir
	if path != "-" {
		folder = filepath.Dir(path)
	}
	staging, remove, err := newStaging(folder, backupPrefix)
	if err != nil {
		return err
	}
	defer remove()

	leads, sessions, err := sqlite.Snapshot(ctx, systems.DatabasePath(s), filepath.Join(staging, systems.DatabaseFile))
	if err != nil {
		return err
	}
	return c.write(staging, func(w io.Writer) (string, error) {
		return fmt.Sprintf("%d leads, %d sessions", leads, sessions),
			writeArchive(w, staging, s.DataDir)
	})
}

// newStaging creates a temporary folder, which is locked until it is removed or the process
// ends. It also removes those of killed processes.
func newStaging(parent, prefix string) (folder string, remove func(), err error) {
	if err := RemoveAbandoned(parent); err != nil {
		return "", nil, err
	}
	if folder, err = os.MkdirTemp(parent, prefix); err != nil {
		return "", nil, err
	}
	lock := folderLock(folder)
	_, err = lock.TryLock()
	return folder, func() { _ = errors.Join(os.RemoveAll(folder), lock.Close()) }, err
}

// folderLock returns the lock of a temporary folder.
func folderLock(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }

// abandoned returns the temporary folders of killed processes.
func abandoned(parent, prefix string) []string {
	folders, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	return slices.DeleteFunc(folders, func(folder string) bool {
		lock := folderLock(folder)
		isFree, err := lock.TryLock()
		return err != nil || lock.Close() != nil || !isFree
	})
}

// RemoveAbandoned removes the temporary folders of killed backups and restores, which contain
// personal data.
func RemoveAbandoned(parent string) error {
	var errs []error
	for _, folder := range abandoned(parent, ".siteapi-") {
		errs = append(errs, os.RemoveAll(folder))
	}
	return errors.Join(errs...)
}

// writeArchive writes the snapshot of the database first, then the current files of the
// file drivers. In this order a document may lack its lead, which is harmless, but no
// lead that counts as delivered lacks its document.
func writeArchive(w io.Writer, staging, dataDir string) error {
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	for i, pattern := range backupParts() {
		folder := os.DirFS(dataDir)
		if i == 0 {
			folder = os.DirFS(staging)
		}

		files, _ := fs.Glob(folder, pattern)
		for _, name := range files {
			// A missing file was erased in the meantime.
			if err := addFile(archive, folder, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}

	return errors.Join(archive.Close(), compressed.Close())
}

func addFile(archive *tar.Writer, folder fs.FS, name string) error {
	f, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()

	info, err := f.Stat()
	if err != nil {
		return err
	}
	header, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	header.Name = name
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

func restoreBackup(ctx context.Context, c *call) error {
	s, from := c.settings, c.flag("from")
	err := postgres(s, "pg_restore --clean --if-exists --no-owner --single-transaction "+
		"--dbname=\"$DATABASE_URL\" siteapi.dump")
	if err != nil {
		return err
	}
	if from == "" {
		return errors.New("--from: set the backup to restore")
	}

	if from == "-" {
		from = os.Stdin.Name()
	}
	archive, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { _ = archive.Close() }()

	if err := ownFolder(s.DataDir); err != nil {
		return fmt.Errorf("DATA_DIR: %w", err)
	}
	lock, err := systems.LockDatabase(s)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()

	if err := clearPlaced(s.DataDir); err != nil {
		return err
	}
	staging, remove, err := newStaging(s.DataDir, restorePrefix)
	if err != nil {
		return fmt.Errorf("DATA_DIR: %w", err)
	}
	defer remove()

	createdAt, err := unpack(archive, staging)
	if err != nil {
		return fmt.Errorf("the backup is damaged, truncated, or not from this service: %w", err)
	}
	leads, sessions, err := sqlite.Check(ctx, filepath.Join(staging, systems.DatabaseFile))
	if err != nil {
		return fmt.Errorf("the backup has no valid database: %w", err)
	}
	if err := place(staging, s.DataDir); err != nil {
		return fmt.Errorf("the backup was only partly restored (%w): empty DATA_DIR and restore again", err)
	}

	c.printLine("restored the backup of %[1]s: %[2]d leads, %[3]d sessions\n"+
		"data that was erased since then is back: `DATA_DIR=<the previous folder> siteapi audit list --action erased "+
		"--since %[1]s` lists the leads, and `siteapi leads show` their addresses here: repeat these erasures\n"+
		"then start the service; `siteapi deliveries verify` finds leads missing from the CMS or the CRM",
		createdAt.UTC().Format(time.RFC3339), leads, sessions)
	return nil
}

// clearPlaced removes the files that a killed restore has placed. It fails if there are other
// files of a backup.
func clearPlaced(dataDir string) error {
	killed := len(abandoned(dataDir, restorePrefix)) > 0
	for _, name := range backupNames() {
		path := filepath.Join(dataDir, name)
		switch {
		case missing(path):
		case killed: // A restore begins only without the file, so it has placed it.
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("DATA_DIR: %w", err)
			}
		default:
			return fmt.Errorf("DATA_DIR already has %s: nothing was restored. Move its files away first", name)
		}
	}
	return nil
}

// ownFolder creates a folder. It fails if root runs it on the folder of another user: the
// service runs as that user and could not open files owned by root.
func ownFolder(path string) error {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 && os.Getuid() == 0 {
		return errors.New("the folder belongs to another user: run this as that user, not as root")
	}
	return nil
}

// unpack extracts a backup into a folder, and returns when the backup was created. It
// fails if the archive is damaged or truncated, or contains an unexpected file.
func unpack(r io.Reader, folder string) (createdAt time.Time, err error) {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return createdAt, err
	}
	archive := tar.NewReader(compressed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, compressed) // reads the checksum after the last file
			return createdAt, err
		}
		if err != nil {
			return createdAt, err
		}

		known := slices.ContainsFunc(backupParts(), func(pattern string) bool {
			ok, _ := path.Match(pattern, header.Name)
			return ok && header.Typeflag == tar.TypeReg
		})
		if !known {
			return createdAt, fmt.Errorf("it contains %q", header.Name)
		}
		if header.Name == systems.DatabaseFile {
			createdAt = header.ModTime
		}

		to := filepath.Join(folder, filepath.FromSlash(header.Name))
		err = os.MkdirAll(filepath.Dir(to), 0o700)
		if err == nil {
			err = writeFile(filepath.Dir(to), to, false, func(w io.Writer) error {
				_, err := io.Copy(w, archive)
				return err
			})
		}
		if err != nil {
			return createdAt, err
		}
	}
}

// backupNames lists the names in DATA_DIR that must not exist before a restore. The files
// of the backup are moved there in this order, the database last.
func backupNames() []string {
	return []string{"content.json", "cms", "crm", systems.DatabaseFile + "-wal", systems.DatabaseFile}
}

// place moves an unpacked backup into DATA_DIR.
func place(staging, dataDir string) error {
	for _, name := range backupNames() {
		from := filepath.Join(staging, name)
		if missing(from) {
			continue
		}
		if err := os.Rename(from, filepath.Join(dataDir, name)); err != nil {
			return err
		}
	}
	return atomicfile.SyncDir(dataDir)
}
