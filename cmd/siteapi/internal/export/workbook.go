package export

import (
	_ "embed" // the words
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/workbook"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

// words has the headings of columns by path, the names of the fields in lists that need one,
// and a few words more.
//
//go:embed words.json
var words []byte

// workbookTable is a workbook, for people.
type workbookTable struct {
	Export
	out     *workbook.Writer
	columns []column
	words   map[string]string
}

// Workbook begins a workbook with headings in a language.
func (e Export) Workbook(w io.Writer, language schema.Locale) (Table, error) {
	t := &workbookTable{Export: e, columns: e.columns(), words: wordsIn(language)}
	headings := make([]string, len(t.columns))
	for i, c := range t.columns {
		headings[i] = t.words[c.path]
	}

	var err error
	t.out, err = workbook.New(w, t.words["leads"], headings)
	return t, err
}

// Language returns the language of a name, or an error that lists all of them.
func Language(name string) (schema.Locale, *schema.Error) {
	language, known := schema.ParseLocale(name)
	if !known {
		return "", schema.BadInput(schema.Invalid("language", schema.FieldCodeNotAllowed,
			fmt.Sprintf("must be one of %q", schema.Locales())))
	}
	return language, nil
}

// wordsIn returns the words of a language.
func wordsIn(language schema.Locale) map[string]string {
	all := map[string]map[schema.Locale]string{}
	if err := json.Unmarshal(words, &all); err != nil {
		panic(err) // the file is part of the program
	}
	list := make(map[string]string, len(all))
	for name, texts := range all {
		list[name] = texts[language]
	}
	return list
}

// Write implements [Table].
func (t *workbookTable) Write(entry any) error {
	row := make([]any, len(t.columns))
	for i, c := range t.columns {
		row[i] = t.cell(c, operations.At(entry, c.path))
	}
	return t.out.Write(row)
}

// cell returns the value of a column as a spreadsheet knows it: a number, a time, a day or a
// text.
func (t *workbookTable) cell(c column, value any) any {
	switch v := value.(type) {
	case nil, float64:
		return v
	case string:
		if at, isTime := t.time(c.field, v); isTime {
			return at
		}
		if c.field.Definition.Type.NamedType == "Date" {
			if day, err := time.Parse(time.DateOnly, v); err == nil {
				return workbook.Day(day)
			}
		}
	}
	return t.text(c.path, c.field, value)
}

// Close implements [Table].
func (t *workbookTable) Close() error { return t.out.Close() }

// text returns a value in words: enums as commands spell them, texts in a list joined by
// commas, and each object of a list on a line of its own.
func (t *workbookTable) text(path string, field *ast.Field, value any) string {
	switch v := value.(type) {
	case string:
		if at, isTime := t.time(field, v); isTime {
			return at.Format("2006-01-02 15:04")
		}
		if exec.AST().Types[field.Definition.Type.Name()].Kind == ast.Enum {
			return strings.ToLower(strings.ReplaceAll(v, "_", "-"))
		}
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return t.words[strconv.FormatBool(v)]
	case []any:
		separator := ", "
		if field.SelectionSet != nil {
			separator = "\n"
		}
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = t.text(path, field, item)
		}
		return strings.Join(texts, separator)
	}

	var texts []string
	for _, f := range schema.Fields(field.SelectionSet) {
		below := path + "." + f.Alias
		text := ""
		if v := operations.At(value, f.Alias); v != nil {
			text = t.text(below, f, v)
		}
		if name := t.words[below]; text != "" && name != "" {
			text = name + ": " + text
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " · ")
}
