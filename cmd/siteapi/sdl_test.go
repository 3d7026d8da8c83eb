package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// TestSDL reads the printed schema back: it has everything a client can ask for, and
// nothing of the REST routes.
func TestSDL(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"siteapi", "sdl"}, func(string) string { return "" }, &out); err != nil {
		t.Fatal(err)
	}
	printed, err := gqlparser.LoadSchema(&ast.Source{Name: "printed", Input: out.String()})
	if err != nil {
		t.Fatal(err)
	}
	for name, def := range schema.AST().Types {
		_, found := printed.Types[name]
		if hidden := name == "RestMethod" || name == "RestAnswer"; found == hidden {
			t.Errorf("%s: printed %v", name, found)
		}
		for _, f := range def.Fields {
			if found && printed.Types[name].Fields.ForName(f.Name) == nil {
				t.Errorf("%s.%s is not printed", name, f.Name)
			}
		}
	}
	if strings.Contains(out.String(), "@rest") {
		t.Error("@rest is printed")
	}
	if schema.AST().Directives["rest"] == nil || schema.AST().Types["RestMethod"] == nil {
		t.Error("printing has changed the schema itself")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestSDLReportsAWriterThatFails(t *testing.T) {
	t.Parallel()
	if err := printSDL(brokenWriter{}); err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("error %v", err)
	}
}
