package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/operator"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	"siteapi/integrations/store/sqlite"
)

// version is stamped by the build; a plain `go build` leaves it empty.
var version string //nolint:gochecknoglobals // the linker's -X needs a package variable

// versionText is the stamped version, else what the build knows of the commit.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "devel"
}

// run carries out one command line.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	return newCommand(getenv, out).Run(ctx, args)
}

func newCommand(getenv func(string) string, out io.Writer) *cli.Command {
	root := &cli.Command{
		Name:  "siteapi",
		Usage: "the backend of a multilingual marketing site",
		Description: "Without a command it serves. Settings are environment variables: `siteapi config` lists them all, and a command\n" +
			"needs those it uses. Exit codes: 0 done, 1 it could not be done, 2 done, and something is wrong.\n\n" +
			"   ENVIRONMENT=development siteapi\n   siteapi doctor\n   source <(siteapi completion bash)",
		Version:               versionText() + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Writer:                out,
		Suggest:               true,
		EnableShellCompletion: true,
		DefaultCommand:        "serve",
		ExitErrHandler:        func(context.Context, *cli.Command, error) {}, // main prints the error once
		ConfigureShellCompletionCommand: func(c *cli.Command) {
			c.Hidden, c.Usage = false, "print the script that completes commands and flags in bash, zsh, fish or PowerShell"
		},
		Flags: []cli.Flag{&cli.StringFlag{
			Name: "env-file", Value: config.DefaultEnvFile, TakesFile: true,
			Usage: "`file` of NAME=value lines with settings; variables of the environment win",
		}},
		Before: func(ctx context.Context, c *cli.Command) (context.Context, error) {
			if err := config.LoadEnvFile(c.String("env-file")); err != nil {
				return ctx, err
			}
			for _, warning := range config.Misspelt(os.Environ()) {
				fmt.Fprintln(os.Stderr, "siteapi:", warning)
			}
			return ctx, nil
		},
		Commands: []*cli.Command{
			{
				Name: "serve", Usage: "answer requests until it is stopped (the default)",
				Description: "Checks all settings first and names every problem at once. SIGTERM or SIGINT finishes what is under way.\n\n" +
					"   ENVIRONMENT=development siteapi serve\n   LISTEN_ADDR=:80 DATA_DIR=/var/lib/siteapi siteapi serve",
				Action: func(ctx context.Context, c *cli.Command) error {
					if c.Args().Present() {
						return operator.UnknownCommand(c.Root(), c.Args().First())
					}
					return serve(ctx, getenv, out)
				},
			},
			{
				Name: "config", Usage: "print the effective settings, secrets redacted, and check them",
				Description: "A line NAME=value for each setting, with defaults filled in. `siteapi doctor` checks more than the settings.\n\n" +
					"   siteapi config | grep RETENTION",
				Action: func(context.Context, *cli.Command) error { return printConfig(getenv, out) },
			},
			{
				Name: "version", Usage: "print the version", Description: "As --version does.\n\n   siteapi version",
				Action: func(_ context.Context, c *cli.Command) error { cli.ShowVersion(c.Root()); return nil },
			},
		},
	}
	root.Commands = append(root.Commands, operator.Commands(operatorDeps(getenv))...)
	reportUsageOnce(root)
	return root
}

// reportUsageOnce has errors of the command line returned, for main to print, instead of printed with the help text.
// The flags after a mistyped command are not read: the command is what is wrong.
func reportUsageOnce(c *cli.Command) {
	c.OnUsageError = operator.UsageError
	if one := 1; len(c.Commands) > 0 || c.Name == "serve" {
		c.StopOnNthArg = &one
	}
	for _, sub := range c.Commands {
		reportUsageOnce(sub)
	}
}

// operatorDeps opens what the operator's commands work on. They log warnings only.
func operatorDeps(getenv func(string) string) operator.Deps {
	log := zerolog.New(telemetry.ConsoleWriter(os.Stderr)).
		Level(zerolog.WarnLevel).With().Timestamp().Logger()
	observe := observer{metrics: telemetry.NewMetrics(versionText())} // its metrics are not served
	return operator.Deps{
		Version:  versionText(),
		Settings: func(names ...string) (*config.Settings, error) { return config.Read(getenv, names...) },
		OpenDatabase: func(ctx context.Context, s *config.Settings) (*operator.Database, error) {
			d, err := openDatabase(ctx, s, work{}, log)
			if err != nil {
				return nil, err
			}
			return &operator.Database{Quotes: d.quotes, Archive: d.archive, Queue: d.queue, Tables: d.tables, Close: d.close}, nil
		},
		OpenCMS: func(s *config.Settings) (operator.CMS, error) {
			return openCMS(s, log, observe)
		},
		OpenCRM: func(s *config.Settings) (operator.CRM, error) {
			return openCRM(s, log, observe)
		},
		OpenCache: func(ctx context.Context, s *config.Settings) (cache.Cache, error) {
			c, _, err := openCache(ctx, s, log)
			return c, err
		},
		SQLite: operator.SQLite{
			Lock:     func(s *config.Settings) (io.Closer, error) { return claimDatabase(s) },
			Snapshot: sqlite.Snapshot,
			Truncate: sqlite.Truncate,
			Check:    sqlite.Check,
		},
	}
}

func printConfig(getenv func(string) string, out io.Writer) error {
	s, err := config.Read(getenv)
	if err != nil {
		return err
	}
	for _, line := range s.Lines() {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
