// Package app is the wiring of the service and of its commands: the only place that names
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

// version is stamped by the build; a plain `go build` leaves it empty.
var version string //nolint:gochecknoglobals // the linker's -X needs a package variable

// Version returns the stamped version, else the one that Go recorded in the build.
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
		Long: "The backend of a multilingual marketing site. Without a command it serves. " +
			"Settings are environment variables:\n" +
			"`siteapi config` lists them all, and a command needs those it uses. " +
			"Exit codes: 0 done, 1 failed,\n" +
			"2 done, and something is wrong.",
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
		"`file` of NAME=value lines with settings; variables of the environment win")

	drivers, err := OperatorDrivers(getenv)
	if err != nil {
		root.PersistentPreRunE = func(*cobra.Command, []string) error { return err }
	}
	root.AddCommand(command.Commands(drivers)...)
	root.AddCommand(&cobra.Command{
		Use:   "serve",
		Short: "answer requests until it is stopped (the default)",
		Long: "Checks all settings first and names every problem at once. " +
			"SIGTERM or SIGINT finishes what is under way;\n" +
			"a second one ends it at once.",
		Example: "  siteapi serve",
		Args:    cobra.NoArgs,
		RunE:    serving,
	})

	root.AddCommand(&cobra.Command{
		Use:     "version",
		Short:   "print the version of the service, of Go and of the system",
		Example: "  siteapi version",
		Args:    cobra.NoArgs,
		Run:     func(c *cobra.Command, _ []string) { c.Println("siteapi version " + root.Version) },
	})

	return root
}

// readEnvFile reads settings from the file that --env-file names. It warns of variables
// that look like misspelt settings.
func readEnvFile(c *cobra.Command) error {
	path, _ := c.Flags().GetString("env-file")
	if err := config.LoadEnvFile(path); err != nil {
		return err
	}

	for _, warning := range config.Misspelt(os.Environ()) {
		fmt.Fprintln(os.Stderr, "siteapi:", warning)
	}
	return nil
}

// OperatorDrivers returns the functions with which the operator's commands open the systems
// that they work on. These log warnings only, and their metrics are not served.
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
