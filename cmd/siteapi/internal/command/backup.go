package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/atomicfile"
	"siteapi/integrations/store/sqlite"
)

func (d commands) backupCommand() *cobra.Command {
	command := d.command("backup", "copy DATA_DIR to a new folder, even while the service is running",
		databaseSettings(), backUp,
		"siteapi backup --output siteapi-$(date +%F)")
	command.Flags().String("output", "",
		"`folder` to create, readable only by you; to restore it, start the service with a "+
			"copy of it as DATA_DIR")
	return command
}

// backUp writes a backup to a folder that gets its name once it is complete and on disk.
func backUp(ctx context.Context, c *call) error {
	to := filepath.Clean(c.flag("output"))
	if c.flag("output") == "" || !missing(to) {
		return errors.New("--output: set a folder that does not exist")
	}
	if err := systems.CheckDatabase(c.settings); err != nil {
		return err
	}

	part := to + ".part"
	if err := os.Mkdir(part, 0o700); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: another backup is running, or was killed. In that case, delete "+
			"the folder", part)
	} else if err != nil {
		return fmt.Errorf("--output: %w", err)
	}

	content, err := c.copyData(ctx, part)
	if err == nil {
		err = settle(part, c.settings.DataDir)
	}
	if err == nil {
		err = os.Rename(part, to)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}

	c.printLine("%s: %s", to, content)
	if c.settings.DatabaseURL != nil {
		dump := "'" + strings.ReplaceAll(filepath.Join(to, "siteapi.dump"), "'", `'\''`) + "'"
		c.printLine("the database is missing. Add it with this line, without parameters in DATABASE_URL "+
			"that only this service uses, such as pool_max_conns:\n\n   pg_dump --format=custom --no-owner "+
			"--file=%[1]s.part \"$DATABASE_URL\" && mv %[1]s.part %[1]s\n", dump)
	}
	return atomicfile.SyncDir(filepath.Dir(to))
}

// copyData copies the SQLite database first, then the current files of the file drivers. In
// this order a document may lack its lead, which is harmless, but no lead that counts as
// delivered lacks its document. It describes what was copied.
func (c *call) copyData(ctx context.Context, folder string) (string, error) {
	s, content := c.settings, "the files of the drivers"
	if s.DatabaseURL == nil {
		leads, sessions, err := sqlite.Snapshot(ctx,
			systems.DatabasePath(s), filepath.Join(folder, systems.DatabaseFile))
		if err != nil {
			return "", err
		}
		content = fmt.Sprintf("%d leads, %d sessions", leads, sessions)
	}

	for _, pattern := range systems.DriverFiles() {
		dir, name := filepath.Split(pattern)
		files, err := atomicfile.Match(filepath.Join(s.DataDir, dir), name)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if err := copyFile(file, filepath.Join(folder, dir, filepath.Base(file))); err != nil {
				return "", err
			}
		}
	}
	return content, systems.MarkCopy(s, folder)
}

// copyFile copies a file unless it was erased in the meantime.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600))
}

// settle syncs all files of a folder, which only their owner may read. If root made them,
// that is the owner of another folder: the service could not open files of root.
func settle(folder, like string) error {
	info, err := os.Stat(like)
	if err != nil {
		return err
	}

	owner, ok := info.Sys().(*syscall.Stat_t)
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}

		if !d.IsDir() {
			err = f.Chmod(0o600) // SQLite made it readable
		}
		if err == nil && ok && os.Getuid() == 0 {
			err = f.Chown(int(owner.Uid), int(owner.Gid))
		}
		return errors.Join(err, f.Sync(), f.Close())
	})
}
