package command

import (
	"errors"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/schema"
	"siteapi/schema/operations"
)

// mcpCommand serves the tools of operators to an assistant on this machine.
func (d Drivers) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "serve the tools of operators to an assistant on this machine",
		Long: "Serves the tools of operators by the Model Context Protocol on standard input and output,\n" +
			"with the database of the settings, until the assistant closes its side. The audit names\n" +
			"the user of this machine.",
		Example: "  siteapi mcp",
		Args:    NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := config.Read(d.Getenv, databaseSettings()...)
			if err != nil {
				return err
			}

			// The health of the service is the service's own to tell.
			tools := slices.DeleteFunc(slices.Clone(d.Operations), func(op *operations.Operation) bool {
				return op.Tool == nil || op.Tool.Audience != operations.Operator || op.Root.Name == "serviceHealth"
			})
			exec, closing, err := d.OpenExecutor(c.Context(), d, s, Service{}, tools[0])
			if err != nil {
				return err
			}

			server := mcp.NewServer(mcp.Options{
				Operations: tools,
				Executor:   exec,
				Version:    c.Root().Version,
			}, schema.RoleAdmin)
			err = server.Run(asCommand(c.Context()), &sdk.StdioTransport{})
			return errors.Join(err, closing())
		},
	}
}
