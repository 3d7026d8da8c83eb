package export

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/cmd/siteapi/internal/workbook"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

// leftOut names the fields of a lead that an export does not have.
var leftOut = []string{
	"contact.phoneLink",  // derived from the number
	"pdfUrl", "quoteUrl", // without a host: links has them with one
	"sentEstimate.toBeAgreed", // derived from the range
	"sameAddress", "sameSession", "audit",
}

// exportLeads returns the operation of an export.
func exportLeads(t *testing.T) Export {
	t.Helper()
	all, err := operations.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(op *operations.Operation) bool { return op.Name == "ExportLeads" })
	return Export{Operation: all[i]}
}

// Every field of a lead has a column, and every column a heading in each language.
func TestColumns(t *testing.T) {
	t.Parallel()
	e := exportLeads(t)
	columns := e.Operation.Command.Columns

	var paths []string
	var add func(def *ast.Definition, path string)
	add = func(def *ast.Definition, path string) {
		for _, f := range def.Fields {
			below := exec.AST().Types[f.Type.Name()]
			if below.Kind == ast.Object && f.Type.Elem == nil {
				add(below, path+f.Name+".")
				continue
			}
			paths = append(paths, path+f.Name)
		}
	}
	add(exec.AST().Types["Lead"], "")
	for _, path := range paths {
		if slices.Contains(columns, path) == slices.Contains(leftOut, path) {
			t.Errorf("schema/operations/leads_export.graphql needs the column %s, or leftOut does", path)
		}
	}

	for _, path := range columns {
		if !slices.Contains(paths, path) || schema.FieldAt(e.Operation.Root.SelectionSet, "edges.node."+path) == nil {
			t.Errorf("there is no field for the column %s, or it is not selected", path)
		}
		for _, language := range schema.Locales() {
			if wordsIn(language)[path] == "" {
				t.Errorf("words.json has no heading in %s for the column %s", language, path)
			}
		}
	}
}

// Every word is used, in each language.
func TestWords(t *testing.T) {
	t.Parallel()
	e := exportLeads(t)
	own := []string{"leads", "true", "false"}
	for _, language := range schema.Locales() {
		headings := map[string]string{}
		for name, text := range wordsIn(language) {
			field := schema.FieldAt(e.Operation.Root.SelectionSet, "edges.node."+name)
			if text == "" || field == nil && !slices.Contains(own, name) {
				t.Errorf("words.json: %s in %s is empty, or no field has this name", name, language)
			}
			if slices.Contains(e.Operation.Command.Columns, name) && headings[text] != "" {
				t.Errorf("words.json: in %s, %s and %s have the same heading", language, name, headings[text])
			}
			headings[text] = name
		}
	}

	var all map[string]map[schema.Locale]string
	if err := json.Unmarshal(words, &all); err != nil {
		t.Fatal(err)
	}
	for name, texts := range all {
		if len(texts) != len(schema.Locales()) {
			t.Errorf("words.json: %s has the languages %q", name, slices.Collect(maps.Keys(texts)))
		}
	}
}

// A cell is as the schema types its field, whatever its text looks like.
func TestCellOfWorkbook(t *testing.T) {
	t.Parallel()
	e := exportLeads(t)
	e.Zone = time.FixedZone("", 2*60*60)
	table := workbookTable{Export: e, words: wordsIn("en")}
	at := time.Date(2026, 12, 29, 23, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		path  string
		value any
		want  any
	}{
		{"submittedAt", "2026-12-29T23:30:00Z", at.In(e.Zone)},
		{"price.validUntil", "2026-12-29", workbook.Day(at.Truncate(24 * time.Hour))},
		{"price.validUntil", nil, nil},
		{"contact.company", "2026-12-29", "2026-12-29"},
		{"message", "2026-12-29T23:30:00Z", "2026-12-29T23:30:00Z"},
		{"contact.phone", "0721000111", "0721000111"},
		{"estimate.min", 1200.5, 1200.5},
		{"price.differs", true, "yes"},
		{"state", "IN_REVIEW", "in-review"},
		{"selections.features", []any{"blog", "seo"}, "blog, seo"},
	} {
		i := slices.IndexFunc(e.columns(), func(c column) bool { return c.path == tt.path })
		if got := table.cell(e.columns()[i], tt.value); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v is %#v, want %#v", tt.path, tt.value, got, tt.want)
		}
	}
}

// Texts of visitors begin no formula, whichever separator a spreadsheet uses, and telephone
// numbers are as they are stored.
func TestInert(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":             "",
		"Ana":          "Ana",
		"a+b@c.d":      "a+b@c.d",
		"web-app":      "web-app",
		"a = b":        "a = b",
		"=1+1":         "'=1+1",
		"-1":           "'-1",
		"@SUM(A1)":     "'@SUM(A1)",
		"==1":          "'==1",
		"＝1":           "'＝1",
		"  =1":         "  '=1",
		"\t=1":         "\t'=1",
		"\"=1":         "\"'=1",
		"\u00a0=1":     "\u00a0'=1",
		"a;=1":         "a;'=1",
		"a; \"=1":      "a; \"'=1",
		"a\r\n=1":      "a\r\n'=1",
		"a,@b":         "a,'@b",
		"a|+1":         "a|'+1",
		"Ș-a;-b;c-d;＠": "Ș-a;'-b;c-d;'＠",

		"0721000111":              "0721000111",
		"+40":                     "+40",
		"+40 (721) 000-111/2.3":   "+40 (721) 000-111/2.3",
		"+40721000111 int. 5":     "'+40721000111 int. 5",
		"+1;=1":                   "'+1;'=1",
		"+40\n=1":                 "'+40\n'=1",
		"=cmd|'/C 12345'!A0":      "'=cmd|'/C 12345'!A0",
		"+cmd|' /C calc'!12345":   "'+cmd|' /C calc'!12345",
		`[{"text":"a;=1"}]`:       `[{"text":"a;'=1"}]`,
		`[{"a":null,"text":"="}]`: `[{"a":null,"text":"="}]`,
	} {
		if got := Inert(cell); got != want {
			t.Errorf("Inert(%q) = %q, want %q", cell, got, want)
		}
	}
}

// All that a visitor typed is guarded.
func TestTyped(t *testing.T) {
	t.Parallel()
	e := exportLeads(t)
	table := csvTable{Export: e}
	for _, path := range e.Operation.Command.Columns {
		first, _, _ := strings.Cut(path, ".")
		typed := slices.Contains([]string{"contact", "message", "consents", "attribution", "firstAttribution", "sessionId"}, first)
		if table.isTyped(path) != typed {
			t.Errorf("whether a visitor typed %s: %t", path, !typed)
		}
	}
	for _, typed := range e.Operation.Command.Typed {
		if !slices.ContainsFunc(e.Operation.Command.Columns, func(path string) bool { return strings.HasPrefix(path, typed) }) {
			t.Errorf("there is no column %s", typed)
		}
	}
}
