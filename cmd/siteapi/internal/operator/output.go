package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// output is where a command prints. It keeps the first error, with which the command fails.
type output struct {
	io.Writer
	err error
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// printTable prints a line for each entry of a list. On a terminal it has colours, and its lines are at most as wide as
// the terminal.
func printTable[T any](out *output, header table.Row, list []T, row func(T) table.Row) {
	style := table.Style{
		Box:     table.BoxStyle{PaddingRight: "  ", UnfinishedRow: "…"},
		Options: table.OptionsNoBordersAndSeparators,
	}
	if width := terminalWidth(out); width > 0 {
		style.Size.WidthMax, style.Color.Header = width, text.Colors{text.Bold}
	}
	columns := make([]table.ColumnConfig, len(header))
	for i := range columns {
		columns[i] = table.ColumnConfig{Number: i + 1, WidthMax: 40, WidthMaxEnforcer: shortened}
	}
	columns[len(columns)-1].WidthMax *= 3
	t := table.NewWriter()
	t.SetStyle(style)
	t.SetColumnConfigs(columns)
	t.SuppressTrailingSpaces()
	t.SetOutputMirror(out)
	t.AppendHeader(header)
	for _, entry := range list {
		t.AppendRow(row(entry))
	}
	t.Render()
}

// terminalWidth returns the width of the terminal that out writes to, or 0.
func terminalWidth(out *output) int {
	f, ok := out.Writer.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, _ := term.GetSize(int(f.Fd()))
	return width
}

// shortened makes one line of a text, of at most so many characters.
func shortened(line string, most int) string {
	return text.Snip(strings.Join(strings.Fields(line), " "), most, "…")
}

// printFields prints a value as JSON has it, a line for each field that is not empty, such as `contact.email  ana@example.com`.
func printFields(out io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for token, err := dec.ReadToken(); err == nil; token, err = dec.ReadToken() {
		container, n := dec.StackIndex(dec.StackDepth())
		if container == '{' && n%2 == 1 || strings.ContainsRune("{}[]n", rune(token.Kind())) || token.String() == "" {
			continue // a name, or nothing to print
		}
		name := strings.ReplaceAll(string(dec.StackPointer())[1:], "/", ".")
		_, _ = fmt.Fprintf(out, "%-26s %s\n", name, printable(token.String()))
	}
	return nil
}

// printable makes a visitor's text safe for a terminal: without control characters, which could repaint it,
// and without those that change the direction of writing.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == unicode.ReplacementChar:
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, line)
}

// printJSON prints a value for other programs.
func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// writeFile writes a file that only its owner may read. It appears under its name complete and synced, or not at all.
func writeFile(path string, overwrite bool, write func(*os.File) error) error {
	if exists(path) && !overwrite {
		return fmt.Errorf("%s exists: name another file, or add --overwrite", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// exists reports whether there is a file or folder at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
