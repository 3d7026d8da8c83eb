package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
)

// asidePrefix begins the names of folders with what restores have replaced.
const asidePrefix = "before-restore-"

// restore is `siteapi restore`.
func (d Deps) restore() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "replace what is in DATA_DIR by a backup, and keep it aside",
		Description: "Stop the service first: a database that is open is refused. The backup is checked before anything is touched, and\n" +
			"what was there is moved to a folder before-restore-… in DATA_DIR, to be removed by hand.\n\n" +
			"   siteapi restore --from /backups/siteapi-2026-01-31.tar.gz",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "from", Usage: "the file to restore; -: standard input"}},
		Action: d.action(databaseSettings(), d.restoreBackup),
	}
}

func (d Deps) restoreBackup(ctx context.Context, c *cli.Command, s *config.Settings) (err error) {
	from := c.String("from")
	switch {
	case s.DatabaseURL != nil:
		return errors.New("the database is PostgreSQL: nothing was changed. Stop all instances, then run:\n\n" +
			`   pg_restore --clean --if-exists --no-owner --single-transaction --dbname="$DATABASE_URL" siteapi.dump`)
	case from == "":
		return errors.New("--from: name the backup")
	}
	archive := io.NopCloser(c.Root().Reader)
	if from != "-" {
		if archive, err = os.Open(from); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	if err := os.MkdirAll(s.DataDir, 0o750); err != nil {
		return fmt.Errorf("DATA_DIR: %w", err)
	}
	staging, err := newStaging(s.DataDir)
	if err != nil {
		return fmt.Errorf("DATA_DIR: %w", err)
	}
	defer func() { _ = os.RemoveAll(staging) }()
	m, err := unpack(archive, staging)
	if err != nil {
		return err
	}
	submissions, _, err := d.SQLite.Check(ctx, filepath.Join(staging, DatabaseFile))
	if err == nil && submissions != m.Submissions {
		err = fmt.Errorf("it holds %d submissions, and its manifest names %d", submissions, m.Submissions)
	}
	if err != nil {
		return fmt.Errorf("the backup can't be used: %w", err)
	}
	lock, err := d.SQLite.Lock(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if exists(databasePath(s)) {
		_ = d.SQLite.Truncate(ctx, databasePath(s)) // a database that can't be read is a reason for a restore
	}
	aside, err := swap(staging, s.DataDir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Root().Writer, "restored the backup of %s: %d submissions, %d sessions\n", m.CreatedAt.Format(time.RFC3339), m.Submissions, m.Sessions)
	if os.Remove(aside) != nil { // it is not empty
		_, _ = fmt.Fprintf(c.Root().Writer, "what was there is in %s: remove it once you are sure, it holds personal data\n", aside)
	}
	_, _ = fmt.Fprintln(c.Root().Writer, "what was erased after the backup is back: repeat those erasures\n"+
		"then start the service; `siteapi deliveries verify` finds what the CMS or the CRM lack")
	return err
}

// unpack reads a backup into a folder.
func unpack(archive io.Reader, folder string) (m manifest, err error) {
	for _, name := range []string{"cms", "crm"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			return m, fmt.Errorf("unpacking the backup: %w", err)
		}
	}
	err = readArchive(archive, func(name string, content io.Reader) error {
		f, err := os.OpenFile(filepath.Join(folder, filepath.FromSlash(name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Sync(), f.Close())
	})
	if err != nil {
		return m, err
	}
	text, err := os.ReadFile(filepath.Join(folder, manifestName))
	switch {
	case err != nil, json.Unmarshal(text, &m) != nil, m.Service != "siteapi", !exists(filepath.Join(folder, DatabaseFile)):
		return m, errors.New("this is not a backup of this service: it has no manifest or no database")
	case m.Format != backupFormat:
		return m, fmt.Errorf("the backup has format %d, this program reads %d: use version %s", m.Format, backupFormat, m.Version)
	}
	return m, nil
}

// swap moves what is in dataDir aside, and the unpacked backup into its place, the database last. It does all of it
// or nothing.
func swap(staging, dataDir string) (aside string, err error) {
	aside = filepath.Join(dataDir, asidePrefix+time.Now().UTC().Format("20060102T150405.000Z"))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return "", fmt.Errorf("DATA_DIR: %w", err)
	}
	var undo []func() error
	move := func(name, from, to string) error {
		from, to = filepath.Join(from, name), filepath.Join(to, name)
		if !exists(from) {
			return nil
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
		undo = append(undo, func() error { return os.Rename(to, from) })
		return nil
	}
	for _, name := range []string{"content.json", "cms", "crm", DatabaseFile + "-wal", DatabaseFile + "-shm", DatabaseFile} {
		if err = errors.Join(move(name, dataDir, aside), move(name, staging, dataDir)); err != nil {
			break
		}
	}
	if err == nil {
		err = syncFolder(dataDir)
	}
	if err == nil {
		return aside, nil
	}
	err = fmt.Errorf("nothing was restored: %w", err)
	for _, back := range slices.Backward(undo) {
		if undoErr := back(); undoErr != nil {
			err = fmt.Errorf("%w; what was there is in %s: %w", err, aside, undoErr)
		}
	}
	_ = os.Remove(aside) // it is empty, unless something could not be moved back
	return "", err
}

// syncFolder brings the names in a folder to the disk.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
