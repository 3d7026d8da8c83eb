package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema"
	"siteapi/schema/operations"
)

// Paging arguments, which the flag --limit stands for, and a trial, which --yes ends.
const (
	argFirst  = "first"
	argAfter  = "after"
	argDryRun = "dryRun"
)

// documentCommands returns the groups of the operations that have @command, with these, and
// the commands that are in no group.
func (d Drivers) documentCommands() (groups map[string][]*cobra.Command) {
	groups = map[string][]*cobra.Command{}
	for _, op := range d.Operations {
		if op.Command != nil {
			name, _, _ := strings.Cut(op.Command.Name, " ")
			groups[name] = append(groups[name], d.documentCommand(op))
		}
	}
	return groups
}

// documentCommand returns the command of an operation.
func (d Drivers) documentCommand(op *operations.Operation) *cobra.Command {
	name := op.Command.Name[strings.LastIndexByte(op.Command.Name, ' ')+1:]
	run := &document{op: op, given: map[string]any{}, switches: map[string]*bool{}, limit: -1}

	use, last := name, len(op.Command.Args)-1
	for i, arg := range op.Command.Args {
		use += " <" + word(arg) + ">"
		if i == last && (i == 0 || op.Argument(arg).Type.Elem != nil) {
			use += " …"
		}
	}
	if all := op.Argument("all"); all != nil {
		use += " | --all"
	}

	short := strings.ToLower(op.Title[:1]) + op.Title[1:]
	command := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    strings.TrimSpace(short + "\n\n" + op.Description),
		Example: "  " + strings.Join(op.Command.Examples, "\n  "),
		Args:    run.checkArgs,
		RunE:    func(c *cobra.Command, args []string) error { return run.run(c, d, args) },
	}
	if len(op.Command.Args) == 0 {
		command.Args = NoArguments
	}
	run.flags(command)
	return command
}

// document is one call of an operation's command.
type document struct {
	op       *operations.Operation
	given    map[string]any // arguments by name
	switches map[string]*bool
	limit    int // of a list; negative: not given

	json, csv, yes bool
	output         output
	zone           *time.Location // of the times in tables
}

// flags adds a flag for each argument that has no place of its own.
func (r *document) flags(c *cobra.Command) {
	f := c.Flags()
	if r.op.Command.Text == "" {
		f.BoolVar(&r.json, "json", false, "print JSON, for other programs")
	}
	if len(r.op.Command.Columns) > 0 {
		f.BoolVar(&r.csv, "csv", false, "print CSV, for spreadsheets")
	}
	r.output.flags(f, "`file` to write, readable by you only; left out: standard output")
	if r.op.Command.Confirm != "" || r.op.Argument(argDryRun) != nil {
		f.BoolVar(&r.yes, "yes", false, "do it, without asking")
	}

	for _, arg := range r.op.Arguments {
		switch {
		case slices.Contains(r.op.Command.Args, arg.Name), arg.Name == argAfter, arg.Name == argDryRun:
			// It is given by its place, or by the commands themselves.

		case arg.Name == argFirst && r.op.Command.Text != "":
			// All of it is printed, page by page.

		case arg.Name == argFirst:
			f.Var(flagValue{"many", r.setLimit}, "limit",
				"how many at most, 0: all; left out: 100, with --json and --csv all")

		case arg.Type.NamedType == "Boolean":
			r.switches[arg.Name] = f.Bool(flagName(arg.Name), false, arg.Description)

		default:
			f.Var(flagValue{kindOf(arg), func(given string) error { return r.set(arg, given) }},
				flagName(arg.Name), usageOf(arg))
			if arg.Required() {
				_ = c.MarkFlagRequired(flagName(arg.Name))
			}
			_ = c.RegisterFlagCompletionFunc(flagName(arg.Name), cobra.FixedCompletions(
				valuesOf(arg.Definition), cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// flagName writes the name of an argument as a flag, such as amount-from for amountFrom.
func flagName(name string) string {
	var flag strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			flag.WriteByte('-')
		}
		flag.WriteRune(r)
	}
	return strings.ToLower(flag.String())
}

// flagValue is a flag with the word that stands for its value in the help.
type flagValue struct {
	kind string
	set  func(given string) error
}

// Set implements [pflag.Value].
func (v flagValue) Set(given string) error { return v.set(given) }

// Type implements [pflag.Value].
func (v flagValue) Type() string { return v.kind }

// String implements [pflag.Value].
func (v flagValue) String() string { return "" }

func (r *document) setLimit(given string) (err error) {
	if r.limit, err = strconv.Atoi(given); err != nil || r.limit < 0 {
		return errors.New("must be a whole number, 0: all")
	}
	return nil
}

// set takes the value of a flag. That of a list may be given several times.
func (r *document) set(arg operations.Argument, given string) error {
	value, err := r.parse(arg, given)
	if list, isList := value.([]any); isList {
		earlier, _ := r.given[arg.Name].([]any)
		value = append(earlier, list...)
	}
	r.given[arg.Name] = value
	return err
}

// kindOf names the value of an argument in the help.
func kindOf(arg operations.Argument) string {
	switch typ := arg.Type.Name(); {
	case typ == "DateTime":
		return "time"
	case arg.Definition.Kind == ast.Enum:
		return "word"
	case typ == "Int" || typ == "Float":
		return "number"
	default:
		return "text"
	}
}

// usageOf explains the flag of an argument.
func usageOf(arg operations.Argument) string {
	text := strings.TrimSuffix(strings.ReplaceAll(arg.Description, "`", ""), ".")
	switch {
	case arg.Type.Name() == "DateTime":
		return text + ": 36h, 30d, 2026-01-31 or 2026-01-31T09:30:00Z"
	case arg.Definition.Kind == ast.Enum && arg.Type.Elem != nil:
		return text + ", separated by commas: " + strings.Join(valuesOf(arg.Definition), ", ") + ", all"
	case arg.Definition.Kind == ast.Enum:
		return text + ": " + strings.Join(valuesOf(arg.Definition), ", ")
	default:
		return text
	}
}

// valuesOf lists the values of an enum as they are typed.
func valuesOf(def *ast.Definition) []string {
	list := make([]string, len(def.EnumValues))
	for i, v := range def.EnumValues {
		list[i] = word(v.Name)
	}
	return list
}

// parse reads what was typed for an argument.
func (r *document) parse(arg operations.Argument, given string) (any, error) {
	given = strings.TrimSpace(given)
	if given == "" && !slices.Contains(r.op.Command.Empty, arg.Name) {
		return nil, errors.New("must not be empty")
	}

	if arg.Type.Elem != nil {
		var list []any
		for typed := range strings.SplitSeq(given, ",") {
			if arg.Definition.Kind == ast.Enum && word(typed) == "all" {
				for _, v := range arg.Definition.EnumValues {
					list = append(list, v.Name)
				}
				continue
			}

			item, err := parseValue(arg.Definition, strings.TrimSpace(typed))
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	}
	place := slices.Contains(r.op.Command.Args, arg.Name)
	switch isNone := word(given) == "none"; {
	case isNone && place && !arg.Type.NonNull:
		return nil, nil //nolint:nilnil // null is the value
	case isNone && slices.Contains(r.op.Command.Empty, arg.Name):
		return "", nil
	}
	return parseValue(arg.Definition, given)
}

func parseValue(def *ast.Definition, given string) (any, error) {
	if def.Kind == ast.Enum {
		for _, v := range def.EnumValues {
			if word(v.Name) == word(given) {
				return v.Name, nil
			}
		}
		return nil, errors.New("must be one of " + strings.Join(valuesOf(def), ", "))
	}

	switch def.Name {
	case "DateTime":
		at, err := parseTime(given)
		return at.UTC().Truncate(time.Millisecond).Format("2006-01-02T15:04:05.000Z"), err
	case "Int", "Float":
		var n json.Number
		if json.Unmarshal([]byte(given), &n) != nil {
			return nil, errors.New("must be a number")
		}
		return n, nil
	default:
		return given, nil
	}
}

// checkArgs checks the number of arguments that are given by their place.
func (r *document) checkArgs(c *cobra.Command, args []string) error {
	if r.op.Argument("all") != nil {
		return someArguments("<"+r.op.Command.Args[0]+"> …")(c, args)
	}

	wanted := len(r.op.Command.Args)
	if wanted == 1 && len(args) > 1 {
		wanted = len(args) // the command runs for each
	}
	if len(args) != wanted {
		_, names, _ := strings.Cut(c.Use, " ")
		return fmt.Errorf("give %s: see `%s --help`", names, c.CommandPath())
	}
	return nil
}

// run runs the operation, once for each argument if it takes a single one.
func (r *document) run(c *cobra.Command, d Drivers, args []string) error {
	calls, err := r.calls(args)
	if err != nil {
		return err
	}
	if err := r.confirm(c); err != nil {
		return err
	}

	s, err := config.Read(d.Getenv, append(append(databaseSettings(), "TIME_ZONE"), d.SettingsOf(r.op)...)...)
	if err != nil {
		return err
	}
	r.zone = s.TimeZone
	exec, closing, err := d.OpenOperation(c.Context(), s, r.op)
	if err != nil {
		return err
	}

	found := false
	call := &call{out: bufio.NewWriter(c.OutOrStdout())}
	err = r.output.write(call, func(w io.Writer) (string, error) {
		var values []json.RawMessage
		more := false
		for _, arguments := range calls {
			if r.op.Command.Text != "" {
				return "written", r.writeText(asCommand(c.Context()), exec, arguments, w)
			}
			value, isMore, err := r.answer(asCommand(c.Context()), exec, arguments)
			if err != nil {
				return "", err
			}
			values, more = append(values, value), more || isMore
			found = found || r.op.Command.Finding != "" && notEmpty(value, r.op.Command.Finding)
		}
		return "written", r.print(w, values, more)
	})
	err = errors.Join(err, call.out.Flush(), closing())
	if err == nil && found {
		return finding(fmt.Sprintf("something is wrong: see %q", r.op.Command.Finding))
	}
	return err
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
	if only := *r.op.Argument(names[0]); len(names) == 1 && only.Type.Elem == nil {
		var calls []map[string]any
		for _, typed := range args {
			call := map[string]any{}
			for name, value := range r.given {
				call[name] = value
			}
			value, err := r.parse(only, typed)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", typed, err)
			}
			call[names[0]] = value
			calls = append(calls, call)
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

// asCommand returns a context whose caller is the user of the system, as an admin.
func asCommand(ctx context.Context) context.Context {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return schema.WithCaller(ctx, schema.Caller{
		Operators: true,
		Local:     true,
		Operator: schema.Operator{
			Actor: schema.CommandPrefix + cmp.Or(name, "unknown"),
			Role:  schema.RoleAdmin,
		},
	})
}

// answer runs the operation, and of a connection as many pages as the limit asks for. It
// returns the answer, which of a connection is the list of its nodes, and whether there are
// more.
func (r *document) answer(
	ctx context.Context, exec operations.Executor, arguments map[string]any,
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
		value, _, problem := r.op.Run(ctx, exec, r.op.Bind(arguments), http.Header{})
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
	ctx context.Context, exec operations.Executor, arguments map[string]any, w io.Writer,
) error {
	for {
		value, _, problem := r.op.Run(ctx, exec, r.op.Bind(arguments), http.Header{})
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
