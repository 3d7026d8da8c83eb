package graphqlhttp

import (
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// settingsField is the root field that is answered with `"errors":[]` if its document is
// missing, as the contract asks.
const settingsField = "SiteSettings"

// operation is a valid operation with the properties that are known before it runs.
type operation struct {
	*ast.OperationDefinition

	rootFields  []string // each name once
	settings    []string // response keys of SiteSettings
	trusted     bool     // The document is among the trusted ones.
	cost        int
	introspects bool
	cache       cachePolicy

	// locales has, for each root field, the value that names the locale of the content
	// that the field is made of; nil if it is not known.
	locales []*ast.Value
}

// cachePolicy combines the @cacheControl of everything that an operation asks for.
type cachePolicy struct {
	cacheable bool
	private   bool
	maxAge    int // seconds; -1: nothing has set it
}

func (p cachePolicy) header() string {
	scope := "public"
	switch {
	case !p.cacheable:
		return "no-store"
	case p.private:
		scope = "private"
	}
	return scope + ", max-age=" + strconv.Itoa(max(p.maxAge, 0)) + ", must-revalidate"
}

// newOperation analyses a valid operation, including its fields with @skip or @include.
func newOperation(s *ast.Schema, def *ast.OperationDefinition) *operation {
	op := &operation{
		OperationDefinition: def,
		cache:               cachePolicy{cacheable: def.Operation == ast.Query, maxAge: -1},
	}
	op.visit(s, def.SelectionSet, true)
	op.cost = cost(def.SelectionSet, false)

	if len(op.locales) == 0 {
		op.cache.cacheable = false // it asks for __typename only
	}
	return op
}

// summary describes the operation for the access log. It has the names of trusted
// operations only: any other may hold personal data.
func (op *operation) summary() schema.Operation {
	summary := schema.Operation{Type: string(op.Operation), RootFields: op.rootFields}
	if op.trusted {
		summary.Name = op.Name
	}
	return summary
}

// visit collects the root fields and narrows the cache policy by every field.
func (op *operation) visit(s *ast.Schema, set ast.SelectionSet, root bool) {
	for _, field := range schema.Fields(set) {
		hint := cacheControl(s, field)
		if root && field.Name != "__typename" {
			op.addRoot(field, hint)
		}

		op.cache.narrow(hint)
		if field.Definition.Directives.ForName("auth") != nil {
			op.cache.cacheable = false
		}

		op.visit(s, field.SelectionSet, false)
	}
}

func (op *operation) addRoot(field *ast.Field, hint *ast.Directive) {
	if !slices.Contains(op.rootFields, field.Definition.Name) {
		// Unlike the name in the document, this one keeps no document in memory.
		op.rootFields = append(op.rootFields, field.Definition.Name)
	}

	if field.Name == settingsField {
		op.settings = append(op.settings, field.Alias)
	}

	op.introspects = op.introspects || field.Name == "__schema" || field.Name == "__type"
	if hint == nil {
		op.cache.cacheable = false
	}

	op.locales = append(op.locales, localeOf(field))
}

// cacheControl returns the directive of a field, or else that of its type.
func cacheControl(s *ast.Schema, field *ast.Field) *ast.Directive {
	if d := field.Definition.Directives.ForName("cacheControl"); d != nil {
		return d
	}
	if t := s.Types[field.Definition.Type.Name()]; t != nil {
		return t.Directives.ForName("cacheControl")
	}
	return nil
}

func (p *cachePolicy) narrow(hint *ast.Directive) {
	if hint == nil {
		return
	}

	maxAge := 0
	if arg := hint.Arguments.ForName("maxAge"); arg != nil {
		maxAge, _ = strconv.Atoi(arg.Value.Raw) // the schema is valid: an Int
	}
	if p.maxAge < 0 || maxAge < p.maxAge {
		p.maxAge = max(maxAge, 0)
	}

	if arg := hint.Arguments.ForName("scope"); arg != nil && arg.Value.Raw == "PRIVATE" {
		p.private = true
	}
}

// listFactor multiplies the cost of everything below a list.
const listFactor = 10

// cost adds up the weights of a selection. The weight of a field is its @cost in the
// schema, or else 1. Lists of introspection are short and count once.
func cost(set ast.SelectionSet, introspection bool) int {
	total := 0
	for _, field := range schema.Fields(set) {
		inside := introspection || field.Name == "__schema" || field.Name == "__type"
		below := cost(field.SelectionSet, inside)
		if field.Definition.Type.Elem != nil && !inside {
			below *= listFactor
		}

		weight := 1
		if d := field.Definition.Directives.ForName("cost"); d != nil {
			weight, _ = strconv.Atoi(d.Arguments.ForName("weight").Value.Raw) // the schema is valid: an Int
		}

		total += weight + below
	}
	return min(total, farTooMany)
}

// localeOf returns the value that names the locale of the content that a root field is
// made of, according to its @cacheControl.
func localeOf(field *ast.Field) *ast.Value {
	d := field.Definition.Directives.ForName("cacheControl")
	if d == nil {
		return nil
	}
	if arg := d.Arguments.ForName("locale"); arg != nil {
		return arg.Value
	}

	arg := d.Arguments.ForName("localeArgument")
	if arg == nil {
		return nil
	}

	if given := field.Arguments.ForName(arg.Value.Raw); given != nil {
		return given.Value
	}
	return field.Definition.Arguments.ForName(arg.Value.Raw).DefaultValue
}
