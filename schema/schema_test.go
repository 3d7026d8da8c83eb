package schema_test

import (
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema/exec"
)

// TestEverythingIsDescribed checks that the playground can explain each type, field,
// argument and value to a developer.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()

	want := func(description, what string) {
		if strings.TrimSpace(description) == "" {
			t.Errorf("%s has no description", what)
		}
	}

	args := func(list ast.ArgumentDefinitionList, of string) {
		for _, a := range list {
			want(a.Description, of+"("+a.Name+":)")
		}
	}

	for _, def := range exec.AST().Types {
		if def.BuiltIn {
			continue
		}

		want(def.Description, def.Name)
		for _, f := range def.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				want(f.Description, def.Name+"."+f.Name)
				args(f.Arguments, def.Name+"."+f.Name)
			}
		}

		for _, v := range def.EnumValues {
			want(v.Description, def.Name+"."+v.Name)
		}
	}

	for _, d := range exec.AST().Directives {
		if d.Position != nil && d.Position.Src.BuiltIn {
			continue
		}

		want(d.Description, "@"+d.Name)
		args(d.Arguments, "@"+d.Name)
	}
}
