package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// print prints the answers of an operation: as JSON, as CSV, as tables of the columns, or as
// lines of a name and a value.
func (r *document) print(w io.Writer, values []json.RawMessage, more bool) error {
	if r.json {
		if r.repeats() {
			return printJSON(w, values)
		}
		return printJSON(w, values[0])
	}

	for i, raw := range values {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return err
		}
		if r.csv {
			if err := r.printCSV(w, value); err != nil {
				return err
			}
			continue
		}

		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		r.printText(w, raw, value)
	}
	if more && !r.csv {
		_, _ = fmt.Fprintln(w, "(there are more: --limit 0 lists all)")
	}
	return nil
}

// printText prints lists as tables, and other values as lines.
func (r *document) printText(w io.Writer, raw json.RawMessage, value any) {
	object, isObject := value.(map[string]any)
	switch {
	case len(r.op.Command.Columns) == 0 && isObject:
		printFields(w, raw)
	case len(r.op.Command.Columns) == 0:
		_, _ = fmt.Fprintln(w, r.cellText(nil, value))
	case isObject:
		r.printRest(w, object)
	}

	for _, t := range r.tables(value) {
		if len(t.rows) == 0 && !isObject {
			_, _ = fmt.Fprintln(w, "no "+t.name)
		}
		if len(t.rows) == 0 {
			continue
		}

		header := make(table.Row, len(t.columns))
		for i, c := range t.columns {
			header[i] = strings.ToUpper(strings.ReplaceAll(flagName(c[strings.LastIndexByte(c, '.')+1:]), "-", " "))
		}
		lines := newTable(header)
		for _, row := range t.rows {
			cells := make(table.Row, len(row))
			for i, cell := range row {
				cells[i] = printable(cell)
			}
			lines.AppendRow(cells)
		}
		_, _ = fmt.Fprintln(w, lines.Render())
	}
}

// printRest prints the fields of an object that are no tables, in the order of the document.
func (r *document) printRest(w io.Writer, object map[string]any) {
	for _, f := range schema.Fields(r.op.Root.SelectionSet) {
		isTable := slices.ContainsFunc(r.op.Command.Columns, func(path string) bool {
			return strings.HasPrefix(path, f.Alias+".")
		})
		if !isTable {
			printFields(w, map[string]any{f.Alias: object[f.Alias]})
		}
	}
}

// printCSV prints each table with the paths of its columns.
func (r *document) printCSV(w io.Writer, value any) error {
	out := csv.NewWriter(w)
	for _, t := range r.tables(value) {
		_ = out.Write(t.columns)
		for _, row := range t.rows {
			for i, cell := range row {
				row[i] = leads.Inert(cell)
			}
			_ = out.Write(row)
		}
	}
	out.Flush()
	return out.Error()
}

// columns are the cells of a list.
type columns struct {
	name    string
	columns []string
	rows    [][]string
}

// tables returns the columns of a list, or those of each list within an object.
func (r *document) tables(value any) []columns {
	rows, isList := value.([]any)
	if isList {
		name := strings.Fields(r.op.Command.Name)[0]
		return []columns{r.table(name, r.op.Command.Columns, rows, item(r.op.Root.SelectionSet))}
	}

	var list []columns
	object, _ := value.(map[string]any)
	for _, f := range schema.Fields(r.op.Root.SelectionSet) {
		var paths []string
		for _, path := range r.op.Command.Columns {
			if below, ok := strings.CutPrefix(path, f.Alias+"."); ok {
				paths = append(paths, below)
			}
		}
		if rows, _ := object[f.Alias].([]any); paths != nil {
			list = append(list, r.table(f.Alias, paths, rows, f.SelectionSet))
		}
	}
	return list
}

// item returns the selection of an item: of a connection that of its nodes.
func item(set ast.SelectionSet) ast.SelectionSet {
	for _, name := range []string{"edges", "node"} {
		if f := fieldOf(set, name); f != nil {
			set = f.SelectionSet
		}
	}
	return set
}

func fieldOf(set ast.SelectionSet, name string) *ast.Field {
	fields := schema.Fields(set)
	i := slices.IndexFunc(fields, func(f *ast.Field) bool { return f.Alias == name })
	if i < 0 {
		return nil
	}
	return fields[i]
}

func (r *document) table(name string, paths []string, items []any, set ast.SelectionSet) columns {
	t := columns{name: name, columns: paths}

	for _, item := range items {
		row := make([]string, len(paths))
		for i, path := range paths {
			value, below, field := item, set, (*ast.Field)(nil)
			for part := range strings.SplitSeq(path, ".") {
				object, _ := value.(map[string]any)
				value = object[part]
				if field = fieldOf(below, part); field != nil {
					below = field.SelectionSet
				}
			}
			row[i] = r.cellText(field, value)
		}

		t.rows = append(t.rows, row)
	}
	return t
}

// cellText returns a value as a cell shows it: an enum as a word, a time in TIME_ZONE, the
// members of an object one after the other, and of an estimate without a price that.
func (r *document) cellText(field *ast.Field, value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = r.cellText(field, item)
		}
		return strings.Join(texts, ", ")

	case map[string]any:
		if field == nil || len(field.SelectionSet) == 0 {
			text, _ := json.Marshal(v) // any JSON
			return string(text)
		}
		if v["toBeAgreed"] == true {
			return "to be agreed"
		}

		var texts []string
		for _, f := range schema.Fields(field.SelectionSet) {
			if f.Name != "toBeAgreed" {
				texts = append(texts, r.cellText(f, v[f.Alias]))
			}
		}
		return strings.Join(texts, " ")

	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		return r.textOf(field, v)
	default:
		return fmt.Sprint(v)
	}
}

// textOf returns a text, of an enum the word that is typed for it.
func (r *document) textOf(field *ast.Field, s string) string {
	if field == nil {
		return s
	}
	typ := r.op.Schema.Types[field.Definition.Type.Name()]
	if at, err := time.Parse(time.RFC3339, s); typ.Name == "DateTime" && err == nil {
		return at.In(r.zone).Format(time.DateTime)
	}
	if typ.Kind == ast.Enum {
		return word(s)
	}
	return s
}

// notEmpty reports whether there is a value at a path in an answer, or none if a ! precedes the
// path. It is false without a path.
func notEmpty(raw json.RawMessage, path string) bool {
	if path == "" {
		return false
	}
	if below, empty := strings.CutPrefix(path, "!"); empty {
		return !notEmpty(raw, below)
	}

	var value any
	_ = json.Unmarshal(raw, &value)
	for part := range strings.SplitSeq(path, ".") {
		object, _ := value.(map[string]any)
		value = object[part]
	}
	list, isList := value.([]any)
	return value != nil && value != false && value != 0.0 && value != "" && (!isList || len(list) > 0)
}
