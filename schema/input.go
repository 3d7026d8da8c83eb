package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
)

// InputChecker finds every invalid value of an operation's arguments at once, by the
// types and the @constraint directives of the schema. GraphQL's own coercion stops at
// the first, which leaves a person filling in a form with one error at a time.
type InputChecker struct {
	schema *ast.Schema
	inputs map[string]*inputRule              // by type name
	args   map[*ast.FieldDefinition][]argRule // of the root fields
}

// inputRule is what the values of one named type have to satisfy.
type inputRule struct {
	def    *ast.Definition
	fields []argRule
	byName map[string]int
}

// argRule is what one argument or input field has to satisfy.
type argRule struct {
	name       string
	typ        *ast.Type
	hasDefault bool
	bounds     *bounds
}

// NewInputChecker compiles the rules of a schema. It fails on a constraint that can't
// be understood.
func NewInputChecker(s *ast.Schema) (*InputChecker, error) {
	formats := NewFormats()
	c := &InputChecker{schema: s, inputs: map[string]*inputRule{}, args: map[*ast.FieldDefinition][]argRule{}}
	for name, def := range s.Types {
		rule := &inputRule{def: def, byName: map[string]int{}}
		if def.Kind == ast.InputObject {
			for _, f := range def.Fields {
				b, err := newBounds(f.Directives.ForName("constraint"), formats)
				if err != nil {
					return nil, fmt.Errorf("%s.%s: %w", name, f.Name, err)
				}
				rule.byName[f.Name] = len(rule.fields)
				rule.fields = append(rule.fields, argRule{f.Name, f.Type, f.DefaultValue != nil, b})
			}
		}
		c.inputs[name] = rule
	}
	for _, root := range []*ast.Definition{s.Query, s.Mutation} {
		if root == nil {
			continue
		}
		for _, f := range root.Fields {
			rules := make([]argRule, 0, len(f.Arguments))
			for _, a := range f.Arguments {
				b, err := newBounds(a.Directives.ForName("constraint"), formats)
				if err != nil {
					return nil, fmt.Errorf("%s.%s(%s): %w", root.Name, f.Name, a.Name, err)
				}
				rules = append(rules, argRule{a.Name, a.Type, a.DefaultValue != nil, b})
			}
			c.args[f] = rules
		}
	}
	return c, nil
}

// Check returns every invalid value in the arguments of an operation's root fields.
// Paths are relative to the argument named `input` where the field has only that one.
// The document need not have been validated.
func (c *InputChecker) Check(doc *ast.QueryDocument, op *ast.OperationDefinition, vars map[string]any) []FieldError {
	root := c.schema.Query
	if op.Operation == ast.Mutation {
		root = c.schema.Mutation
	}
	vars = withDefaults(op, vars)
	w := walker{c: c, at: make([]step, 0, 8)}
	c.checkSelections(&w, doc, root, op.SelectionSet, vars, 0)
	return w.found
}

// maxFragmentDepth stops at fragments that spread themselves in a document that was
// not validated.
const maxFragmentDepth = 20

func (c *InputChecker) checkSelections(
	w *walker, doc *ast.QueryDocument, root *ast.Definition, set ast.SelectionSet, vars map[string]any, depth int,
) {
	if root == nil || depth > maxFragmentDepth {
		return
	}
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if def := root.Fields.ForName(sel.Name); def != nil {
				c.checkField(w, def, sel, vars)
			}
		case *ast.InlineFragment:
			c.checkSelections(w, doc, root, sel.SelectionSet, vars, depth+1)
		case *ast.FragmentSpread:
			if f := doc.Fragments.ForName(sel.Name); f != nil {
				c.checkSelections(w, doc, root, f.SelectionSet, vars, depth+1)
			}
		}
	}
}

func (c *InputChecker) checkField(w *walker, def *ast.FieldDefinition, field *ast.Field, vars map[string]any) {
	rules := c.args[def]
	inputOnly := len(rules) == 1 && rules[0].name == "input"
	for _, rule := range rules {
		if w.full() {
			return
		}
		value, given := argument(field, rule.name, vars)
		if !given && rule.hasDefault {
			continue
		}
		w.hidden = inputOnly
		w.enter(step{name: rule.name})
		w.check(rule, value)
		w.leave()
	}
}

// unreadable stands for a literal that has no value, such as a number out of all range.
type unreadable struct{}

// argument returns the value of one argument with its variables filled in.
func argument(field *ast.Field, name string, vars map[string]any) (any, bool) {
	arg := field.Arguments.ForName(name)
	if arg == nil || arg.Value == nil {
		return nil, false
	}
	if arg.Value.Kind == ast.Variable {
		v, ok := vars[arg.Value.Raw]
		return v, ok
	}
	v, err := arg.Value.Value(vars)
	if err != nil {
		return unreadable{}, true
	}
	return v, true
}

func withDefaults(op *ast.OperationDefinition, vars map[string]any) map[string]any {
	var full map[string]any
	for _, def := range op.VariableDefinitions {
		if _, given := vars[def.Variable]; given || def.DefaultValue == nil {
			continue
		}
		if v, err := def.DefaultValue.Value(nil); err == nil {
			if full == nil {
				full = make(map[string]any, len(vars)+1)
				for k, v := range vars {
					full[k] = v
				}
			}
			full[def.Variable] = v
		}
	}
	if full != nil {
		return full
	}
	return vars
}

// step is one step on the way to a value: a name, or an item of a list.
type step struct {
	name  string // empty: an item
	index int
}

// walker goes through the values of one field's arguments.
type walker struct {
	c      *InputChecker
	at     []step // where it stands; text is made of it only where there is an error
	hidden bool   // the first step is the only argument, `input`, which paths leave out
	found  []FieldError
}

func (w *walker) enter(s step) { w.at = append(w.at, s) }
func (w *walker) leave()       { w.at = w.at[:len(w.at)-1] }

// path returns where the walker stands, as in contact.email or features[2].
func (w *walker) path() string {
	steps := w.at
	if w.hidden && len(steps) > 1 && steps[1].name != "" {
		steps = steps[1:]
	}
	var text strings.Builder
	for i, s := range steps {
		switch {
		case s.name == "":
			fmt.Fprintf(&text, "[%d]", s.index)
		case i > 0:
			text.WriteString("." + s.name)
		default:
			text.WriteString(s.name)
		}
	}
	return text.String()
}

// maxFieldErrors is how many invalid fields of one request are reported; the check stops there.
const maxFieldErrors = 20

// full reports whether there is no room for another invalid field.
func (w *walker) full() bool { return len(w.found) >= maxFieldErrors }

// fail notes what is wrong with the value the walker stands at.
func (w *walker) fail(format string, args ...any) {
	if w.full() {
		return
	}
	w.found = append(w.found, FieldError{Field: w.path(), Message: fmt.Sprintf(format, args...)})
}

// failAt notes what is wrong with a member of that value.
func (w *walker) failAt(name, format string, args ...any) {
	w.enter(step{name: name})
	w.fail(format, args...)
	w.leave()
}

func (w *walker) check(rule argRule, value any) {
	switch {
	case value == nil && rule.typ.NonNull:
		w.missing(rule.typ)
	case value == nil:
	case value == unreadable{}:
		w.fail("holds a value that can't be read, such as a number out of range")
	case !rule.typ.NonNull && rule.bounds.takesEmpty() && value == "":
		// An optional text that is empty counts as left out.
	default:
		w.value(rule.typ, rule.bounds, value)
	}
}

// missing reports what is required of a value that is not there: of an object the
// fields it would have to have, so that a person learns of all of them at once.
func (w *walker) missing(typ *ast.Type) {
	before := len(w.found)
	if rule := w.c.inputs[typ.NamedType]; typ.Elem == nil && rule != nil && rule.def.Kind == ast.InputObject {
		w.object(rule, map[string]any{})
	}
	if len(w.found) == before {
		w.fail("is required")
	}
}

func (w *walker) value(typ *ast.Type, b *bounds, value any) {
	if typ.Elem != nil {
		w.list(typ, b, value)
		return
	}
	rule := w.c.inputs[typ.NamedType]
	if rule == nil {
		return
	}
	switch rule.def.Kind {
	case ast.InputObject:
		w.object(rule, value)
	case ast.Enum:
		w.enum(rule.def, value)
	case ast.Scalar:
		w.scalar(typ.NamedType, b, value)
	}
}

func (w *walker) list(typ *ast.Type, b *bounds, value any) {
	items, ok := value.([]any)
	if !ok {
		items = []any{value} // a single value stands for a list of one
	}
	for i, item := range items {
		if w.full() {
			return
		}
		w.enter(step{index: i})
		switch {
		case item != nil:
			w.value(typ.Elem, b, item)
		case typ.Elem.NonNull:
			w.fail("may not be null")
		}
		w.leave()
	}
	if b != nil && b.maxDistinct > 0 && distinct(items) > b.maxDistinct {
		w.fail("may hold at most %d different items", b.maxDistinct)
	}
}

func distinct(items []any) int {
	seen := make(map[string]struct{}, len(items))
	for _, item := range items {
		if s, ok := item.(string); ok {
			seen[strings.TrimSpace(s)] = struct{}{}
		}
	}
	return len(seen)
}

func (w *walker) object(rule *inputRule, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		w.fail("must be an object")
		return
	}
	for _, f := range rule.fields {
		if w.full() {
			return
		}
		v, given := fields[f.name]
		if !given && f.hasDefault {
			continue
		}
		w.enter(step{name: f.name})
		w.check(f, v)
		w.order(f, fields)
		w.leave()
	}
	if w.full() {
		return
	}
	var unknown []string
	for name := range fields {
		if _, ok := rule.byName[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		w.failAt(printable(name), "is not a field of %s", rule.def.Name)
	}
}

// order checks a number that may not be above the one of a field beside it.
func (w *walker) order(f argRule, fields map[string]any) {
	if f.bounds == nil || f.bounds.notAbove == "" {
		return
	}
	low, ok1 := number(fields[f.name])
	high, ok2 := number(fields[f.bounds.notAbove])
	if ok1 && ok2 && low > high {
		w.fail("may not be above %q", f.bounds.notAbove)
	}
}

func (w *walker) enum(def *ast.Definition, value any) {
	s, ok := value.(string)
	if ok && def.EnumValues.ForName(s) != nil {
		return
	}
	names := make([]string, len(def.EnumValues))
	for i, v := range def.EnumValues {
		names[i] = v.Name
	}
	w.fail("must be one of %s", strings.Join(names, ", "))
}

func (w *walker) scalar(name string, b *bounds, value any) {
	switch name {
	case "String", "ID":
		s, ok := value.(string)
		if !ok {
			if _, isNumber := integer(value); name == "ID" && isNumber {
				return
			}
			w.fail("must be a string")
			return
		}
		w.text(b, s)
	case "Int":
		n, ok := integer(value)
		if !ok || n < math.MinInt32 || n > math.MaxInt32 {
			w.fail("must be a whole number of 32 bits")
			return
		}
		w.bounded(b, float64(n))
	case "Float":
		n, ok := number(value)
		if !ok {
			w.fail("must be a number")
			return
		}
		w.bounded(b, n)
	case "Boolean":
		if _, ok := value.(bool); !ok {
			w.fail("must be true or false")
		}
	default:
		if b != nil && b.notEmpty && empty(value) {
			w.fail("may not be empty")
		}
	}
}

func (w *walker) text(b *bounds, s string) {
	// A text without bounds is a hint, which is dropped where it is not usable.
	switch {
	case b == nil:
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		w.fail("may not hold control characters")
	default:
		if problem := b.text(s); problem != "" {
			w.fail("%s", problem)
		}
	}
}

func (w *walker) bounded(b *bounds, n float64) {
	if b != nil {
		if problem := b.number(n); problem != "" {
			w.fail("%s", problem)
		}
	}
}

// number returns a JSON or GraphQL number as a finite float.
func number(v any) (float64, bool) {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case int64:
		f = float64(v)
	case int:
		f = float64(v)
	case json.Number:
		parsed, err := v.Float64()
		if err != nil {
			return 0, false
		}
		f = parsed
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	default:
		return 0, false
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	default:
		return false
	}
}

// printable shortens a name that a stranger chose to what an error may repeat.
func printable(name string) string {
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "(unprintable)"
	}
	return name
}
