package manuals

import (
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

// The file that the inbox saves of a person has everything that `leads person` shows.
func TestPersonFile(t *testing.T) {
	t.Parallel()
	text := apptest.File(t, "cmd/siteapi/internal/pages/inbox/operations.graphql")
	doc, err := gqlparser.LoadQueryWithRules(exec.AST(), text, rules.NewDefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	var saved []string
	addLeaves(doc.Operations.ForName("PersonFile").SelectionSet, "", &saved)
	addLeaves(doc.Operations.ForName("LeadFile").SelectionSet, "", &saved)

	all, loadErr := operations.All()
	if loadErr != nil {
		t.Fatal(loadErr)
	}
	var shown []string
	for _, op := range all {
		if op.Name == "ShowPerson" {
			addLeaves(op.SelectionSet, "", &shown)
		}
	}
	for _, path := range shown {
		if !slices.Contains(saved, strings.Replace(path, "person.leads.", "lead.", 1)) && !slices.Contains(saved, path) {
			t.Errorf("PersonFile and LeadFile of the inbox leave out %s", path)
		}
	}
	if len(shown) < 100 {
		t.Errorf("leads person shows only %q", shown)
	}
}

// addLeaves adds the paths of the fields below a selection that have no fields themselves.
func addLeaves(set ast.SelectionSet, path string, to *[]string) {
	for _, f := range schema.Fields(set) {
		if f.SelectionSet == nil {
			*to = append(*to, path+f.Alias)
		}
		addLeaves(f.SelectionSet, path+f.Alias+".", to)
	}
}
