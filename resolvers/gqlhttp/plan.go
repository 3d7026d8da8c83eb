package gqlhttp

import (
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
)

// plan is what the door knows of a valid operation before it runs.
type plan struct {
	label       string // for metrics, see [Event]
	cost        int
	introspects bool
	hint        hint
	fromContent bool     // every source names a locale
	sources     []source // where the content comes from, one for each root field
	settings    []string // response keys of SiteSettings at the root
}

// public reports whether the answer is the same for everybody and made of nothing but
// content.
func (p *plan) public() bool { return p.hint.cacheable && !p.hint.private && p.fromContent }

// listFactor is how often what lies below a list counts.
const listFactor = 10

// newPlan looks at a valid operation. Fields that @skip or @include may leave out count.
func newPlan(s *ast.Schema, op *ast.OperationDefinition) *plan {
	p := &plan{hint: hint{cacheable: op.Operation == ast.Query}}
	a := &planner{schema: s, plan: p, costs: map[string]int{}, hinted: map[hintedFragment]bool{}}
	for field := range rootFields(op.SelectionSet) {
		a.root(field)
	}
	p.cost = a.cost(op.SelectionSet, false)
	if len(p.sources) == 0 {
		p.hint.cacheable = false // nothing but __typename
	}
	p.fromContent = !slices.Contains(p.sources, source{})
	return p
}

// rootFields yields the fields of a selection through its fragments. Fragments can't
// form a cycle in a valid document; the limit on fields bounds how many there are.
func rootFields(set ast.SelectionSet) func(yield func(*ast.Field) bool) {
	var visit func(set ast.SelectionSet, yield func(*ast.Field) bool) bool
	visit = func(set ast.SelectionSet, yield func(*ast.Field) bool) bool {
		for _, sel := range set {
			more := true
			switch sel := sel.(type) {
			case *ast.Field:
				more = yield(sel)
			case *ast.InlineFragment:
				more = visit(sel.SelectionSet, yield)
			case *ast.FragmentSpread:
				more = visit(sel.Definition.SelectionSet, yield)
			}
			if !more {
				return false
			}
		}
		return true
	}
	return func(yield func(*ast.Field) bool) { visit(set, yield) }
}

// planner walks an operation.
type planner struct {
	schema *ast.Schema
	plan   *plan
	costs  map[string]int // of fragments, by name; inside introspection "__" and the name
	hinted map[hintedFragment]bool
}

func (a *planner) root(field *ast.Field) {
	p := a.plan
	switch field.Name {
	case "__typename":
		return
	case "__schema", "__type":
		p.introspects = true
		p.hint.cacheable = false
		p.mark("introspection")
		return
	case settingsField:
		p.settings = append(p.settings, field.Alias)
	}
	p.mark(field.Name)
	p.sources = append(p.sources, newSource(field))
	a.hint(field, true)
}

// mark notes the name of a root field.
func (p *plan) mark(name string) {
	if p.label != "" && p.label != name {
		name = "multiple"
	}
	p.label = name
}

// cost adds up the weights of a selection.
func (a *planner) cost(set ast.SelectionSet, introspection bool) int {
	total := 0
	for _, sel := range set {
		one := 0
		switch sel := sel.(type) {
		case *ast.Field:
			inside := introspection || sel.Name == "__schema" || sel.Name == "__type"
			one = a.cost(sel.SelectionSet, inside)
			// The schema's own lists are short and never change: they count once.
			if sel.Definition.Type.Elem != nil && !inside {
				one *= listFactor
			}
			one += weight(sel.Definition)
		case *ast.InlineFragment:
			one = a.cost(sel.SelectionSet, introspection)
		case *ast.FragmentSpread:
			key := sel.Name
			if introspection {
				key = "__" + key
			}
			known, ok := a.costs[key]
			if !ok {
				known = a.cost(sel.Definition.SelectionSet, introspection)
				a.costs[key] = known
			}
			one = known
		}
		total = min(total+min(one, unlimited), unlimited)
	}
	return total
}

// weight returns what @cost says of a field.
func weight(def *ast.FieldDefinition) int {
	if d := def.Directives.ForName("cost"); d != nil {
		if n, err := strconv.Atoi(d.Arguments.ForName("weight").Value.Raw); err == nil && n >= 0 {
			return n
		}
	}
	return 1
}
