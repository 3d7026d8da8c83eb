package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema/operations"
)

// Paging arguments, which the flag --limit stands for, and a trial, which --yes ends.
const (
	argFirst  = "first"
	argAfter  = "after"
	argDryRun = "dryRun"
)

// documentCommand returns the command of an operation.
func (d Drivers) documentCommand(op *operations.Operation) *cobra.Command {
	name := op.Command.Name[strings.LastIndexByte(op.Command.Name, ' ')+1:]
	run := &document{
		op:       op,
		needs:    NeedsOf(op),
		given:    map[string]any{},
		switches: map[string]*bool{},
		limit:    -1,
	}

	use, last := name, len(op.Command.Args)-1
	for i, arg := range op.Command.Args {
		place := " <" + flagName(arg) + ">"
		if run.mayLack(arg) {
			place = " [" + flagName(arg) + "]"
		}
		if use += place; i == last && (run.repeats() || op.Argument(arg).Type.Elem != nil) {
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
	needs    Needs
	given    map[string]any // arguments by name
	switches map[string]*bool
	limit    int // of a list; negative: not given

	json, csv, yes bool
	output         output
	server         server
	zone           *time.Location // of the times in tables
}

// mayLack reports whether an argument that is given by its place may be left out.
func (r *document) mayLack(arg string) bool {
	a := r.op.Argument(arg)
	return a.Default != nil && a.Type.Elem == nil
}

// repeats reports whether the operation runs for each of several arguments.
func (r *document) repeats() bool {
	names := r.op.Command.Args
	return len(names) == 1 && r.op.Argument(names[0]).Type.Elem == nil && !r.mayLack(names[0])
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
	if r.needs.asksService() {
		r.server.flags(f)
	}
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
			f.Var(flagValue{kindOf(arg), func(given string) error { return r.set(c, arg, given) }},
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

// set takes the value of a flag. That of a list may be given several times. A text may be the
// first line of standard input, which no list of processes shows.
func (r *document) set(c *cobra.Command, arg operations.Argument, given string) error {
	if given == "-" && arg.Type.NamedType == "String" {
		line, err := bufio.NewReader(c.InOrStdin()).ReadString('\n')
		if given = line; err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}

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
		names := make([]string, len(def.EnumValues))
		for i, v := range def.EnumValues {
			names[i] = v.Name
		}
		return parse(given, names)
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
