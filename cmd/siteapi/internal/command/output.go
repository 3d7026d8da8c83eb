package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"siteapi/integrations/atomicfile"
)

// newTable returns a table with this header. On a terminal it is at most as wide as that.
func newTable(header table.Row) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingRight: "  ", UnfinishedRow: "…"},
		Options: table.OptionsNoBordersAndSeparators,
	})
	if width := terminalWidth(); width > 0 {
		t.Style().Size.WidthMax, t.Style().Color.Header = width, text.Colors{text.Bold}
	}

	// Only a terminal needs short cells: other programs, and files, get them whole.
	most := math.MaxInt16
	if terminalWidth() > 0 {
		most = 40
	}

	columns := make([]table.ColumnConfig, len(header))
	for i := range columns {
		columns[i] = table.ColumnConfig{Number: i + 1, WidthMax: most, WidthMaxEnforcer: shortened}
	}
	columns[len(columns)-1].WidthMax *= 3

	t.SetColumnConfigs(columns)
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	return t
}

// terminalWidth returns the width of the terminal that standard output goes to, or 0.
func terminalWidth() int {
	width, _, _ := term.GetSize(int(os.Stdout.Fd()))
	return max(width, 0) // it is -1 for a file
}

// shortened makes a text one line of at most so many characters.
func shortened(line string, most int) string {
	return text.Snip(strings.Join(strings.Fields(line), " "), most, "…")
}

// printJSON prints a value for other programs.
func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printFields prints the JSON fields of a value that are not empty, one a line, such as
// `contact.email  ana@example.com`.
func printFields(out io.Writer, v any) {
	data, _ := json.Marshal(v) // never fails for a type of the schema
	dec := jsontext.NewDecoder(bytes.NewReader(data))

	for token, err := dec.ReadToken(); err == nil; token, err = dec.ReadToken() {
		container, n := dec.StackIndex(dec.StackDepth())
		if container == '{' && n%2 == 1 ||
			strings.ContainsRune("{}[]n", rune(token.Kind())) || token.String() == "" {
			continue // a name, or nothing to print
		}

		name := strings.ReplaceAll(string(dec.StackPointer())[1:], "/", ".")
		_, _ = fmt.Fprintf(out, "%-26s %s\n", name, printable(token.String()))
	}
}

// printable makes a visitor's text safe for a terminal. It replaces control characters,
// which could repaint the terminal, and invisible characters, which change the direction
// of writing.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, line)
}

// output is the file that a command writes, or standard output.
type output struct {
	path      string
	overwrite bool
}

func (o *output) flags(f *pflag.FlagSet, usage string) {
	f.StringVarP(&o.path, "output", "o", "", usage)
	f.BoolVar(&o.overwrite, "overwrite", false, "replace the file if it exists")
}

// write writes to the file and reports what it holds, or writes to standard output. Nothing
// is called if the file may not be written, so that what is called may record that it is.
func (o *output) write(c *call, write func(io.Writer) (what string, err error)) error {
	if o.path == "" || o.path == "-" {
		_, err := write(c.out)
		return err
	}

	what := ""
	err := writeFile(o.path, o.overwrite, func(w io.Writer) (err error) {
		what, err = write(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}

	c.say("%s: %s", o.path, what)
	return nil
}

// writeFile writes a file that only its owner may read. It appears under its name
// complete and synced, or not at all.
func writeFile(path string, overwrite bool, write func(io.Writer) error) error {
	if info, err := os.Lstat(path); err == nil && (!overwrite || info.IsDir()) {
		return fmt.Errorf("%s exists: name another file, or add --overwrite", path)
	}

	return atomicfile.Write(path, write)
}
