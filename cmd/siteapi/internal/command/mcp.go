package command

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	command := d.command("mcp", "serve operators' tools to an assistant on this machine",
		settingsOf(tools...),
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

	options := mcp.Options{
		Operations: tools,
		Executor:   exec,
		Version:    c.commands.version,
		Settings:   c.settings,
	}
	server := mcp.NewServer(options, schema.RoleAdmin)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			return next(asCommand(ctx), method, r)
		}
	})
	return server.Run(ctx, &stdio{})
}

// stdio is the transport over standard input and output. It reports the end of the input
// only after every call that was read has its response, since the SDK then cancels the
// others.
type stdio struct{ sdk.StdioTransport }

// Connect implements [sdk.Transport].
func (t *stdio) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.StdioTransport.Connect(ctx)
	return &answering{Connection: conn}, err
}

// answering is a connection that knows its calls. A client may send an id twice at once, for
// which it gets one response.
type answering struct {
	sdk.Connection
	calls sync.Map // calls by id that were read and have no response yet
}

// isPending reports whether a call has no response yet.
func (c *answering) isPending() (pending bool) {
	c.calls.Range(func(any, any) bool {
		pending = true
		return false
	})
	return pending
}

// Read implements [sdk.Connection].
func (c *answering) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() {
		c.calls.Store(call.ID, true)
	}
	for err != nil && c.isPending() {
		time.Sleep(10 * time.Millisecond)
	}
	return msg, err
}

// Write implements [sdk.Connection].
func (c *answering) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if response, ok := msg.(*jsonrpc.Response); ok {
		c.calls.Delete(response.ID)
	}
	return err
}
