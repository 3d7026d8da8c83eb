package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
)

// operator is a command that looks into a service or mends it, beside the running one
// and with the same settings.
type operator struct {
	getenv func(string) string
	out    io.Writer
}

// command makes an action of one that needs the settings and a log for warnings.
func (o operator) command(
	run func(ctx context.Context, c *cli.Command, s *config.Settings, log zerolog.Logger) error,
) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		s, err := config.Read(o.getenv)
		if err != nil {
			return fmt.Errorf("%w\n(commands need the settings of the service they are for)", err)
		}
		log := zerolog.New(zerolog.ConsoleWriter{Out: c.Root().ErrWriter, TimeFormat: time.TimeOnly}).
			Level(max(s.LogLevel, zerolog.WarnLevel)).With().Timestamp().Logger()
		return run(ctx, c, s, log)
	}
}

// withDatabase makes an action of one that needs the database and no other system.
func (o operator) withDatabase(run func(ctx context.Context, c *cli.Command, d *database) error) cli.ActionFunc {
	return o.command(func(ctx context.Context, c *cli.Command, s *config.Settings, log zerolog.Logger) (err error) {
		d, err := openExisting(ctx, s, log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.close()) }()
		return run(ctx, c, d)
	})
}

// openExisting opens the database of a service without doing its work. With SQLite it
// refuses to begin a new file: that would hide a wrong DATA_DIR behind an empty list.
func openExisting(ctx context.Context, s *config.Settings, log zerolog.Logger) (*database, error) {
	if s.DatabaseURL == nil {
		path := filepath.Join(s.DataDir, databaseFile)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("DATA_DIR: there is no database at %s: set DATA_DIR to the folder of the service, or start it once", path)
		}
	}
	return openDatabase(ctx, s, work{}, log)
}

// printJSON writes a value for other programs.
func (o operator) printJSON(v any) error {
	enc := json.NewEncoder(o.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// only refuses words that a command has no use for, which are misspelt flags mostly.
func only(c *cli.Command, most int) error {
	if args := c.Args().Slice(); len(args) > most {
		return fmt.Errorf("%q is one argument too many: see `%s --help`", args[most], c.FullName())
	}
	return nil
}

// group is the action of a command that only holds others.
func group(_ context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return fmt.Errorf("there is no command %q: see `%s --help`", strings.Join(c.Args().Slice(), " "), c.FullName())
	}
	return cli.ShowSubcommandHelp(c)
}

// finding is the outcome of a command that worked and found something amiss. It ends
// the process with exitFound.
type finding string

// Error says what was found.
func (f finding) Error() string { return string(f) }

// Exit codes besides 0.
const (
	exitFailed = 1 // the command could not do its work
	exitFound  = 2 // it did, and found something amiss
)

func exitCode(err error) int {
	if _, ok := errors.AsType[finding](err); ok {
		return exitFound
	}
	return exitFailed
}
