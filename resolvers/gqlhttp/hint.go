package gqlhttp

import (
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
)

// hint is what the schema's @cacheControl says of a whole operation.
type hint struct {
	cacheable bool
	maxAge    int // seconds
	private   bool
	rooted    bool // maxAge was set
}

// narrow applies one more hint.
func (h *hint) narrow(maxAge int, private bool) {
	if !h.rooted || maxAge < h.maxAge {
		h.maxAge, h.rooted = maxAge, true
	}
	h.private = h.private || private
}

// header returns the Cache-Control header of a successful answer.
func (h *hint) header() string {
	switch {
	case !h.cacheable:
		return "no-store"
	case h.private:
		return "private, max-age=" + strconv.Itoa(h.maxAge) + ", must-revalidate"
	default:
		return "public, max-age=" + strconv.Itoa(h.maxAge) + ", must-revalidate"
	}
}

// hintedFragment is a fragment whose hints were taken; once is enough.
type hintedFragment string

// hint takes the hints of a field and of everything below it.
func (a *planner) hint(field *ast.Field, root bool) {
	h := &a.plan.hint
	def := field.Definition
	if def.Directives.ForName("auth") != nil {
		h.cacheable = false
	}
	own := def.Directives.ForName("cacheControl")
	if own == nil {
		if t := a.schema.Types[def.Type.Name()]; t != nil {
			own = t.Directives.ForName("cacheControl")
		}
	}
	switch {
	case own != nil:
		maxAge, private := readHint(own)
		h.narrow(maxAge, private)
	case root:
		h.cacheable = false
	}
	a.hintsBelow(field.SelectionSet)
}

func (a *planner) hintsBelow(set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			a.hint(sel, false)
		case *ast.InlineFragment:
			a.hintsBelow(sel.SelectionSet)
		case *ast.FragmentSpread:
			if key := hintedFragment(sel.Name); !a.hinted[key] {
				a.hinted[key] = true
				a.hintsBelow(sel.Definition.SelectionSet)
			}
		}
	}
}

// readHint reads a @cacheControl; left out, maxAge is 0 and the scope public.
func readHint(d *ast.Directive) (maxAge int, private bool) {
	if arg := d.Arguments.ForName("maxAge"); arg != nil {
		maxAge, _ = strconv.Atoi(arg.Value.Raw) // the schema is valid: an Int
		maxAge = max(maxAge, 0)
	}
	if arg := d.Arguments.ForName("scope"); arg != nil {
		private = arg.Value.Raw == "PRIVATE"
	}
	return maxAge, private
}

// source says which locale's content a root field is made of.
type source struct {
	locale   string // fixed
	variable string // the variable that holds it
}

// newSource reads the source from a root field's @cacheControl; both fields empty
// where there is none.
func newSource(field *ast.Field) source {
	d := field.Definition.Directives.ForName("cacheControl")
	if d == nil {
		return source{}
	}
	if arg := d.Arguments.ForName("locale"); arg != nil {
		return source{locale: arg.Value.Raw}
	}
	arg := d.Arguments.ForName("localeArgument")
	if arg == nil {
		return source{}
	}
	name := arg.Value.Raw
	if given := field.Arguments.ForName(name); given != nil {
		if given.Value.Kind == ast.Variable {
			return source{variable: given.Value.Raw}
		}
		return source{locale: given.Value.Raw}
	}
	if def := field.Definition.Arguments.ForName(name); def != nil && def.DefaultValue != nil {
		return source{locale: def.DefaultValue.Raw}
	}
	return source{}
}

// resolve returns the locale, given the operation's checked variables.
func (s source) resolve(variables map[string]any) (string, bool) {
	if s.locale != "" {
		return s.locale, true
	}
	if s.variable == "" {
		return "", false
	}
	locale, ok := variables[s.variable].(string)
	return locale, ok
}
