package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
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
	return &cli.Command{
		Name:  "siteapi",
		Usage: "the backend of a multilingual marketing site",
		Description: "Without a command it serves. Settings are environment variables: `siteapi config` lists them all, and every\n" +
			"command needs those of the service it is for. Exit codes: 0 done, 1 it could not be done, 2 done, and something\n" +
			"is amiss.\n\n" +
			"   ENVIRONMENT=development siteapi\n   siteapi doctor\n   source <(siteapi completion bash)",
		Writer:                out,
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
				Name: "serve", Usage: "answer requests until told to stop (the default)",
				Description: "Checks all settings first and names every problem at once. SIGTERM or SIGINT finishes what is under way.\n\n" +
					"   ENVIRONMENT=development siteapi serve\n   LISTEN_ADDR=:80 DATA_DIR=/var/lib/siteapi siteapi serve",
				Action: func(ctx context.Context, c *cli.Command) error {
					if c.Args().Present() {
						return fmt.Errorf("there is no command %q: see siteapi --help", c.Args().First())
					}
					return serve(ctx, getenv, out)
				},
			},
			leadsCommand(getenv, out),
			backupCommand(getenv, out),
			restoreCommand(getenv, out),
			funnelCommand(getenv, out),
			doctorCommand(getenv, out),
			readyCommand(getenv, out),
			deliveriesCommand(getenv, out),
			cmsCommand(getenv, out),
			crmCommand(getenv, out),
			sdlCommand(out),
			migrateCommand(getenv, out),
			storeCommand(getenv, out),
			{
				Name: "config", Usage: "print the effective settings, secrets redacted, and check them",
				Description: "A line NAME=value for each setting, with defaults filled in. `siteapi doctor` checks more than the settings.\n\n" +
					"   siteapi config | grep RETENTION",
				Action: func(context.Context, *cli.Command) error { return printConfig(getenv, out) },
			},
			{
				Name: "version", Usage: "print the version",
				Description: "The version, the version of Go and the platform.\n\n   siteapi version",
				Action: func(context.Context, *cli.Command) error {
					_, err := fmt.Fprintf(out, "siteapi %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
					return err
				},
			},
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
