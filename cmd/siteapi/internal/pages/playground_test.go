package pages

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"siteapi/schema/exec"
)

// TestOperations checks that the example operations cover the schema and have the tokens
// that their fields require.
func TestOperations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("playground/operations.js")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, root := range []*ast.Definition{exec.AST().Query, exec.AST().Mutation} {
		for _, f := range root.Fields {
			auth := f.Directives.ForName("auth")
			operators := auth != nil &&
				auth.Arguments.ForName("token").Value.Raw == "ADMIN" // not served on the public address of the playground
			missing[f.Name] = !operators && !strings.HasPrefix(f.Name, "__")
		}
	}
	for _, example := range regexp.MustCompile("(?s)query: `(.*?)`,(.*?)\n  },").FindAllStringSubmatch(string(text), -1) {
		doc, err := gqlparser.LoadQueryWithRules(exec.AST(), example[1], rules.NewDefaultRules())
		if err != nil {
			t.Errorf("%s: %v", example[1], err)
			continue
		}
		field := doc.Operations[0].SelectionSet[0].(*ast.Field)
		missing[field.Name] = false
		want := ""
		if auth := field.Definition.Directives.ForName("auth"); auth != nil {
			want = `token: "` + strings.ToLower(auth.Arguments.ForName("token").Value.Raw) + `"`
		}
		if !strings.Contains(example[2], want) || want == "" && strings.Contains(example[2], "token:") {
			t.Errorf("%s should have %q and has %s", field.Name, want, example[2])
		}
		for _, v := range doc.Operations[0].VariableDefinitions {
			if v.Type.NonNull && v.DefaultValue == nil && !strings.Contains(example[2], v.Variable+": ") {
				t.Errorf("%s has no value for $%s", field.Name, v.Variable)
			}
		}
	}
	for name, isMissing := range missing {
		if isMissing {
			t.Errorf("operations.js has no example for %s", name)
		}
	}
}
