package command

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/term"

	"siteapi/resolvers/leads"
	"siteapi/schema"
)

func decode(response json.RawMessage) (value any) {
	_ = json.Unmarshal(response, &value) // a response is valid JSON
	return value
}

// at returns the value at a path of fields, such as contact.email, or nil.
func at(value any, path string) any {
	for field := range strings.SplitSeq(path, ".") {
		object, _ := value.(map[string]any)
		value = object[field]
	}
	return value
}

// print prints the result of an operation as JSON, as CSV, as tables of the columns, or
// as lines with a name and a value.
func (r *document) print(w io.Writer, response json.RawMessage, more bool) error {
	value := decode(response)
	tables := r.tables(value)
	var fields map[string]json.RawMessage // fields by name, as JSON in its original order
	isObject := json.Unmarshal(response, &fields) == nil
	switch {
	case r.json:
		return printJSON(w, response)
	case r.csv:
		return r.printCSV(w, tables)
	case isObject:
		for _, f := range schema.Fields(r.op.Root.SelectionSet) {
			if !slices.ContainsFunc(tables, func(t listing) bool { return t.name == f.Alias }) {
				printFields(w, map[string]any{f.Alias: fields[f.Alias]})
			}
		}
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

// printFields prints the non-empty JSON fields of a value, one per line, such as
// `contact.email  ana@example.com`.
func printFields(out io.Writer, v any) {
	data, _ := json.Marshal(v) // never fails for decoded JSON
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
func (r *document) tables(value any) (list []listing) {
	if rows, isList := value.([]any); isList {
		return []listing{{strings.Fields(r.op.Command.Name)[0], r.op.Command.Columns, rows}}
	}

	for _, path := range r.op.Command.Columns {
		field, column, _ := strings.Cut(path, ".")
		if len(list) == 0 || list[len(list)-1].name != field {
			rows, _ := at(value, field).([]any)
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
			row = append(row, printable(r.cell(at(item, column))))
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
				row = append(row, leads.Inert(r.cell(at(item, column))))
			}
			_ = out.Write(row)
		}
	}
	out.Flush()
	return out.Error()
}

// cell returns the text of a value: a time in TIME_ZONE, in CSV with its offset, an amount with its currency, and
// a range without a price as "to be agreed".
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
		case v["currency"] != nil:
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
