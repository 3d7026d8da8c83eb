package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
)

// backupCommand copies what a service keeps on this machine, while it runs.
func backupCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	return &cli.Command{
		Name: "backup", Usage: "write everything that is kept in DATA_DIR to one file, while the service runs",
		Description: "The file holds the database as it stands at one moment, and with the file drivers the content, the stored\n" +
			"submissions and the contacts. It is checked and read back before it gets its name. It holds personal data:\n" +
			"keep it encrypted, and remove old ones. With PostgreSQL it says what to run instead.\n\n" +
			"   siteapi backup --output /backups/siteapi-$(date +%F).tar.gz\n" +
			"   siteapi backup --output - | age -r age1… > siteapi.tar.gz.age",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "file to write, readable by you only; -: standard output"},
			&cli.BoolFlag{Name: "overwrite", Usage: "replace the file if it is there"},
		},
		Action: o.command(o.backUp),
	}
}

// restoreCommand puts a backup in the place of what is there.
func restoreCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	return &cli.Command{
		Name: "restore", Usage: "put a backup in the place of what is in DATA_DIR, which is kept aside",
		Description: "Stop the service before: a database in use is refused. The backup is checked before anything is touched, and\n" +
			"what was there is moved to a folder before-restore-… in DATA_DIR, to be removed by hand.\n\n" +
			"   siteapi restore --from /backups/siteapi-2026-01-31.tar.gz",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "from", Usage: "the file to restore; -: standard input"}},
		Action: o.command(o.restore),
	}
}

func (o operator) backUp(ctx context.Context, c *cli.Command, s *config.Settings, _ zerolog.Logger) error {
	if err := only(c, 0); err != nil {
		return err
	}
	path := c.String("output")
	if s.DatabaseURL != nil {
		return fmt.Errorf("the database is PostgreSQL, which has a tool of its own; nothing was written. Run:\n\n   %s", dumpLine(s.DatabaseURL, path))
	}
	if path == "" {
		return errors.New("--output: name the file to write")
	}
	if !exists(filepath.Join(s.DataDir, databaseFile)) {
		return fmt.Errorf("DATA_DIR: there is no database at %s: set DATA_DIR to the folder of the service, or start it once", filepath.Join(s.DataDir, databaseFile))
	}
	beside := filepath.Dir(path)
	if path == "-" {
		beside = s.DataDir
	}
	b, err := newBackup(ctx, s, beside, time.Now())
	if err != nil {
		return err
	}
	defer b.discard()
	if path == "-" {
		return b.write(ctx, o.out)
	}
	if err := writeWhole(path, c.Bool("overwrite"), func(w io.Writer) error {
		if err := b.write(ctx, w); err != nil {
			return err
		}
		// A backup that was never read is none.
		return readBack(w)
	}); err != nil {
		return err
	}
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	_, err = fmt.Fprintf(o.out, "%s: %d submissions, %d sessions, %d other files, %s\n", path, b.Submissions, b.Sessions, b.files, megabytes(size))
	return err
}

// readBack reads what was just written to a file.
func readBack(w io.Writer) error {
	f, ok := w.(io.ReadSeeker)
	if !ok {
		return errors.New("the backup can't be read back")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the backup back: %w", err)
	}
	if _, err := readArchive(f, func(string, io.Reader) error { return nil }); err != nil {
		return fmt.Errorf("reading the backup back: %w", err)
	}
	_, err := f.Seek(0, io.SeekEnd)
	return err
}

// dumpLine and loadLine are what PostgreSQL's own tools are called with.
func dumpLine(database *url.URL, path string) string {
	if path == "" || path == "-" {
		path = "siteapi.dump"
	}
	return "pg_dump --format=custom --no-owner --file=" + quoted(path) + " " + quoted(toolURL(database)) + passwordHint(database)
}

func loadLine(database *url.URL, path string) string {
	if path == "" || path == "-" {
		path = "siteapi.dump"
	}
	return "pg_restore --clean --if-exists --no-owner --single-transaction --dbname=" + quoted(toolURL(database)) + " " + quoted(path) + passwordHint(database)
}

// toolURL is the address as PostgreSQL's tools take it: without settings that only our
// pool knows, and without the password, which every user of the machine could read.
func toolURL(database *url.URL) string {
	u := *database
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	for name := range query {
		if strings.HasPrefix(name, "pool_") || strings.HasPrefix(name, "default_query_exec_mode") || strings.HasSuffix(name, "_cache_capacity") {
			query.Del(name)
		}
	}
	query.Del("password")
	u.RawQuery = query.Encode()
	return u.String()
}

func passwordHint(database *url.URL) string {
	_, inUser := database.User.Password()
	if !inUser && !database.Query().Has("password") {
		return ""
	}
	return "\n\n(the password is that of DATABASE_URL: it is asked for, or taken from PGPASSWORD or ~/.pgpass)"
}

// quoted is a word for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// megabytes writes a size as people read it.
func megabytes(n int64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 10<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
