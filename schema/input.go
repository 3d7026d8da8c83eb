package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
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
	constraints map[*ast.Directive]*constraint
}

// NewInputChecker reads the constraints of a schema.
func NewInputChecker(s *ast.Schema) *InputChecker {
	c := &InputChecker{schema: s, formats: NewFormats(), constraints: map[*ast.Directive]*constraint{}}
	read := func(list ast.DirectiveList) {
		for _, name := range []string{"constraint", "hint"} {
			if d := list.ForName(name); d != nil {
				c.constraints[d] = newConstraint(d)
			}
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
	for _, d := range list {
		if con := c.constraints[d]; con != nil {
			return con
		}
	}
	return nil
}

// Check returns the invalid values in the arguments of the root fields of a validated operation, at most MaxFieldErrors.
// Paths leave out the argument's name if it is the only one and named `input`. Two things change in the variables:
// defaults are added, and hints (@hint) of a wrong type, which are no errors, are removed; their paths are returned.
func (c *InputChecker) Check(op *ast.OperationDefinition, vars map[string]any) (invalid []FieldError, dropped []string) {
	for _, def := range op.VariableDefinitions {
		if _, given := vars[def.Variable]; !given && def.DefaultValue != nil {
			vars[def.Variable], _ = def.DefaultValue.Value(nil) // readable, as the operation is valid
		}
	}
	check := inputCheck{InputChecker: c, op: op, vars: vars}
	for field := range RootFields(op.SelectionSet) {
		check.arguments(field)
	}
	return check.invalid, check.dropped
}

// RootFields are the fields of a validated operation's selection, those in fragments included.
func RootFields(set ast.SelectionSet) iter.Seq[*ast.Field] {
	return func(yield func(*ast.Field) bool) { eachField(set, yield) }
}

func eachField(set ast.SelectionSet, yield func(*ast.Field) bool) bool {
	for _, selection := range set {
		more := true
		switch s := selection.(type) {
		case *ast.Field:
			more = yield(s)
		case *ast.InlineFragment:
			more = eachField(s.SelectionSet, yield)
		case *ast.FragmentSpread:
			more = eachField(s.Definition.SelectionSet, yield)
		}
		if !more {
			return false
		}
	}
	return true
}

// inputCheck is the check of one operation.
type inputCheck struct {
	*InputChecker
	op      *ast.OperationDefinition
	vars    map[string]any
	path    []step // to the value that is being checked
	invalid []FieldError
	dropped []string
}

// step leads from a value to one below it.
type step struct {
	field string // empty: an item of a list
	index int
}

// at returns the path of the value that is being checked.
func (c *inputCheck) at() string {
	var path strings.Builder
	for i, s := range c.path {
		switch {
		case s.field == "":
			fmt.Fprintf(&path, "[%d]", s.index)
		case i > 0:
			path.WriteString("." + s.field)
		default:
			path.WriteString(s.field)
		}
	}
	return cmp.Or(path.String(), "input")
}

func (c *inputCheck) enter(s step) { c.path = append(c.path, s) }
func (c *inputCheck) leave()       { c.path = c.path[:len(c.path)-1] }

// full reports whether no more invalid fields are looked for.
func (c *inputCheck) full() bool { return len(c.invalid) >= MaxFieldErrors }

func (c *inputCheck) add(e FieldError) {
	if e.Code != "" && !c.full() {
		e.Field = c.at()
		c.invalid = append(c.invalid, e)
	}
}

func (c *inputCheck) arguments(field *ast.Field) {
	for _, arg := range field.Definition.Arguments {
		c.path = c.path[:0]
		if arg.Name != "input" || len(field.Definition.Arguments) > 1 {
			c.enter(step{field: arg.Name})
		}
		var value any
		required := arg.DefaultValue == nil
		if given := field.Arguments.ForName(arg.Name); given != nil && given.Value != nil {
			var err error
			if value, err = given.Value.Value(c.vars); err != nil {
				c.add(unreadable())
				continue
			}
			variable := c.op.VariableDefinitions.ForName(given.Value.Raw)
			required = required || given.Value.Kind == ast.Variable && variable.Type.NonNull
		}
		if value != nil || required {
			c.value(arg.Type, c.constraint(arg.Directives), value)
		}
	}
}

// value checks one value, which may be missing.
func (c *inputCheck) value(typ *ast.Type, con *constraint, value any) {
	def := c.schema.Types[typ.NamedType]
	switch text, isText := value.(string); {
	case c.full():
	case value == nil && typ.NonNull && def != nil && def.Kind == ast.InputObject:
		c.missingObject(def)
	case value == nil && typ.NonNull:
		c.add(Required(""))
	case value == nil:
	case isText && con != nil && typ.Elem == nil && strings.TrimSpace(text) == "":
		switch {
		case typ.NonNull:
			c.add(Required(""))
		case con.notEmpty:
			c.add(FieldError{Code: FieldCodeEmpty, Message: "must not be empty"})
		}
	case typ.Elem != nil:
		c.list(typ, con, value)
	case def == nil:
	case def.Kind == ast.InputObject:
		c.object(def, value)
	case def.Kind == ast.Enum:
		c.enum(def, value)
	default:
		c.scalar(typ.NamedType, con, value)
	}
}

// missingObject reports the fields that a missing object would have to have, so that a person learns of all of them.
func (c *inputCheck) missingObject(def *ast.Definition) {
	before := len(c.invalid)
	c.object(def, map[string]any{})
	if len(c.invalid) == before {
		c.add(Required(""))
	}
}

func (c *inputCheck) object(def *ast.Definition, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		c.add(wrongType("object", "an object"))
		return
	}
	known := 0
	for _, f := range def.Fields {
		v, given := fields[f.Name]
		if given {
			known++
		} else if f.DefaultValue != nil {
			continue
		}
		con, before := c.constraint(f.Directives), len(c.invalid)
		c.enter(step{field: f.Name})
		c.value(f.Type, con, v)
		if con != nil && con.notAbove != "" {
			c.order(v, con.notAbove, fields[con.notAbove])
		}
		if c.dropHint(con, before) {
			delete(fields, f.Name)
		}
		c.leave()
	}
	if known == len(fields) {
		return
	}
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(name string) bool { return def.Fields.ForName(name) != nil })
	for _, name := range unknown[:min(len(unknown), MaxFieldErrors)] {
		c.enter(step{field: printable(name)})
		c.add(FieldError{Code: FieldCodeUnknownField, Message: "is not a field of " + def.Name})
		c.leave()
	}
}

// dropHint reports whether a value is a hint of a wrong type, which is noted in place of its errors since the given number.
func (c *inputCheck) dropHint(con *constraint, before int) bool {
	if con == nil || !con.hint || len(c.invalid) == before || c.invalid[before].Code == FieldCodeUnknownField {
		return false
	}
	c.invalid = c.invalid[:before]
	if len(c.dropped) < MaxFieldErrors {
		c.dropped = append(c.dropped, c.at())
	}
	return true
}

// order checks a number that may not be above the one of the field beside it.
func (c *inputCheck) order(low any, name string, high any) {
	l, ok1 := number(low)
	h, ok2 := number(high)
	if ok1 && ok2 && l > h {
		c.add(FieldError{
			Code: FieldCodeAboveField, Params: map[string]any{"field": name}, Message: "must not be greater than " + name,
		})
	}
}

func (c *inputCheck) list(typ *ast.Type, con *constraint, value any) {
	items, ok := value.([]any)
	if !ok { // a single value stands for a list of one
		c.value(typ.Elem, con, value)
		return
	}
	distinct := map[string]bool{}
	for i, item := range items {
		before := len(c.invalid)
		c.enter(step{index: i})
		c.value(typ.Elem, con, item)
		if c.dropHint(con, before) {
			items[i] = nil
		}
		c.leave()
		if s, ok := item.(string); ok && con != nil && len(distinct) <= con.maxDistinct {
			distinct[strings.TrimSpace(s)] = true
		}
	}
	if con != nil && con.maxDistinct > 0 && len(distinct) > con.maxDistinct {
		c.add(FieldError{
			Code: FieldCodeTooMany, Params: map[string]any{"max": con.maxDistinct},
			Message: fmt.Sprintf("must have at most %d different items", con.maxDistinct),
		})
	}
}

func (c *inputCheck) enum(def *ast.Definition, value any) {
	if s, ok := value.(string); ok && def.EnumValues.ForName(s) != nil {
		return
	}
	names := make([]string, len(def.EnumValues))
	for i, v := range def.EnumValues {
		names[i] = v.Name
	}
	c.add(NotAllowed("", names))
}

func (c *inputCheck) scalar(name string, con *constraint, value any) {
	text, isText := value.(string)
	n, isNumber := number(value)
	switch name {
	case "String", "ID":
		switch {
		case name == "ID" && isNumber:
		case !isText:
			c.add(wrongType("string", "a string"))
		case con != nil: // a text without bounds is a hint, which is dropped where it is not usable
			c.add(con.text(text, c.formats))
		}
	case "Int":
		if !isNumber || n != math.Trunc(n) || n < math.MinInt32 || n > math.MaxInt32 {
			c.add(wrongType("integer", "a whole number of at most 32 bits"))
			return
		}
		fallthrough
	case "Float":
		switch _, infinite := value.(json.Number); {
		case isNumber && con != nil:
			c.add(con.number(n))
		case isNumber:
		case infinite:
			c.add(unreadable())
		default:
			c.add(wrongType("number", "a number"))
		}
	case "Boolean":
		if _, ok := value.(bool); !ok {
			c.add(wrongType("boolean", "true or false"))
		}
	default:
		object, isObject := value.(map[string]any)
		list, isList := value.([]any)
		if con != nil && con.notEmpty && (isObject && len(object) == 0 || isList && len(list) == 0) {
			c.add(FieldError{Code: FieldCodeEmpty, Message: "must not be empty"})
		}
	}
}

func wrongType(name, words string) FieldError {
	return FieldError{Code: FieldCodeWrongType, Params: map[string]any{"type": name}, Message: "must be " + words}
}

func unreadable() FieldError {
	return FieldError{Code: FieldCodeUnreadable, Message: "has a value that cannot be read, such as a number out of range"}
}

// number returns a JSON or GraphQL number as a finite float.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true // out of a literal, which is finite
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
