package command

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/mcp"
	"siteapi/resolvers"
	"siteapi/schema"
	"siteapi/schema/operations"
)

func (d commands) mcpCommand() *cobra.Command {
	command := d.command("mcp", "serve operators' tools to an assistant on this machine", nil,
		serveTools, "siteapi mcp")
	command.Long = "Serves operators' tools with the Model Context Protocol on standard input and output,\n" +
		"using the configured database, until the assistant disconnects. The audit log records\n" +
		"the user of this machine."
	return command
}

// serveTools serves operators' tools. Their health report contains the checks of doctor.
func serveTools(ctx context.Context, c *call) error {
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
	exec, err := c.openExecutor(ctx, tools[0], &resolvers.Resolver{
		Cache:  entries,
		Checks: c.checks(ctx, ""),
	})
	if err != nil {
		return errors.Join(err, entries.Close())
	}

	options := mcp.Options{Operations: tools, Executor: exec, Version: c.commands.version, Settings: c.settings}
	server := mcp.NewServer(options, schema.RoleAdmin)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			return next(asCommand(ctx), method, r)
		}
	})
	return errors.Join(server.Run(ctx, &stdio{}), entries.Close())
}

// stdio is the transport over standard input and output. It reports the end of the input
// only after every call that was read has its response, since the SDK then cancels the
// others.
type stdio struct{ sdk.StdioTransport }

// Connect implements [sdk.Transport].
func (t *stdio) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.StdioTransport.Connect(ctx)
	c := &answering{Connection: conn, calls: map[jsonrpc.ID]bool{}}
	c.changed.L = &c.mu
	return c, err
}

// answering is a connection that knows its calls. A client may send an id twice at once, for
// which it gets one response.
type answering struct {
	sdk.Connection

	mu      sync.Mutex
	changed sync.Cond           // signals changes of the following fields
	calls   map[jsonrpc.ID]bool // calls that were read and have no response yet
	closed  bool                // The input ended, or a response could not be written.
}

// Read implements [sdk.Connection].
func (c *answering) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()

	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() {
		c.calls[call.ID] = true
	}
	for err != nil && len(c.calls) > 0 && !c.closed {
		c.changed.Wait()
	}
	return msg, err
}

// Write implements [sdk.Connection].
func (c *answering) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	c.mu.Lock()
	defer c.mu.Unlock()

	if response, ok := msg.(*jsonrpc.Response); ok {
		delete(c.calls, response.ID)
	}
	c.closed = c.closed || err != nil
	c.changed.Broadcast()
	return err
}

// Close implements [sdk.Connection].
func (c *answering) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	return c.Connection.Close()
}
