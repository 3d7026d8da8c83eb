package export

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema/operations"
)

// csvTable is a CSV file with values as the API has them, for programs.
type csvTable struct {
	Export
	out     *csv.Writer
	columns []column
}

// CSV begins a CSV file, whose columns are named by their paths.
func (e Export) CSV(w io.Writer) (Table, error) {
	t := &csvTable{e, csv.NewWriter(w), e.columns()}
	return t, t.out.Write(e.Operation.Command.Columns)
}

// Write implements [Table].
func (t *csvTable) Write(entry any) error {
	row := make([]string, len(t.columns))
	for i, c := range t.columns {
		row[i] = t.cell(c.field, operations.At(entry, c.path))
		if t.isTyped(c.path) {
			row[i] = Inert(row[i])
		}
	}
	return t.out.Write(row)
}

// Close implements [Table].
func (t *csvTable) Close() error {
	t.out.Flush()
	return t.out.Error()
}

// isTyped reports whether a visitor typed the text of a column.
func (t *csvTable) isTyped(path string) bool {
	return slices.ContainsFunc(t.Operation.Command.Typed, func(typed string) bool {
		return path == typed || strings.HasPrefix(path, typed+".")
	})
}

// cell returns the text of a value: a time with the offset of its zone, texts in a list joined
// by semicolons, and a list of objects as JSON.
func (t *csvTable) cell(field *ast.Field, value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		if at, isTime := t.time(field, v); isTime {
			return at.Format("2006-01-02T15:04:05.000Z07:00")
		}
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		if len(v) == 0 {
			return ""
		}
		if field.SelectionSet == nil {
			texts := make([]string, len(v))
			for i, item := range v {
				texts[i], _ = item.(string)
			}
			return strings.Join(texts, ";")
		}
	}

	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // it was JSON
	return strings.TrimSuffix(text.String(), "\n")
}

// formula matches text that a spreadsheet may read as the beginning of a formula: at the
// beginning of a cell, and after a character that may separate cells instead of the
// comma. East Asian versions also accept the full-width forms of the signs.
var formula = regexp.MustCompile("(^|[,;|\t\r\n])([ \u00a0\"]*)([-=+@\uff1d\uff0b\uff0d\uff20])")

// telephone matches a number with a leading +, of which a spreadsheet computes at most a sum.
var telephone = regexp.MustCompile(`^\+[\d ()./-]+$`)

// Inert inserts ' before each possible beginning of a formula, except in a telephone number:
// programs would take it for a part of the number.
func Inert(cell string) string {
	if !strings.ContainsAny(cell, "-=+@\uff1d\uff0b\uff0d\uff20") || telephone.MatchString(cell) {
		return cell
	}
	return formula.ReplaceAllString(cell, "$1$2'$3")
}
