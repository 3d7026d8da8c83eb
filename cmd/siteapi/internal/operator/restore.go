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

	"github.com/spf13/cobra"

	"siteapi/integrations/store/sqlite"
)

// asidePrefix begins the names of folders with what restores have replaced.
const asidePrefix = "before-restore-"

// restore is `siteapi restore`.
func (d Deps) restore() *cobra.Command {
	return d.command(&cobra.Command{
		Use: "restore", Short: "replace what is in DATA_DIR by a backup, and keep it aside",
		Long: "Stop the service first: a database that is open is refused. The backup is checked before anything is touched, and\n" +
			"what was there is moved to a folder before-restore-… in DATA_DIR, to be removed by hand.",
		Example: "  siteapi restore --from /backups/siteapi-2026-01-31.tar.gz",
	}, databaseSettings(), restoreBackup, textFlag("from", "the `file` to restore; -: standard input"))
}

func restoreBackup(ctx context.Context, c *call) (err error) {
	from, s := c.text("from"), c.settings
	switch {
	case s.DatabaseURL != nil:
		return errors.New("the database is PostgreSQL: nothing was changed. Stop all instances, then run:\n\n" +
			`   pg_restore --clean --if-exists --no-owner --single-transaction --dbname="$DATABASE_URL" siteapi.dump`)
	case from == "":
		return errors.New("--from: name the backup")
	case from != "-":
		f, err := os.Open(from)
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		defer func() { _ = f.Close() }()
		c.in = f
	}
	err = os.MkdirAll(s.DataDir, 0o750)
	staging := ""
	if err == nil {
		staging, err = newStaging(s.DataDir)
	}
	if err != nil {
		return fmt.Errorf("DATA_DIR: %w", err)
	}
	defer func() { _ = os.RemoveAll(staging) }()
	m, err := unpack(c.in, staging)
	if err != nil {
		return err
	}
	submissions, _, err := sqlite.Check(ctx, filepath.Join(staging, DatabaseFile))
	if err == nil && submissions != m.Submissions {
		err = fmt.Errorf("it holds %d submissions, and its manifest names %d", submissions, m.Submissions)
	}
	if err != nil {
		return fmt.Errorf("the backup can't be used: %w", err)
	}
	lock, err := c.LockSQLite(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if exists(databasePath(s)) {
		_ = sqlite.Truncate(ctx, databasePath(s)) // a database that can't be read is a reason for a restore
	}
	aside, err := swap(staging, s.DataDir)
	if err != nil {
		return fmt.Errorf("nothing was restored: %w", err)
	}
	c.say("restored the backup of %s: %d submissions, %d sessions", m.CreatedAt.Format(time.RFC3339), m.Submissions, m.Sessions)
	if os.Remove(aside) != nil { // it is not empty
		c.say("what was there is in %s: remove it once you are sure, it holds personal data", aside)
	}
	c.say("what was erased after the backup is back: repeat those erasures\n" +
		"then start the service; `siteapi deliveries verify` finds what the CMS or the CRM lack")
	return nil
}

// unpack reads a backup into a folder.
func unpack(archive io.Reader, folder string) (m manifest, err error) {
	err = readArchive(archive, func(name string, content io.Reader) error {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
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
		return "", err
	}
	type move struct{ from, to string }
	var moves, done []move
	for _, name := range []string{"content.json", "cms", "crm", DatabaseFile + "-wal", DatabaseFile + "-shm", DatabaseFile} {
		current := filepath.Join(dataDir, name)
		moves = append(moves, move{current, filepath.Join(aside, name)}, move{filepath.Join(staging, name), current})
	}
	for _, m := range moves {
		if !exists(m.from) {
			continue
		}
		if err = os.Rename(m.from, m.to); err != nil {
			break
		}
		done = append(done, m)
	}
	if err == nil {
		err = syncFolder(dataDir)
	}
	if err == nil {
		return aside, nil
	}
	for _, m := range slices.Backward(done) {
		err = errors.Join(err, os.Rename(m.to, m.from))
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
