package command

import (
	"context"
	"errors"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/resolvers"
	"siteapi/schema"
	"siteapi/schema/operations"
)

func (d commands) mcpCommand() *cobra.Command {
	var command *cobra.Command
	command = d.command("mcp", "serve operators' tools to an assistant on this machine", nil,
		func(ctx context.Context, c *call) error { return c.serveTools(ctx, command.Root().Version) },
		"siteapi mcp")
	command.Long = "Serves operators' tools with the Model Context Protocol on standard input and output,\n" +
		"using the configured database, until the assistant disconnects. The audit log records\n" +
		"the user of this machine."
	return command
}

// serveTools serves operators' tools. Their health report contains the checks of doctor.
func (c *call) serveTools(ctx context.Context, version string) error {
	if c.wrong.Concern(append(databaseSettings(), "TIME_ZONE", "ADMIN_TOKENS")...) {
		return c.wrong
	}

	tools := slices.DeleteFunc(slices.Clone(c.commands.operations), func(op *operations.Operation) bool {
		return op.Tool == nil || op.Tool.Audience != operations.Operator
	})
	entries, _, err := c.open.Cache(ctx)
	if err != nil {
		return err
	}
	exec, err := c.openExecutor(ctx, Service{}, tools[0], &resolvers.Resolver{
		Cache:  entries,
		Checks: c.checks(ctx, ""),
	})
	if err != nil {
		return errors.Join(err, entries.Close())
	}

	options := mcp.Options{Operations: tools, Executor: exec, Version: version, TimeZone: c.settings.TimeZone}
	server := mcp.NewServer(options, schema.RoleAdmin)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			return next(asCommand(ctx), method, r)
		}
	})
	return errors.Join(server.Run(ctx, &sdk.StdioTransport{}), entries.Close())
}
