package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// InputChecker finds the invalid values of an operation's arguments, all of them at once, by the types and the
// @constraint directives of the schema. GraphQL's own coercion stops at the first, which leaves a person who fills in
// a form with one error at a time.
type InputChecker struct {
	schema      *ast.Schema
	formats     *Formats
	constraints map[*ast.FieldDefinition]*constraint // of input fields
	arguments   map[*ast.ArgumentDefinition]*constraint
}

// NewInputChecker reads the constraints of a schema.
func NewInputChecker(s *ast.Schema) *InputChecker {
	c := &InputChecker{
		schema: s, formats: NewFormats(), constraints: map[*ast.FieldDefinition]*constraint{},
		arguments: map[*ast.ArgumentDefinition]*constraint{},
	}
	for _, def := range s.Types {
		for _, f := range def.Fields {
			c.constraints[f] = newConstraint(f.Directives)
			for _, a := range f.Arguments {
				c.arguments[a] = newConstraint(a.Directives)
			}
		}
	}
	return c
}

// Check returns the invalid values in the arguments of an operation's root fields, at most MaxFieldErrors. Paths are
// relative to the argument named `input` where the field has only that one. The document need not have been validated.
func (c *InputChecker) Check(doc *ast.QueryDocument, op *ast.OperationDefinition, vars map[string]any) []FieldError {
	root := c.schema.Query
	if op.Operation == ast.Mutation {
		root = c.schema.Mutation
	}
	check := &inputCheck{InputChecker: c, doc: doc, vars: withDefaults(op, vars)}
	check.selections(root, op.SelectionSet, 0)
	return check.found
}

// maxFragmentDepth stops at fragments that spread themselves in a document that was not validated.
const maxFragmentDepth = 20

// inputCheck is the check of one operation.
type inputCheck struct {
	*InputChecker
	doc   *ast.QueryDocument
	vars  map[string]any
	found []FieldError
}

// full reports whether no more invalid fields are looked for.
func (c *inputCheck) full() bool { return len(c.found) >= MaxFieldErrors }

func (c *inputCheck) add(at *place, e FieldError) {
	if e.Code != "" && !c.full() {
		e.Field = at.String()
		c.found = append(c.found, e)
	}
}

func (c *inputCheck) selections(root *ast.Definition, set ast.SelectionSet, depth int) {
	if root == nil || depth > maxFragmentDepth {
		return
	}
	for _, sel := range set {
		if c.full() {
			return
		}
		switch sel := sel.(type) {
		case *ast.Field:
			if def := root.Fields.ForName(sel.Name); def != nil {
				c.field(def, sel)
			}
		case *ast.InlineFragment:
			c.selections(root, sel.SelectionSet, depth+1)
		case *ast.FragmentSpread:
			if f := c.doc.Fragments.ForName(sel.Name); f != nil {
				c.selections(root, f.SelectionSet, depth+1)
			}
		}
	}
}

func (c *inputCheck) field(def *ast.FieldDefinition, field *ast.Field) {
	for _, arg := range def.Arguments {
		at := &place{name: arg.Name}
		at.hidden = arg.Name == "input" && len(def.Arguments) == 1
		value, given, err := c.argument(field, arg.Name)
		switch {
		case err != nil:
			c.add(at, FieldError{Code: FieldCodeUnreadable, Message: "has a value that cannot be read, such as a number out of range"})
		case given || arg.DefaultValue == nil:
			c.value(at, arg.Type, c.arguments[arg], value)
		}
	}
}

// argument returns the value of an argument with its variables filled in.
func (c *inputCheck) argument(field *ast.Field, name string) (value any, given bool, err error) {
	arg := field.Arguments.ForName(name)
	if arg == nil || arg.Value == nil {
		return nil, false, nil
	}
	if arg.Value.Kind == ast.Variable {
		value, given = c.vars[arg.Value.Raw]
		return value, given, nil
	}
	value, err = arg.Value.Value(c.vars)
	return value, true, err
}

// withDefaults adds the defaults of the variables that were not given.
func withDefaults(op *ast.OperationDefinition, vars map[string]any) map[string]any {
	full := vars
	for _, def := range op.VariableDefinitions {
		if _, given := full[def.Variable]; given || def.DefaultValue == nil {
			continue
		}
		if len(full) == len(vars) {
			full = make(map[string]any, len(vars)+1)
			for name, value := range vars {
				full[name] = value
			}
		}
		full[def.Variable], _ = def.DefaultValue.Value(nil)
	}
	return full
}

// value checks one value, which may be missing.
func (c *inputCheck) value(at *place, typ *ast.Type, con *constraint, value any) {
	def := c.schema.Types[typ.NamedType]
	switch text, isText := value.(string); {
	case value == nil && typ.NonNull && def != nil && def.Kind == ast.InputObject:
		c.missingObject(at, def)
	case value == nil && typ.NonNull:
		c.add(at, Required(""))
	case value == nil:
	case isText && con != nil && typ.Elem == nil && strings.TrimSpace(text) == "":
		switch {
		case typ.NonNull:
			c.add(at, Required(""))
		case con.notEmpty:
			c.add(at, FieldError{Code: FieldCodeEmpty, Message: "must not be empty"})
		}
	case typ.Elem != nil:
		c.list(at, typ, con, value)
	case def == nil:
	case def.Kind == ast.InputObject:
		c.object(at, def, value)
	case def.Kind == ast.Enum:
		c.enum(at, def, value)
	default:
		c.scalar(at, typ.NamedType, con, value)
	}
}

// missingObject reports the fields that a missing object would have to have, so that a person learns of all of them.
func (c *inputCheck) missingObject(at *place, def *ast.Definition) {
	before := len(c.found)
	c.object(at, def, map[string]any{})
	if len(c.found) == before {
		c.add(at, Required(""))
	}
}

func (c *inputCheck) object(at *place, def *ast.Definition, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		c.add(at, wrongType("object", "an object"))
		return
	}
	for _, f := range def.Fields {
		v, given := fields[f.Name]
		if c.full() || !given && f.DefaultValue != nil {
			continue
		}
		con, below := c.constraints[f], &place{parent: at, name: f.Name}
		c.value(below, f.Type, con, v)
		if con != nil && con.notAbove != "" {
			c.order(below, v, con.notAbove, fields[con.notAbove])
		}
	}
	var unknown []string
	for name := range fields {
		if def.Fields.ForName(name) == nil {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown[:min(len(unknown), MaxFieldErrors)] {
		c.add(&place{parent: at, name: printable(name)}, FieldError{
			Code: FieldCodeUnknownField, Message: "is not a field of " + def.Name,
		})
	}
}

// order checks a number that may not be above the one of the field beside it.
func (c *inputCheck) order(at *place, low any, name string, high any) {
	l, ok1 := number(low)
	h, ok2 := number(high)
	if ok1 && ok2 && l > h {
		c.add(at, FieldError{
			Code: FieldCodeAboveField, Params: map[string]any{"field": name}, Message: "must not be greater than " + name,
		})
	}
}

func (c *inputCheck) list(at *place, typ *ast.Type, con *constraint, value any) {
	items, ok := value.([]any)
	if !ok {
		items = []any{value} // a single value stands for a list of one
	}
	distinct := map[string]bool{}
	for i, item := range items {
		if c.full() {
			return
		}
		c.value(&place{parent: at, index: i}, typ.Elem, con, item)
		if s, ok := item.(string); ok && con != nil && len(distinct) <= con.maxDistinct {
			distinct[strings.TrimSpace(s)] = true
		}
	}
	if con != nil && con.maxDistinct > 0 && len(distinct) > con.maxDistinct {
		c.add(at, FieldError{
			Code: FieldCodeTooMany, Params: map[string]any{"max": con.maxDistinct},
			Message: fmt.Sprintf("must have at most %d different items", con.maxDistinct),
		})
	}
}

func (c *inputCheck) enum(at *place, def *ast.Definition, value any) {
	if s, ok := value.(string); ok && def.EnumValues.ForName(s) != nil {
		return
	}
	names := make([]string, len(def.EnumValues))
	for i, v := range def.EnumValues {
		names[i] = v.Name
	}
	c.add(at, NotAllowed("", names))
}

func (c *inputCheck) scalar(at *place, name string, con *constraint, value any) {
	switch name {
	case "String", "ID":
		s, ok := value.(string)
		if _, isNumber := integer(value); name == "ID" && isNumber {
			return
		}
		switch {
		case !ok:
			c.add(at, wrongType("string", "a string"))
		case con != nil: // a text without bounds is a hint, which is dropped where it is not usable
			c.add(at, con.text(s, c.formats))
		}
	case "Int":
		if n, ok := integer(value); !ok || n < math.MinInt32 || n > math.MaxInt32 {
			c.add(at, wrongType("integer", "a whole number of at most 32 bits"))
			return
		}
		fallthrough
	case "Float":
		n, ok := number(value)
		switch {
		case !ok:
			c.add(at, wrongType("number", "a number"))
		case con != nil:
			c.add(at, con.number(n))
		}
	case "Boolean":
		if _, ok := value.(bool); !ok {
			c.add(at, wrongType("boolean", "true or false"))
		}
	default:
		if con != nil && con.notEmpty && empty(value) {
			c.add(at, FieldError{Code: FieldCodeEmpty, Message: "must not be empty"})
		}
	}
}

func wrongType(name, words string) FieldError {
	return FieldError{Code: FieldCodeWrongType, Params: map[string]any{"type": name}, Message: "must be " + words}
}

// place is where a value stands in the arguments of a field.
type place struct {
	parent *place
	name   string // empty: an item of a list
	index  int
	hidden bool // the only argument, `input`, which paths leave out
}

// String returns a path such as contact.email or selections.features[2].
func (p *place) String() string {
	if p.name == "" {
		return fmt.Sprintf("%s[%d]", p.parent, p.index)
	}
	if p.parent == nil || p.parent.hidden {
		return p.name
	}
	return p.parent.String() + "." + p.name
}

// number returns a JSON or GraphQL number as a finite float.
func number(v any) (float64, bool) {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case int64:
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

// printable returns a name that a client chose, unless it is too long or too odd to repeat in an error.
func printable(name string) string {
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "(unprintable)"
	}
	return name
}
