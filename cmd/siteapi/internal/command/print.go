package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/vektah/gqlparser/v2/ast"
	"golang.org/x/term"

	"siteapi/cmd/siteapi/internal/export"
	"siteapi/schema"
	"siteapi/schema/operations"
)

func decode(response json.RawMessage) (value any) {
	_ = json.Unmarshal(response, &value) // a response is valid JSON
	return value
}

// print prints the result of an operation as JSON, as CSV, as tables of the columns, or
// as lines with a name and a value.
func (r *document) print(w io.Writer, response json.RawMessage, more bool) error {
	value := decode(response)
	columns := r.op.Command.Columns
	if r.csv && len(r.op.Command.CSV) > 0 {
		columns = r.op.Command.CSV
	}
	tables := r.tables(value, columns)
	object, isObject := value.(map[string]any)
	switch {
	case r.json:
		return printJSON(w, response)
	case r.csv:
		return r.printCSV(w, tables)
	case isObject:
		for _, t := range append(r.tables(value, r.op.Command.CSV), tables...) {
			delete(object, t.name)
		}
		r.printFields(w, "", r.op.Root.SelectionSet, object)
	case len(tables) == 0:
		_, _ = fmt.Fprintln(w, r.cell(value))
	case len(tables[0].rows) == 0:
		_, _ = fmt.Fprintln(w, "no "+tables[0].name)
	}

	for _, t := range tables {
		if len(t.rows) > 0 {
			_, _ = fmt.Fprintln(w, r.render(t))
		}
	}
	if more {
		_, _ = fmt.Fprintln(w, "(more entries exist: --limit 0 lists all)")
	}
	return nil
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printFields prints the fields of a value that are not empty, one per line, such as
// `contact.email  ana@example.com`. Lists of objects follow as tables, or one by one if they
// have too many columns.
func (r *document) printFields(w io.Writer, path string, set ast.SelectionSet, value any) {
	for _, f := range schema.Fields(set) {
		name, v := path+f.Alias, operations.At(value, f.Alias)
		rows, isList := v.([]any)
		table := listing{name, leaves(f.SelectionSet, ""), rows}
		table.columns = slices.DeleteFunc(table.columns, func(column string) bool {
			return !slices.ContainsFunc(rows,
				func(row any) bool { return r.cell(operations.At(row, column)) != "" })
		})

		switch {
		case f.SelectionSet == nil && r.cell(v) != "":
			_, _ = fmt.Fprintf(w, "%-26s %s\n", name, printable(r.cell(v)))
		case f.SelectionSet == nil || isList && len(rows) == 0:
		case !isList:
			r.printFields(w, name+".", f.SelectionSet, v)
		case len(table.columns) < 12:
			_, _ = fmt.Fprintf(w, "\n%s\n%s\n", name, r.render(table))
		default:
			for _, row := range rows {
				_, _ = fmt.Fprintln(w)
				r.printFields(w, name+".", f.SelectionSet, row)
			}
		}
	}
}

// leaves returns the paths of the fields below a selection that have no fields themselves.
func leaves(set ast.SelectionSet, path string) (paths []string) {
	for _, f := range schema.Fields(set) {
		if f.SelectionSet == nil {
			paths = append(paths, path+f.Alias)
		}
		paths = append(paths, leaves(f.SelectionSet, path+f.Alias+".")...)
	}
	return paths
}

// printable makes a visitor's text safe for a terminal. It replaces control characters,
// which could change the screen, and invisible characters, which could change the text
// direction.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, line)
}

// listing is a list in a result, with the paths of its columns.
type listing struct {
	name    string
	columns []string
	rows    []any
}

// tables returns the result if it is a list, or else its lists that have columns.
func (r *document) tables(value any, columns []string) (list []listing) {
	if rows, isList := value.([]any); isList {
		return []listing{{strings.Fields(r.op.Command.Name)[0], columns, rows}}
	}

	for _, path := range columns {
		field, column, _ := strings.Cut(path, ".")
		if len(list) == 0 || list[len(list)-1].name != field {
			rows, _ := operations.At(value, field).([]any)
			list = append(list, listing{name: field, rows: rows})
		}
		last := &list[len(list)-1]
		last.columns = append(last.columns, column)
	}
	return list
}

// render returns a list as a table that is not wider than the terminal.
func (r *document) render(l listing) string {
	t := table.NewWriter()
	t.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingRight: "  ", UnfinishedRow: "…"},
		Options: table.OptionsNoBordersAndSeparators,
	})
	width, _, _ := term.GetSize(int(os.Stdout.Fd())) // -1 for a file
	t.Style().Size.WidthMax = width
	t.SuppressTrailingSpaces()

	var header table.Row
	for _, column := range l.columns {
		name := flagName(column[strings.LastIndexByte(column, '.')+1:])
		header = append(header, strings.ToUpper(strings.ReplaceAll(name, "-", " ")))
	}
	t.AppendHeader(header)

	for _, item := range l.rows {
		var row table.Row
		for _, column := range l.columns {
			row = append(row, printable(r.cell(operations.At(item, column))))
		}
		t.AppendRow(row)
	}
	return t.Render()
}

// printCSV prints each table, with the paths of its columns as the header.
func (r *document) printCSV(w io.Writer, tables []listing) error {
	out := csv.NewWriter(w)
	for _, t := range tables {
		_ = out.Write(t.columns)
		for _, item := range t.rows {
			var row []string
			for _, column := range t.columns {
				row = append(row, export.Inert(r.cell(operations.At(item, column))))
			}
			_ = out.Write(row)
		}
	}
	out.Flush()
	return out.Error()
}

// cell returns the text of a value: a time in TIME_ZONE, in CSV with its offset, an
// amount with its currency, and a range without a price as "to be agreed".
func (r *document) cell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = r.cell(item)
		}
		return strings.Join(texts, ", ")

	case map[string]any:
		switch {
		case v["toBeAgreed"] == true:
			return "to be agreed"
		case v["currency"] != nil && (v["amount"] != nil || v["min"] != nil) && v["outcome"] == nil:
			var texts []string
			for _, name := range []string{"min", "max", "amount", "currency"} {
				if v[name] != nil {
					texts = append(texts, r.cell(v[name]))
				}
			}
			return strings.Join(texts, " ")
		}

	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			layout := time.DateTime
			if r.csv {
				layout = time.RFC3339
			}
			return at.In(r.zone).Format(layout)
		}
		return v
	}

	text, _ := json.Marshal(value) // a number, or any JSON
	return string(text)
}
