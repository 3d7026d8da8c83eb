package command

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vektah/gqlparser/v2/ast"
	"golang.org/x/term"

	"siteapi/schema"
	"siteapi/schema/operations"
)

// Arguments with a special flag or meaning: --limit sets the paging arguments, --yes
// unsets dryRun, and --all replaces the positional arguments.
const (
	argFirst  = "first"
	argAfter  = "after"
	argDryRun = "dryRun"
	argAll    = "all"
)

// maxValue is the number of bytes of a value that are read from standard input. The longest
// text that an argument allows is shorter.
const maxValue = 1 << 20

// document is a call of an operation's command.
type document struct {
	op        *operations.Operation
	settings  []string // settings that must be valid
	arguments map[string]any
	limit     int // maximum number of items in a list; 0: all

	json, csv, xlsx, yes bool
	server               string
	zone                 *time.Location // time zone of tables
	language             string         // of the headings of a workbook
}

// documentCommand returns the command of an operation.
func (d commands) documentCommand(op *operations.Operation) *cobra.Command {
	r := &document{op: op, arguments: map[string]any{}, settings: settingsOf(op)}

	use := op.Command.Name[strings.LastIndexByte(op.Command.Name, ' ')+1:]
	for _, name := range op.Command.Args {
		arg := op.Argument(name)
		switch {
		case arg.Type.Elem != nil:
			use += " <" + flagName(name) + "> …"
		case arg.Default != nil:
			use += " [" + flagName(name) + "]"
		default:
			use += " <" + flagName(name) + ">"
		}
	}

	short := strings.ToLower(op.Title[:1]) + op.Title[1:]
	command := d.command(use, short, r.settings, r.run, op.Command.Examples...)
	command.Long = strings.TrimSpace(short + "\n\n" + op.Description)
	command.Args = r.readArgs
	r.flags(command)
	return command
}

// flags adds a flag for each argument that is not positional.
func (r *document) flags(c *cobra.Command) {
	f := c.Flags()
	if r.op.Command.File {
		f.BoolVar(&r.xlsx, "xlsx", false, "write a workbook for people instead of CSV for programs")
		f.StringVar(&r.language, "language", string(schema.DefaultLocale),
			"language of the headings of a workbook")
	} else {
		f.BoolVar(&r.json, "json", false, "print JSON for other programs")
		if len(r.op.Command.Columns) > 0 {
			f.BoolVar(&r.csv, "csv", false, "print CSV for other programs")
		}
	}
	outputFlags(f, "`file` to write, readable only by you; default: standard output")
	if slices.Contains(r.settings, "LISTEN_ADDR") {
		serverFlag(f, &r.server)
	}
	if r.op.Command.Confirm != "" || r.op.Argument(argDryRun) != nil {
		f.BoolVar(&r.yes, "yes", false, "execute without asking")
	}

	for _, arg := range r.op.Arguments {
		name := flagName(arg.Name)
		switch {
		case slices.Contains(r.op.Command.Args, arg.Name), arg.Name == argAfter, arg.Name == argDryRun:
			// The argument is positional, or the command sets it.

		case arg.Name == argFirst:
			f.IntVar(&r.limit, "limit", 100,
				"maximum number of entries, 0: all; with --json or --csv, the default is all")

		case arg.Type.NamedType == "Boolean":
			f.BoolFunc(name, usageOf(arg), func(given string) (err error) {
				r.arguments[arg.Name], err = strconv.ParseBool(given)
				return err
			})

		default:
			f.Func(name, usageOf(arg), func(given string) error { return r.set(c, arg, given) })
			if arg.Required() {
				_ = c.MarkFlagRequired(name)
			}
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(
				wordsOf(arg.Definition), cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// flagName returns the flag of an argument, such as amount-from for amountFrom.
func flagName(name string) string {
	return strings.ToLower(regexp.MustCompile("[A-Z]").ReplaceAllString(name, "-$0"))
}

// usageOf returns the help text of an argument's flag.
func usageOf(arg operations.Argument) string {
	text := strings.TrimSuffix(strings.ReplaceAll(arg.Description, "`", ""), ".")
	switch words := wordsOf(arg.Definition); {
	case arg.Name == "until":
		return text + ", such as 36h, 30d, 2026-01-31 (included) or 2026-01-31T09:30:00Z"
	case arg.Type.Name() == "DateTime":
		return text + ", such as 36h, 30d, 2026-01-31 or 2026-01-31T09:30:00Z"
	case len(words) == 0:
		return text
	case arg.Type.Elem != nil:
		words = append(words, "all")
		fallthrough
	default:
		return text + ": " + strings.Join(words, ", ")
	}
}

// wordsOf lists the values of an enum as in commands, such as in-review for IN_REVIEW.
func wordsOf(def *ast.Definition) []string {
	list := make([]string, len(def.EnumValues))
	for i, v := range def.EnumValues {
		list[i] = word(v.Name)
	}
	return list
}

func word(value string) string { return strings.ToLower(strings.ReplaceAll(value, "_", "-")) }

// readArgs reads the positional arguments. With --all there must be none.
func (r *document) readArgs(c *cobra.Command, args []string) error {
	names := r.op.Command.Args
	least, most := len(names), len(names)
	if r.arguments[argAll] == true {
		least, most = 0, 0
	} else if most > 0 {
		switch last := r.op.Argument(names[most-1]); {
		case last.Type.Elem != nil:
			most = math.MaxInt
		case last.Default != nil:
			least--
		}
	}
	if len(args) < least || len(args) > most {
		_, places, _ := strings.Cut(c.Use, " ")
		return fmt.Errorf("expected %s: see `%s --help`", cmp.Or(places, "no argument"), c.CommandPath())
	}

	for i, given := range args {
		if err := r.set(c, *r.op.Argument(names[min(i, len(names)-1)]), given); err != nil {
			return fmt.Errorf("%q: %w", given, err)
		}
	}
	return nil
}

// set sets an argument to a value from the command line. Only lists may be set several times:
// an earlier value, such as the address of another person, is not left out unnoticed.
// For "-" it reads the value from standard input, so that no process list shows it.
func (r *document) set(c *cobra.Command, arg operations.Argument, given string) (err error) {
	if _, isSet := r.arguments[arg.Name]; isSet && arg.Type.Elem == nil {
		return errors.New("must be given only once")
	}
	if given == "-" && arg.Type.NamedType == "String" {
		if given, err = readValue(c.InOrStdin()); err != nil {
			return err
		}
	}

	value, err := r.parse(arg, schema.Clean(given))
	if list, isList := value.([]any); isList {
		earlier, _ := r.arguments[arg.Name].([]any)
		value = append(earlier, list...)
	}
	r.arguments[arg.Name] = value
	return err
}

// readValue reads a value: a line of a terminal, otherwise the whole input, because a second
// address must not be left out unnoticed.
func readValue(in io.Reader) (string, error) {
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		line, err := bufio.NewReader(in).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return line, err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxValue))
	return string(text), err
}

// parse parses the value of an argument from the command line.
func (r *document) parse(arg operations.Argument, given string) (any, error) {
	mayBeEmpty := slices.Contains(r.op.Command.Empty, arg.Name)
	switch isNone := word(given) == "none"; {
	case mayBeEmpty && (isNone || given == ""):
		return "", nil
	case given == "":
		return nil, errors.New("must not be empty")
	case isNone && slices.Contains(r.op.Command.Args, arg.Name) && !arg.Type.NonNull:
		return nil, nil //nolint:nilnil // null is the value
	case arg.Definition.Name == "DateTime" && slices.Contains(r.op.Command.Args, arg.Name):
		return parseTime(given, true) // to come back in 3d, unlike --since 3d
	case arg.Type.Elem == nil:
		return parseValue(arg.Definition, given)
	}

	var list []any
	for item := range strings.SplitSeq(given, ",") {
		item = strings.TrimSpace(item)
		if arg.Definition.Kind == ast.Enum && word(item) == "all" {
			for _, v := range arg.Definition.EnumValues {
				list = append(list, v.Name)
			}
			continue
		}
		value, err := parseValue(arg.Definition, item)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}

func parseValue(def *ast.Definition, given string) (any, error) {
	switch {
	case def.Kind == ast.InputObject: // two fields, as in slug=count
		var n json.Number
		name, value, _ := strings.Cut(given, "=")
		if json.Unmarshal([]byte(value), &n) != nil {
			return nil, fmt.Errorf("must be a %s and a %s, joined by =",
				def.Fields[0].Name, def.Fields[1].Name)
		}
		return map[string]any{def.Fields[0].Name: name, def.Fields[1].Name: n}, nil

	case def.Kind == ast.Enum:
		for _, v := range def.EnumValues {
			if word(v.Name) == word(given) {
				return v.Name, nil
			}
		}
		return nil, errors.New("must be one of " + strings.Join(wordsOf(def), ", "))

	case def.Name == "DateTime":
		return parseTime(given, false)

	case def.Name == "Int" || def.Name == "Float":
		var n json.Number
		if json.Unmarshal([]byte(given), &n) != nil {
			return nil, errors.New("must be a number")
		}
		return n, nil

	default:
		return given, nil
	}
}
