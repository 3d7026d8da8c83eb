// Package app wires the service, and builds the command line.
package app

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
)

// version is set by release builds. A plain `go build` leaves it empty.
var version string //nolint:gochecknoglobals // the linker's -X needs a package variable

// Version returns the version of a release build, or the module version that Go recorded.
func Version() string {
	built := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		built = info.Main.Version
	}

	return cmp.Or(version, built, "devel")
}

// NewCommand returns the command line of the binary.
func NewCommand(getenv func(string) string, out io.Writer) *cobra.Command {
	collectLessOften(getenv)
	serving := func(c *cobra.Command, _ []string) error { return serve(c.Context(), getenv, out) }

	root := &cobra.Command{
		Use:   "siteapi",
		Short: "the backend of a multilingual marketing site",
		Long: "The backend of a multilingual marketing site. Without a command it starts the service. " +
			"Settings are environment variables:\n" +
			"`siteapi config` lists them all, and a command requires only those it uses. " +
			"Exit codes: 0 success, 1 failure,\n" +
			"2 success, but a problem was found.",
		Example: "  ENVIRONMENT=development siteapi\n" +
			"  siteapi doctor\n" +
			"  source <(siteapi completion bash)",
		Version: Version() + " " + runtime.Version() + " " +
			runtime.GOOS + "/" + runtime.GOARCH,
		RunE:              serving,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return readEnvFile(c) },
		SilenceErrors:     true,
		SilenceUsage:      true, // main prints the error once
	}

	root.SetOut(out)
	root.PersistentFlags().String("env-file", config.DefaultEnvFile,
		"`file` with settings as NAME=value lines; environment variables override it")

	list, err := command.Commands(getenv, Version())
	if err != nil {
		root.PersistentPreRunE = func(*cobra.Command, []string) error { return err }
	}
	root.AddCommand(list...)
	root.AddCommand(&cobra.Command{
		Use:   "serve",
		Short: "run the service until it is stopped (the default)",
		Long: "Checks all settings first and reports every problem at once. " +
			"On SIGTERM, SIGINT or SIGHUP it finishes\n" +
			"running requests and exits; on a second signal it exits at once.",
		Example: "  siteapi serve",
		Args:    cobra.NoArgs,
		RunE:    serving,
	})

	root.AddCommand(&cobra.Command{
		Use:     "version",
		Short:   "print the versions of the service and of Go, and the platform",
		Example: "  siteapi version",
		Args:    cobra.NoArgs,
		Run:     func(c *cobra.Command, _ []string) { c.Println("siteapi version " + root.Version) },
	})

	return root
}

// readEnvFile reads settings from the file of --env-file, and warns about variables that
// look like misspelled settings.
func readEnvFile(c *cobra.Command) error {
	path, _ := c.Flags().GetString("env-file")
	if err := config.LoadEnvFile(path); err != nil {
		return err
	}

	for _, warning := range config.Misspelled(os.Environ()) {
		fmt.Fprintln(os.Stderr, "siteapi:", warning)
	}
	return nil
}
