package command

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/atomicfile"
	"siteapi/integrations/store/sqlite"
)

func (d Drivers) backupCommand() *cobra.Command {
	return d.command("backup", "write everything in DATA_DIR to one file, while the service runs",
		databaseSettings(), &writeBackup{},
		"siteapi backup --output siteapi-$(date +%F).tar.gz",
		"siteapi backup --output - | age -r age1… > siteapi.tar.gz.age")
}

func (d Drivers) restoreCommand() *cobra.Command {
	return d.command("restore", "put the files of a backup into an empty DATA_DIR",
		databaseSettings(), &restoreBackup{},
		"siteapi restore --from siteapi-2026-01-31.tar.gz")
}

// stagingPrefix begins the names of folders that hold unfinished work.
const stagingPrefix = ".siteapi-backup-"

// backupParts returns the patterns of the files in a backup by their paths in DATA_DIR. A
// backup is a gzipped tar file.
func backupParts() []string {
	return []string{DatabaseFile, "content.json", "cms/*.json", "crm/*.json"}
}

type writeBackup struct{ output output }

func (cmd *writeBackup) flags(f *pflag.FlagSet) {
	cmd.output.flags(f, "`file` to write, readable by you only; -: standard output")
}

func (cmd *writeBackup) run(ctx context.Context, c *call) error {
	s, output := c.settings, cmd.output.path
	switch err := existing(s); {
	case s.DatabaseURL != nil:
		address, note := toolAddress(s.DatabaseURL)
		return fmt.Errorf("the database is PostgreSQL: nothing was written. Run%s:\n\n"+
			"   pg_dump --format=custom --no-owner --file=siteapi.dump.part %s && mv siteapi.dump.part siteapi.dump",
			note, address)
	case output == "":
		return errors.New("--output: name the file to write")
	case err != nil:
		return err
	case output == "-":
		output = databasePath(s) // the copy is taken in the folder of the database
	}

	staging, err := newStaging(filepath.Dir(output))
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()

	leads, sessions, err := sqlite.Snapshot(ctx, databasePath(s), filepath.Join(staging, DatabaseFile))
	if err != nil {
		return err
	}

	return cmd.output.write(c, func(w io.Writer) (string, error) {
		return fmt.Sprintf("%d leads, %d sessions", leads, sessions),
			writeArchive(w, staging, s.DataDir)
	})
}

// toolAddress returns the address of a database as PostgreSQL's tools take it, in the form of
// a word of the shell, and what has to be known of it. The tools refuse parameters that only
// the service reads or passes on to the server, such as pool_max_conns.
func toolAddress(database *url.URL) (word, note string) {
	known := []string{
		"application_name", "channel_binding", "client_encoding", "connect_timeout", "dbname", "host",
		"hostaddr", "krbsrvname", "options", "passfile", "password", "port", "require_auth", "service",
		"sslcert", "sslkey", "sslmode", "sslnegotiation", "sslpassword", "sslrootcert", "sslsni",
		"target_session_attrs", "user",
	}

	address, parameters := *database, database.Query()
	given := len(parameters)
	maps.DeleteFunc(parameters, func(name string, _ []string) bool { return !slices.Contains(known, name) })
	if len(parameters) == given {
		return `"$DATABASE_URL"`, ""
	}

	// An address that is printed has no password.
	_, hasPassword := address.User.Password()
	if hasPassword = hasPassword || parameters.Has("password"); hasPassword {
		address.User = url.User(address.User.Username())
		note = ", with the password in PGPASSWORD"
	}
	parameters.Del("password")
	parameters.Del("sslpassword")

	// The tools do not take a + for a space, and a quote would end the word.
	address.RawQuery = strings.ReplaceAll(parameters.Encode(), "+", "%20")
	return "'" + strings.ReplaceAll(address.String(), "'", "%27") + "'", note
}

// newStaging makes a folder for unfinished work. It removes folders that killed processes
// left behind a day ago or earlier.
func newStaging(parent string) (string, error) {
	left, _ := filepath.Glob(filepath.Join(parent, stagingPrefix+"*"))
	for _, folder := range left {
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(folder)
		}
	}

	return os.MkdirTemp(parent, stagingPrefix)
}

// writeArchive writes the snapshot, and the files of the file drivers as they are after
// it was taken: an extra document is harmless, while a missing one would count as
// delivered.
func writeArchive(w io.Writer, staging, dataDir string) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed) // the service needs the processors too
	if err != nil {
		return err
	}

	archive := tar.NewWriter(compressed)
	for i, pattern := range backupParts() {
		folder := os.DirFS(dataDir)
		if i == 0 {
			folder = os.DirFS(staging)
		}

		files, _ := fs.Glob(folder, pattern)
		for _, name := range files {
			// A file that does not exist any more was erased in the meantime.
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
	if err == nil {
		err = archive.WriteHeader(&tar.Header{
			Name:    name,
			Mode:    0o600,
			Size:    info.Size(),
			ModTime: info.ModTime(),
		})
	}
	if err == nil {
		_, err = io.Copy(archive, f)
	}
	return err
}

type restoreBackup struct{ from string }

func (cmd *restoreBackup) flags(f *pflag.FlagSet) {
	textVar(f, &cmd.from, "from", "the `file` to restore; -: standard input")
}

func (cmd *restoreBackup) run(ctx context.Context, c *call) (err error) {
	from, s := cmd.from, c.settings
	switch {
	case s.DatabaseURL != nil:
		address, note := toolAddress(s.DatabaseURL)
		return fmt.Errorf("the database is PostgreSQL: nothing was changed. "+
			"Stop all instances, then run%s:\n\n"+
			"   pg_restore --clean --if-exists --no-owner --single-transaction --dbname=%s siteapi.dump",
			note, address)
	case from == "":
		return errors.New("--from: name the backup")
	}

	archive := os.Stdin
	if from != "-" {
		if archive, err = os.Open(from); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
	}
	defer func() { _ = archive.Close() }()

	err = os.MkdirAll(s.DataDir, 0o750)
	staging, stagingErr := newStaging(s.DataDir)
	if err := errors.Join(err, stagingErr); err != nil {
		return fmt.Errorf("DATA_DIR: %w", err)
	}
	defer func() { _ = os.RemoveAll(staging) }()

	made, err := unpack(archive, staging)
	if err != nil {
		return err
	}

	leads, sessions, err := sqlite.Check(ctx, filepath.Join(staging, DatabaseFile))
	if err != nil {
		return fmt.Errorf("the backup can't be used: %w", err)
	}

	lock, err := c.drivers.LockSQLite(s)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()

	for _, name := range backupNames() {
		if !missing(filepath.Join(s.DataDir, name)) {
			return fmt.Errorf("DATA_DIR has %s already: nothing was restored. Move what is in it away first", name)
		}
	}
	err = giveToOwner(s.DataDir, staging, filepath.Join(s.DataDir, "run"))
	if err == nil {
		err = place(staging, s.DataDir)
	}
	if err != nil {
		return fmt.Errorf("not all was restored: empty DATA_DIR, and restore again: %w", err)
	}

	c.say("restored the backup of %s: %d leads, %d sessions", made.UTC().Format(time.RFC3339), leads, sessions)
	c.say("what was erased after the backup is back: repeat those erasures\n" +
		"then start the service; `siteapi deliveries verify` finds what the CMS or the CRM lack")
	return nil
}

// unpack reads a backup to its end into a folder, and returns when the backup was made.
// It fails if the archive is damaged, cut short, or holds a file that does not belong to
// a backup.
func unpack(r io.Reader, folder string) (made time.Time, err error) {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return made, fmt.Errorf("this is not a backup: %w", err)
	}

	archive := tar.NewReader(compressed)
	for err == nil {
		var header *tar.Header
		if header, err = archive.Next(); err != nil {
			break
		}

		known := slices.ContainsFunc(backupParts(), func(pattern string) bool {
			ok, _ := path.Match(pattern, header.Name)
			return ok && header.Typeflag == tar.TypeReg
		})
		if !known {
			return made, fmt.Errorf("this is not a backup of this service: it holds %q", header.Name)
		}

		if header.Name == DatabaseFile {
			made = header.ModTime
		}

		to := filepath.Join(folder, filepath.FromSlash(header.Name))
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			err = writeFile(to, false, func(w io.Writer) error {
				_, err := io.Copy(w, archive)
				return err
			})
		}
	}

	if errors.Is(err, io.EOF) {
		_, err = io.Copy(io.Discard, compressed) // reads the checksum after the last file
	}
	if err != nil {
		return made, fmt.Errorf("the backup is damaged or cut short: %w", err)
	}
	return made, nil
}

// giveToOwner gives paths, and what is below them, to the owner of a folder if root runs this
// command: the service runs as that user, and could not open what is root's.
func giveToOwner(folder string, paths ...string) error {
	if os.Getuid() != 0 {
		return nil
	}
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}

	// That user can change the folder meanwhile, so that no name may lead out of it.
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()

	for _, path := range paths {
		inside, relErr := filepath.Rel(folder, path)
		err = errors.Join(err, relErr, fs.WalkDir(root.FS(), inside, func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return root.Lchown(name, int(owner.Uid), int(owner.Gid))
		}))
	}
	return err
}

// backupNames lists what a backup has in DATA_DIR, the database last.
func backupNames() []string {
	return []string{"content.json", "cms", "crm", DatabaseFile + "-wal", DatabaseFile}
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
	return atomicfile.SyncDir(dataDir) // the new names are on disk
}
