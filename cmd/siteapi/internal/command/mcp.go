package command

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/schema"
	"siteapi/schema/operations"
)

func (d commands) mcpCommand() *cobra.Command {
	tools := slices.DeleteFunc(slices.Clone(d.operations), func(op *operations.Operation) bool {
		return op.Tool == nil || op.Tool.Audience != operations.Operator
	})
	command := d.command("mcp", "serve operators' tools to an assistant on this machine", settingsOf(tools...),
		func(ctx context.Context, c *call) error { return c.serveTools(ctx, tools) },
		"siteapi mcp")
	command.Long = "Serves operators' tools with the Model Context Protocol on standard input and output,\n" +
		"using the configured database, until the assistant disconnects. The audit log records\n" +
		"the user of this machine."
	return command
}

// serveTools serves operators' tools. Their health report contains the checks of doctor.
func (c *call) serveTools(ctx context.Context, tools []*operations.Operation) error {
	exec, err := c.openExecutor(ctx, tools...)
	if err != nil {
		return err
	}

	options := mcp.Options{Operations: tools, Executor: exec, Version: c.commands.version, Settings: c.settings}
	server := mcp.NewServer(options, schema.RoleAdmin)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			return next(asCommand(ctx), method, r)
		}
	})
	return server.Run(ctx, &sdk.StdioTransport{})
}
