package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store/sqlite"
)

// asideMark begins the names of folders that hold what a restore has replaced.
const asideMark = "before-restore-"

func (o operator) restore(ctx context.Context, c *cli.Command, s *config.Settings, _ zerolog.Logger) (err error) {
	if err := only(c, 0); err != nil {
		return err
	}
	from := c.String("from")
	if s.DatabaseURL != nil {
		return fmt.Errorf("the database is PostgreSQL, which has a tool of its own; nothing was changed. Stop all instances, then run:\n\n   %s", loadLine(s.DatabaseURL, from))
	}
	if from == "" {
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
		return fmt.Errorf("DATA_DIR: making the folder: %w", err)
	}
	r, err := unpack(ctx, s, archive)
	if err != nil {
		return err
	}
	defer r.discard()
	if err := r.swap(ctx); err != nil {
		return err
	}
	return r.tell(o.out)
}

// restoration is a backup on its way into the data folder.
type restoration struct {
	manifest manifest
	settings *config.Settings
	fresh    string   // folder with the unpacked backup
	aside    string   // folder for what was there; empty until something was
	left     []string // parts of the backup that the drivers in use have no place for
	undo     []func() error
}

// unpack reads and checks a backup. Nothing of the service is touched yet.
func unpack(ctx context.Context, s *config.Settings, archive io.Reader) (_ *restoration, err error) {
	sweepSnapshots(s.DataDir, time.Now())
	r := &restoration{settings: s}
	if r.fresh, err = os.MkdirTemp(s.DataDir, snapshotMark); err != nil {
		return nil, fmt.Errorf("making room for the backup: %w", err)
	}
	defer func() {
		if err != nil {
			r.discard()
		}
	}()
	folders := driverFolders(s)
	for _, folder := range folders {
		if err := os.Mkdir(filepath.Join(r.fresh, folder), 0o700); err != nil {
			return nil, fmt.Errorf("unpacking the backup: %w", err)
		}
	}
	r.manifest, err = readArchive(archive, func(name string, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		part, _, _ := strings.Cut(name, "/")
		if name == contentName && s.CMSDriver != "file" || slices.Contains(backupFolders(), part) && !slices.Contains(folders, part) {
			if !slices.Contains(r.left, part) {
				r.left = append(r.left, part)
			}
			return nil
		}
		return unpackFile(filepath.Join(r.fresh, filepath.FromSlash(name)), content)
	})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(r.fresh, databaseFile)
	held, err := sqlite.Check(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("the backup can't be used: %w", err)
	}
	if held.Submissions != r.manifest.Submissions {
		return nil, fmt.Errorf("the backup can't be used: it holds %d submissions where its manifest names %d: it was changed",
			held.Submissions, r.manifest.Submissions)
	}
	return r, nil
}

func unpackFile(path string, content io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("unpacking the backup: %w", err)
	}
	_, err = io.Copy(f, content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("unpacking the backup: %w", err)
	}
	return nil
}

func (r *restoration) discard() { _ = os.RemoveAll(r.fresh) } // what stays is swept next time

// tell says what was done and what there is to do.
func (r *restoration) tell(out io.Writer) error {
	m := r.manifest
	lines := []string{fmt.Sprintf("restored the backup of %s: %d submissions, %d sessions", m.CreatedAt.Format(time.RFC3339), m.Submissions, m.Sessions)}
	if r.aside != "" {
		lines = append(lines, fmt.Sprintf("what was there is in %s: remove it once you are sure, it holds personal data", r.aside))
	}
	if len(r.left) > 0 {
		lines = append(lines, fmt.Sprintf("left out, for the drivers in use have no place for it: %s", strings.Join(r.left, ", ")))
	}
	lines = append(lines,
		"what was erased after the backup is there again: repeat those erasures",
		"then start the service; `siteapi deliveries verify` finds what the CMS or the CRM lack")
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
