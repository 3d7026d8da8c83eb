package graphqlhttp

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
	"siteapi/schema/request"
)

// settingsField is the root field for which the response has `"errors":[]` if its
// document is missing, as the contract requires.
const settingsField = "SiteSettings"

// operation is a valid operation with the properties that are known before it runs.
type operation struct {
	*ast.OperationDefinition

	rootFields  []string      // each name once
	settings    []string      // response keys of SiteSettings
	trusted     bool          // the document is a trusted one
	wrong       gqlerror.List // errors of values in the document
	notNull     []string      // variables that stand where null is not allowed
	cost        int
	introspects bool

	// A response is cacheable if each root field has @cacheControl. It is built from the
	// content of these locales.
	cacheable bool
	locales   []contentLocale
}

// contentLocale is a locale of content, as a value of the document if it has one.
type contentLocale struct {
	value    *ast.Value
	standard string // used without a value
}

// in returns the locale that variables select.
func (l contentLocale) in(variables map[string]any) string {
	if l.value != nil {
		// Value cannot fail: the value is an enum, or a variable that has been checked.
		if given, _ := l.value.Value(variables); given != nil {
			return fmt.Sprint(given)
		}
	}
	return l.standard
}

// newOperation analyzes a valid operation, including its fields with @skip or @include.
func newOperation(def *ast.OperationDefinition) *operation {
	op := &operation{OperationDefinition: def, cacheable: def.Operation == ast.Query}
	op.cost = cost(def.SelectionSet, false)
	for _, field := range schema.Fields(def.SelectionSet) {
		if field.Name != "__typename" {
			op.addRoot(field)
		}
	}
	op.cacheable = op.cacheable && len(op.locales) > 0
	if dependsOnEveryLocale(def.SelectionSet) {
		for _, locale := range schema.Locales() {
			op.locales = append(op.locales, contentLocale{standard: string(locale)})
		}
	}
	return op
}

func (op *operation) addRoot(field *ast.Field) {
	if !slices.Contains(op.rootFields, field.Definition.Name) {
		// The schema's name is stored instead of the document's, which would keep the
		// document in memory.
		op.rootFields = append(op.rootFields, field.Definition.Name)
	}
	if field.Name == settingsField {
		op.settings = append(op.settings, field.Alias)
	}
	op.introspects = op.introspects || introspects(field)

	hint := field.Definition.Directives.ForName("cacheControl")
	if hint == nil {
		op.cacheable = false
		return
	}

	var locale contentLocale
	if fixed := hint.Arguments.ForName("locale"); fixed != nil {
		locale.standard = fixed.Value.Raw
	}
	if argument := hint.Arguments.ForName("localeArgument"); argument != nil {
		name := argument.Value.Raw
		locale.value = field.Definition.Arguments.ForName(name).DefaultValue
		if given := field.Arguments.ForName(name); given != nil {
			locale.value = given.Value
		}
	}
	op.locales = append(op.locales, locale)
}

// dependsOnEveryLocale reports whether a selection has a field, at any depth, that depends
// on the content of every locale.
func dependsOnEveryLocale(set ast.SelectionSet) bool {
	return slices.ContainsFunc(schema.Fields(set), func(f *ast.Field) bool {
		hint := f.Definition.Directives.ForName("cacheControl")
		every := hint != nil && hint.Arguments.ForName("everyLocale") != nil
		return every || dependsOnEveryLocale(f.SelectionSet)
	})
}

// aliased reports whether a selection has an alias.
func aliased(set ast.SelectionSet) bool {
	return slices.ContainsFunc(schema.Fields(set), func(f *ast.Field) bool {
		return f.Alias != f.Name || aliased(f.SelectionSet)
	})
}

func introspects(field *ast.Field) bool { return field.Name == "__schema" || field.Name == "__type" }

// summary describes the operation for the access log. It contains only the names of
// trusted operations, since any other name may contain personal data.
func (op *operation) summary() request.Operation {
	summary := request.Operation{Type: string(op.Operation), RootFields: op.rootFields}
	if op.trusted {
		summary.Name = op.Name
	}
	return summary
}

// listFactor multiplies the cost of everything below a list.
const listFactor = 10

// cost sums up the weights of a selection. The weight of a field is its @cost in the
// schema, or else 1. Lists of introspection are short and count once.
func cost(set ast.SelectionSet, introspection bool) int {
	total := 0
	for _, field := range schema.Fields(set) {
		inside := introspection || introspects(field)
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
