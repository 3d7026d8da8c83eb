package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
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
		Name:                  "siteapi",
		Usage:                 "the backend of a multilingual marketing site",
		Description:           "Settings are environment variables: `siteapi config` lists them all.",
		Writer:                out,
		EnableShellCompletion: true,
		DefaultCommand:        "serve",
		ExitErrHandler:        func(context.Context, *cli.Command, error) {}, // main prints the error once
		Commands: []*cli.Command{
			{
				Name: "serve", Usage: "answer requests until told to stop (the default)",
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
			deliveriesCommand(getenv, out),
			crmCommand(getenv, out),
			sdlCommand(out),
			migrateCommand(getenv, out),
			storeCommand(getenv, out),
			{
				Name: "config", Usage: "print the effective settings, secrets redacted, and check them",
				Action: func(context.Context, *cli.Command) error { return printConfig(getenv, out) },
			},
			{
				Name: "version", Usage: "print the version",
				Action: func(context.Context, *cli.Command) error {
					_, err := fmt.Fprintf(out, "siteapi %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
					return err
				},
			},
		},
	}
}

func printConfig(getenv func(string) string, out io.Writer) error {
	s, err := readSettings(getenv)
	if err != nil {
		return err
	}
	for _, line := range s.Redacted() {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
