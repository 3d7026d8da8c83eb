package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strings"

	"siteapi/cmd/siteapi/internal/export"
	"siteapi/resolvers"
	"siteapi/schema"
	"siteapi/schema/operations"
	"siteapi/schema/request"
)

// runner runs an operation and returns the value of its root field.
type runner func(
	ctx context.Context, op *operations.Operation, variables map[string]any,
) (json.RawMessage, *schema.Error)

// run runs the operation and prints its result.
func (r *document) run(ctx context.Context, c *call) error {
	question := r.op.Command.Confirm
	if question != "" && !r.yes && !c.confirmed(question) {
		return errors.New("nothing was done: answer y or add --yes")
	}
	if (r.json || r.csv) && !c.line.Flags().Changed("limit") {
		r.limit = 0
	}
	if r.op.Argument(argDryRun) != nil {
		r.arguments[argDryRun] = !r.yes
	}

	r.zone = c.settings.TimeZone
	r.op.ReadDays(r.arguments, r.zone)
	run, err := r.open(ctx, c)
	if err != nil {
		return err
	}

	var response json.RawMessage
	err = c.write(func(w io.Writer) (_ string, err error) {
		if r.op.Command.File {
			return "written", r.export(ctx, run, w)
		}
		more := false
		if response, more, err = r.fetch(ctx, run); err == nil {
			err = r.print(w, response, more)
		}
		return "written", err
	})
	if err != nil {
		return err
	}
	return r.outcome(response)
}

// open opens the systems of the operation.
func (r *document) open(ctx context.Context, c *call) (runner, error) {
	c.service = serviceAt(r.server, c.settings)
	if uses(resolvers.Service, r.op) {
		return c.service.Run, nil
	}

	exec, err := c.openExecutor(ctx, r.op)
	run := func(
		ctx context.Context, op *operations.Operation, variables map[string]any,
	) (json.RawMessage, *schema.Error) {
		value, _, problem := op.Run(asCommand(ctx), exec, variables)
		return value, problem
	}
	return run, err
}

// actor returns the name of the system user for the audit log.
func actor() string {
	if u, err := user.Current(); err == nil {
		return request.CommandPrefix + u.Username
	}
	return request.CommandPrefix + "unknown"
}

// asCommand returns a context with the system user as the caller, who is an
// administrator.
func asCommand(ctx context.Context) context.Context {
	return request.WithCaller(ctx, request.Caller{
		RequestID: request.NewID(),
		Operators: true,
		Local:     true,
		Operator:  request.Operator{Actor: actor(), Role: schema.RoleAdmin},
	})
}

// export writes all pages of the operation to a file.
func (r *document) export(ctx context.Context, run runner, w io.Writer) error {
	e := export.Export{
		Operation: r.op,
		Zone:      r.zone,
		Run: func(ctx context.Context, variables map[string]any) (json.RawMessage, *schema.Error) {
			return run(ctx, r.op, variables)
		},
	}

	language, refused := export.Language(r.language)
	if refused != nil {
		return r.refusal(refused)
	}

	err := e.Write(ctx, r.arguments, func() (export.Table, error) {
		if r.xlsx {
			return e.Workbook(w, language)
		}
		return e.CSV(w)
	})
	if refused, ok := errors.AsType[*schema.Error](err); ok {
		return r.refusal(refused)
	}
	return err
}

// fetch runs the operation. For a connection it fetches pages up to the limit, and
// returns the nodes and whether more exist.
func (r *document) fetch(ctx context.Context, run runner) (json.RawMessage, bool, error) {
	nodes := []json.RawMessage{}
	for {
		if r.op.Argument(argFirst) != nil {
			size := 200 // this many nodes fit into a response, whatever their size
			if r.limit > 0 {
				size = min(size, r.limit-len(nodes))
			}
			r.arguments[argFirst] = json.Number(fmt.Sprint(size))
		}
		value, problem := run(ctx, r.op, r.op.Bind(r.arguments))
		if problem != nil {
			return nil, false, r.refusal(problem)
		}

		var page struct {
			Edges    []struct{ Node json.RawMessage }
			PageInfo *struct {
				HasNextPage bool
				EndCursor   string
			}
		}
		if json.Unmarshal(value, &page) != nil || page.PageInfo == nil {
			return value, false, nil //nolint:nilerr // the value is not a connection
		}

		for _, edge := range page.Edges {
			nodes = append(nodes, edge.Node)
		}
		more := page.PageInfo.HasNextPage
		if !more || r.limit > 0 && len(nodes) >= r.limit {
			list, err := json.Marshal(nodes)
			return list, more, err
		}
		r.arguments[argAfter] = page.PageInfo.EndCursor
	}
}

// refusal translates the error of an operation for the command line.
func (r *document) refusal(e *schema.Error) error {
	if len(e.Fields) == 0 {
		return errors.New(strings.TrimSuffix(e.Message, "."))
	}

	var errs []error
	for _, f := range e.Fields {
		name, _, _ := strings.Cut(f.Field, "[")
		if !slices.Contains(r.op.Command.Args, name) {
			name = "--" + flagName(name)
		}
		errs = append(errs, fmt.Errorf("%s: %s", name, f.Message))
	}
	return errors.Join(errs...)
}

// outcome returns the error of a command after it has printed its result.
func (r *document) outcome(response json.RawMessage) error {
	value, command := decode(response), r.op.Command
	path, wantsEmpty := strings.CutPrefix(command.Finding, "!")

	switch {
	case !isEmpty(value, command.Failure):
		return fmt.Errorf("the command was only partly executed: see %q, and run it again later",
			command.Failure)
	case isEmpty(value, path) != wantsEmpty || path == "":
		return nil
	case r.arguments[argDryRun] == true:
		return finding("nothing was changed: add --yes to execute")
	case wantsEmpty:
		return finding(fmt.Sprintf("the result has no %q", path))
	default:
		return finding(fmt.Sprintf("a problem was found: see %q", path))
	}
}

// isEmpty reports whether the value at a path of a result is empty. An empty path has no
// value.
func isEmpty(value any, path string) bool {
	switch v := operations.At(value, path).(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	default:
		return v == false || v == "" || v == 0.0
	}
}
