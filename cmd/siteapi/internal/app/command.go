// Package app wires the service and its commands. It is the only package that imports
// drivers.
package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/command"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/cache"
	cmsfile "siteapi/integrations/cms/file"
	documents "siteapi/schema/operations"
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

	drivers, err := OperatorDrivers(getenv)
	if err != nil {
		root.PersistentPreRunE = func(*cobra.Command, []string) error { return err }
	}
	root.AddCommand(command.Commands(drivers)...)
	root.AddCommand(&cobra.Command{
		Use:   "serve",
		Short: "run the service until it is stopped (the default)",
		Long: "Checks all settings first and reports every problem at once. " +
			"On SIGTERM or SIGINT it finishes\n" +
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

// OperatorDrivers returns the drivers of operators' commands. They log only warnings and
// errors, and their metrics are not exposed.
func OperatorDrivers(getenv func(string) string) (command.Drivers, error) {
	log := zerolog.New(telemetry.ConsoleWriter(os.Stderr)).
		Level(zerolog.WarnLevel).With().Timestamp().Logger()
	d := drivers{log, telemetry.NewMetrics(Version())}
	operations, err := documents.All()

	return command.Drivers{
		Getenv:       getenv,
		CheckServing: CheckServing,
		Operations:   operations,
		Sample:       cmsfile.Sample(),
		OpenExecutor: d.openExecutor,
		OpenDatabase: d.openDatabase,
		OpenCMS:      d.openCMS,
		OpenCRM:      d.openCRM,
		OpenMail:     d.openMail,
		OpenMailer:   d.newMailer,
		OpenCache: func(ctx context.Context, s *config.Settings) (cache.Cache, error) {
			c, _, err := d.openCache(ctx, s)
			return c, err
		},
		OpenEdge: d.openReceivers,
		LockSQLite: func(s *config.Settings) (io.Closer, error) {
			return lockDatabase(context.Background(), s, true)
		},
	}, err
}
