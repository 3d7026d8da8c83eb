package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/user"
	"slices"
	"strings"

	"siteapi/schema"
	"siteapi/schema/operations"
)

// runner runs an operation and returns the value of its root field.
type runner func(
	ctx context.Context, op *operations.Operation, variables map[string]any,
) (json.RawMessage, *schema.Error)

// run runs the operation and prints its answer.
func (r *document) run(ctx context.Context, c *call) error {
	question := r.op.Command.Confirm
	if question != "" && !r.yes && !confirmed(c.in, c.errOut, question) {
		return errors.New("nothing was done: answer y, or add --yes")
	}
	if r.op.Argument(argDryRun) != nil {
		r.arguments[argDryRun] = !r.yes
	}

	r.zone = c.settings.TimeZone
	run, closing, err := r.open(ctx, c)
	if err != nil {
		return err
	}

	var answer json.RawMessage
	err = r.output.write(c.out, func(w io.Writer) (_ string, err error) {
		more := false
		if answer, more, err = r.answer(ctx, run, w); err == nil && r.op.Command.Text == "" {
			err = r.print(w, answer, more)
		}
		return "written", err
	})
	if err := errors.Join(err, closing()); err != nil {
		return err
	}
	return r.outcome(answer)
}

// open opens what the operation needs.
func (r *document) open(ctx context.Context, c *call) (runner, func() error, error) {
	service := serviceAt(r.server, c.settings)
	if r.needs.System == OnService {
		return service.Run, func() error { return nil }, nil
	}

	exec, closing, err := c.drivers.OpenExecutor(ctx, c.drivers, c.settings, service, r.op)
	run := func(
		ctx context.Context, op *operations.Operation, variables map[string]any,
	) (json.RawMessage, *schema.Error) {
		value, _, problem := op.Run(asCommand(ctx), exec, variables, http.Header{})
		return value, problem
	}
	return run, closing, err
}

// actor names the user of the system in the audit.
func actor() string {
	if u, err := user.Current(); err == nil {
		return schema.CommandPrefix + u.Username
	}
	return schema.CommandPrefix + "unknown"
}

// asCommand returns a context whose caller is the user of the system, as an admin.
func asCommand(ctx context.Context) context.Context {
	return schema.WithCaller(ctx, schema.Caller{
		Operators: true,
		Local:     true,
		Operator:  schema.Operator{Actor: actor(), Role: schema.RoleAdmin},
	})
}

// answer runs the operation. For a connection it fetches as many pages as the limit needs,
// and returns the list of nodes and whether there are more. A text in the answer is written
// page by page.
func (r *document) answer(ctx context.Context, run runner, w io.Writer) (json.RawMessage, bool, error) {
	nodes := []json.RawMessage{}
	for {
		if r.op.Argument(argFirst) != nil {
			size := 200 // fit into an answer, whatever visitors wrote
			if r.limit > 0 {
				size = min(size, r.limit-len(nodes))
			}
			r.arguments[argFirst] = json.Number(fmt.Sprint(size))
		}
		value, problem := run(ctx, r.op, r.op.Bind(r.arguments))
		switch {
		case problem != nil:
			return nil, false, r.refusal(problem)
		case string(value) == "null":
			return nil, false, errors.New("not found: there is nothing with this name")
		}

		if text := r.op.Command.Text; text != "" {
			if _, err := fmt.Fprint(w, at(decode(value), text)); err != nil {
				return nil, false, err
			}
		}
		var page struct {
			Edges    []struct{ Node json.RawMessage }
			PageInfo *struct {
				HasNextPage bool
				EndCursor   string
			}
		}
		if json.Unmarshal(value, &page) != nil || page.PageInfo == nil { // It is no list with pages.
			return value, false, nil //nolint:nilerr // as above
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

// refusal returns the error of an operation in the words of the command line.
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

// outcome returns the error of a command that has printed its answer.
func (r *document) outcome(answer json.RawMessage) error {
	value, command := decode(answer), r.op.Command
	path, wantsEmpty := strings.CutPrefix(command.Finding, "!")

	switch {
	case !isEmpty(value, command.Failure):
		return fmt.Errorf("not everything could be done: see %q, and run the command again later", command.Failure)
	case isEmpty(value, path) != wantsEmpty || path == "":
		return nil
	case r.arguments[argDryRun] == true:
		return finding("nothing was changed: add --yes to do it")
	case wantsEmpty:
		return finding(fmt.Sprintf("there is no %q", path))
	default:
		return finding(fmt.Sprintf("something is wrong: see %q", path))
	}
}

// isEmpty reports whether there is no value at a path in an answer, as without a path.
func isEmpty(value any, path string) bool {
	switch v := at(value, path).(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	default:
		return v == false || v == "" || v == 0.0
	}
}
