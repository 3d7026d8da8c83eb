package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
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
	constraints map[*ast.Directive]*constraint
}

// NewInputChecker reads the constraints of a schema.
func NewInputChecker(s *ast.Schema) *InputChecker {
	c := &InputChecker{schema: s, formats: NewFormats(), constraints: map[*ast.Directive]*constraint{}}
	read := func(list ast.DirectiveList) {
		if d := list.ForName("constraint"); d != nil {
			c.constraints[d] = newConstraint(d)
		}
	}
	for _, def := range s.Types {
		for _, f := range def.Fields {
			read(f.Directives)
			for _, a := range f.Arguments {
				read(a.Directives)
			}
		}
	}
	return c
}

// constraint returns the constraint of a field or argument, nil if it has none.
func (c *InputChecker) constraint(list ast.DirectiveList) *constraint {
	return c.constraints[list.ForName("constraint")]
}

// Check returns the invalid values in the arguments of an operation's root fields, at most MaxFieldErrors. Paths leave
// out the argument's name if it is the only one and named `input`. The document need not have been validated.
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

func (c *inputCheck) add(at ast.Path, e FieldError) {
	if e.Code != "" && !c.full() {
		e.Field = cmp.Or(at.String(), "input")
		c.found = append(c.found, e)
	}
}

// below returns the path of a field or an item.
func below(at ast.Path, element ast.PathElement) ast.Path { return append(slices.Clip(at), element) }

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
		at := ast.Path{ast.PathName(arg.Name)}
		if arg.Name == "input" && len(def.Arguments) == 1 {
			at = nil
		}
		var value any
		if given := field.Arguments.ForName(arg.Name); given != nil && given.Value != nil {
			var err error
			if value, err = given.Value.Value(c.vars); err != nil {
				c.add(at, FieldError{Code: FieldCodeUnreadable, Message: "has a value that cannot be read, such as a number out of range"})
				continue
			}
		}
		if value != nil || arg.DefaultValue == nil {
			c.value(at, arg.Type, c.constraint(arg.Directives), value)
		}
	}
}

// withDefaults adds the defaults of the variables that were not given.
func withDefaults(op *ast.OperationDefinition, vars map[string]any) map[string]any {
	for _, def := range op.VariableDefinitions {
		if _, given := vars[def.Variable]; given || def.DefaultValue == nil {
			continue
		}
		vars = maps.Clone(vars)
		if vars == nil {
			vars = map[string]any{}
		}
		vars[def.Variable], _ = def.DefaultValue.Value(nil)
	}
	return vars
}

// value checks one value, which may be missing.
func (c *inputCheck) value(at ast.Path, typ *ast.Type, con *constraint, value any) {
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
func (c *inputCheck) missingObject(at ast.Path, def *ast.Definition) {
	before := len(c.found)
	c.object(at, def, map[string]any{})
	if len(c.found) == before {
		c.add(at, Required(""))
	}
}

func (c *inputCheck) object(at ast.Path, def *ast.Definition, value any) {
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
		con, path := c.constraint(f.Directives), below(at, ast.PathName(f.Name))
		c.value(path, f.Type, con, v)
		if con != nil && con.notAbove != "" {
			c.order(path, v, con.notAbove, fields[con.notAbove])
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
		c.add(below(at, ast.PathName(printable(name))), FieldError{
			Code: FieldCodeUnknownField, Message: "is not a field of " + def.Name,
		})
	}
}

// order checks a number that may not be above the one of the field beside it.
func (c *inputCheck) order(at ast.Path, low any, name string, high any) {
	l, ok1 := number(low)
	h, ok2 := number(high)
	if ok1 && ok2 && l > h {
		c.add(at, FieldError{
			Code: FieldCodeAboveField, Params: map[string]any{"field": name}, Message: "must not be greater than " + name,
		})
	}
}

func (c *inputCheck) list(at ast.Path, typ *ast.Type, con *constraint, value any) {
	items, ok := value.([]any)
	if !ok {
		// A single value stands for a list of one; gqlparser has made a typed slice of it.
		if slice := reflect.ValueOf(value); slice.Kind() == reflect.Slice && slice.Len() == 1 {
			value = slice.Index(0).Interface()
		}
		items = []any{value}
	}
	distinct := map[string]bool{}
	for i, item := range items {
		if c.full() {
			return
		}
		place := at
		if ok {
			place = below(at, ast.PathIndex(i))
		}
		c.value(place, typ.Elem, con, item)
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

func (c *inputCheck) enum(at ast.Path, def *ast.Definition, value any) {
	if s, ok := value.(string); ok && def.EnumValues.ForName(s) != nil {
		return
	}
	names := make([]string, len(def.EnumValues))
	for i, v := range def.EnumValues {
		names[i] = v.Name
	}
	c.add(at, NotAllowed("", names))
}

func (c *inputCheck) scalar(at ast.Path, name string, con *constraint, value any) {
	switch name {
	case "String", "ID":
		s, ok := value.(string)
		_, isNumber := number(value)
		switch {
		case name == "ID" && isNumber:
		case !ok:
			c.add(at, wrongType("string", "a string"))
		case con != nil: // a text without bounds is a hint, which is dropped where it is not usable
			c.add(at, con.text(s, c.formats))
		}
	case "Int":
		if n, ok := number(value); !ok || n != math.Trunc(n) || n < math.MinInt32 || n > math.MaxInt32 {
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
		object, isObject := value.(map[string]any)
		list, isList := value.([]any)
		if con != nil && con.notEmpty && (isObject && len(object) == 0 || isList && len(list) == 0) {
			c.add(at, FieldError{Code: FieldCodeEmpty, Message: "must not be empty"})
		}
	}
}

func wrongType(name, words string) FieldError {
	return FieldError{Code: FieldCodeWrongType, Params: map[string]any{"type": name}, Message: "must be " + words}
}

// number returns a JSON or GraphQL number as a finite float.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case int64:
		return float64(v), true
	case json.Number:
		f, err := v.Float64() // infinity is an error
		return f, err == nil
	}
	return 0, false
}

// printable returns a name that a client chose, unless it is too long or too odd to repeat in an error.
func printable(name string) string {
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "(unprintable)"
	}
	return name
}
