package resolvers_test

import (
	"slices"
	"strings"
	"testing"

	"siteapi/resolvers"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

// Each root field names what it uses, and no document needs a running service without a
// route to it.
func TestUses(t *testing.T) {
	t.Parallel()
	s := exec.AST()
	for _, root := range []string{s.Query.Name, s.Mutation.Name, s.Subscription.Name} {
		for _, field := range s.Types[root].Fields {
			if !strings.HasPrefix(field.Name, "__") && resolvers.Uses(field.Name) == nil {
				t.Errorf("uses.go lacks the root field %s", field.Name)
			}
		}
	}

	list, err := operations.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range list {
		onService := slices.Contains(resolvers.Uses(op.Root.Name), resolvers.Service)
		if local := op.Command != nil || op.Tool != nil && op.Tool.Audience == operations.Operator; local && onService && op.Rest == nil {
			t.Errorf("%s has a command or tool, but uses.go says that %s needs a running service", op.Name, op.Root.Name)
		}
	}
}
