package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema"
)

// checkArgs checks the number of arguments that are given by their place.
func (r *document) checkArgs(c *cobra.Command, args []string) error {
	if r.op.Argument("all") != nil {
		return someArguments("<"+r.op.Command.Args[0]+"> …")(c, args)
	}

	most, least := len(r.op.Command.Args), 0
	for _, name := range r.op.Command.Args {
		if !r.mayLack(name) {
			least++
		}
	}
	if len(args) < least || len(args) > most && !r.repeats() {
		_, names, _ := strings.Cut(c.Use, " ")
		return fmt.Errorf("give %s: see `%s --help`", names, c.CommandPath())
	}
	return nil
}

// runner runs an operation with arguments and returns the value of its root field.
type runner func(ctx context.Context, arguments map[string]any) (json.RawMessage, *schema.Error)

// run runs the operation, once for each argument if it takes a single one.
func (r *document) run(c *cobra.Command, d Drivers, args []string) error {
	calls, err := r.calls(args)
	if err != nil {
		return err
	}
	if err := r.confirm(c); err != nil {
		return err
	}

	s, err := config.Read(d.Getenv, append(r.needs.Settings, "TIME_ZONE")...)
	if err != nil {
		return err
	}
	r.zone = s.TimeZone
	run, closing, err := r.open(c.Context(), d, s)
	if err != nil {
		return err
	}

	found, failed := false, false
	call := &call{out: bufio.NewWriter(c.OutOrStdout())}
	err = r.output.write(call, func(w io.Writer) (string, error) {
		var values []json.RawMessage
		more := false
		for _, arguments := range calls {
			if r.op.Command.Text != "" {
				return "written", r.writeText(c.Context(), run, arguments, w)
			}

			value, isMore, err := r.answer(c.Context(), run, arguments)
			if err != nil {
				return "", err
			}
			values, more = append(values, value), more || isMore
			found = found || notEmpty(value, r.op.Command.Finding)
			failed = failed || notEmpty(value, r.op.Command.Failure)
		}
		return "written", r.print(w, values, more)
	})
	return r.outcome(errors.Join(err, call.out.Flush(), closing()), found, failed)
}

// open opens what the operation needs.
func (r *document) open(ctx context.Context, d Drivers, s *config.Settings) (runner, func() error, error) {
	service := serviceAt(r.server.address, s)
	if r.needs.System == OnService {
		run := func(ctx context.Context, arguments map[string]any) (json.RawMessage, *schema.Error) {
			return service.Run(ctx, r.op, r.op.Bind(arguments))
		}
		return run, func() error { return nil }, nil
	}

	exec, closing, err := d.OpenExecutor(ctx, d, s, service, r.op)
	run := func(ctx context.Context, arguments map[string]any) (json.RawMessage, *schema.Error) {
		value, _, problem := r.op.Run(asCommand(ctx), exec, r.op.Bind(arguments), http.Header{})
		return value, problem
	}
	return run, closing, err
}

// outcome returns the error of a command that has printed its answer.
func (r *document) outcome(err error, found, failed bool) error {
	switch trial, _ := r.given[argDryRun].(bool); {
	case err != nil:
		return err
	case failed:
		return fmt.Errorf("not everything could be done: see %q, and run the command again later", r.op.Command.Failure)
	case found && trial:
		return finding("nothing was changed: add --yes to do it")
	case found && strings.HasPrefix(r.op.Command.Finding, "!"):
		return finding(fmt.Sprintf("there is no %q", r.op.Command.Finding[1:]))
	case found:
		return finding(fmt.Sprintf("something is wrong: see %q", r.op.Command.Finding))
	}
	return nil
}

// calls returns the arguments of each call of the operation.
func (r *document) calls(args []string) ([]map[string]any, error) {
	if r.op.Argument(argDryRun) != nil {
		r.given[argDryRun] = !r.yes
	}

	for name, on := range r.switches {
		if *on {
			r.given[name] = true
		}
	}
	since, hasSince := r.given["since"].(string)
	if until, hasUntil := r.given["until"].(string); hasSince && hasUntil && until <= since {
		return nil, errors.New("--until: must be later than --since")
	}

	names := r.op.Command.Args
	if len(names) == 0 || len(args) == 0 {
		return []map[string]any{r.given}, nil
	}
	if r.repeats() {
		calls := make([]map[string]any, len(args))
		for i, typed := range args {
			value, err := r.parse(*r.op.Argument(names[0]), typed)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", typed, err)
			}
			calls[i] = maps.Clone(r.given)
			calls[i][names[0]] = value
		}
		return calls, nil
	}

	for i, name := range names[:min(len(names), len(args))] {
		typed, arg := args[i], *r.op.Argument(name)
		if i == len(names)-1 && arg.Type.Elem != nil {
			typed = strings.Join(args[i:], ",")
		}
		value, err := r.parse(arg, typed)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", typed, err)
		}
		r.given[name] = value
	}
	return []map[string]any{r.given}, nil
}

// confirm asks before a command that does harm.
func (r *document) confirm(c *cobra.Command) error {
	if r.op.Command.Confirm == "" || r.yes {
		return nil
	}
	_, _ = fmt.Fprint(c.ErrOrStderr(), r.op.Command.Confirm+" [y/N] ")
	line, _ := bufio.NewReader(c.InOrStdin()).ReadString('\n')
	if !strings.EqualFold(strings.TrimSpace(line), "y") {
		return errors.New("nothing was done: answer y, or add --yes")
	}
	return nil
}

// actor names the user of the system in the audit.
func actor() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return schema.CommandPrefix + cmp.Or(name, "unknown")
}

// asCommand returns a context whose caller is the user of the system, as an admin.
func asCommand(ctx context.Context) context.Context {
	return schema.WithCaller(ctx, schema.Caller{
		Operators: true,
		Local:     true,
		Operator:  schema.Operator{Actor: actor(), Role: schema.RoleAdmin},
	})
}

// answer runs the operation, and of a connection as many pages as the limit asks for. It
// returns the answer, which of a connection is the list of its nodes, and whether there are
// more.
func (r *document) answer(
	ctx context.Context, run runner, arguments map[string]any,
) (json.RawMessage, bool, error) {
	limit := r.limit
	if limit < 0 {
		limit = 100
		if r.json || r.csv {
			limit = 0
		}
	}

	nodes := []json.RawMessage{}
	for {
		if r.op.Argument(argFirst) != nil {
			size := 500
			if limit > 0 {
				size = min(size, limit-len(nodes))
			}
			arguments[argFirst] = json.Number(strconv.Itoa(size))
		}
		value, problem := run(ctx, arguments)
		if problem != nil {
			return nil, false, r.refusal(problem)
		}

		var p page
		if json.Unmarshal(value, &p) != nil || p.PageInfo == nil {
			if string(value) == "null" {
				return nil, false, errors.New("not found: there is nothing with this name")
			}
			return value, false, nil
		}

		for _, edge := range p.Edges {
			nodes = append(nodes, edge.Node)
		}
		more := p.PageInfo.HasNextPage
		if !more || limit > 0 && len(nodes) >= limit {
			list, err := json.Marshal(nodes)
			return list, more, err
		}
		arguments[argAfter] = p.PageInfo.EndCursor
	}
}

// page is the part of a connection that says what comes after it.
type page struct {
	Edges    []struct{ Node json.RawMessage }
	PageInfo *struct {
		HasNextPage bool
		EndCursor   string
	}
}

// writeText runs the operation and writes the text in its answer, page by page.
func (r *document) writeText(
	ctx context.Context, run runner, arguments map[string]any, w io.Writer,
) error {
	for {
		value, problem := run(ctx, arguments)
		if problem != nil {
			return r.refusal(problem)
		}

		var fields map[string]any
		var p page
		if err := errors.Join(json.Unmarshal(value, &fields), json.Unmarshal(value, &p)); err != nil {
			return err
		}
		if _, err := fmt.Fprint(w, fields[r.op.Command.Text]); err != nil || p.PageInfo == nil || !p.PageInfo.HasNextPage {
			return err
		}
		arguments[argAfter] = p.PageInfo.EndCursor
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
