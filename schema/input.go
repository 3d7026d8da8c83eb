package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// InputChecker finds all invalid values of an operation's arguments at once, by the types
// and the @constraint directives of the schema. GraphQL's own coercion stops at the first
// one, which would show a form's errors one at a time.
type InputChecker struct {
	schema      *ast.Schema
	constraints sync.Map // caches *constraint values by directive
}

// NewInputChecker returns a checker for a schema.
func NewInputChecker(s *ast.Schema) *InputChecker {
	return &InputChecker{schema: s}
}

// constraint returns the constraint of a field or argument, or nil if it has none.
func (c *InputChecker) constraint(list ast.DirectiveList) *constraint {
	for _, d := range list {
		if d.Name != "constraint" && d.Name != "hint" {
			continue
		}

		con, known := c.constraints.Load(d)
		if !known {
			con, _ = c.constraints.LoadOrStore(d, newConstraint(d))
		}
		return con.(*constraint)
	}
	return nil
}

// Check returns the invalid values in the arguments of the root fields of a validated
// operation, at most MaxFieldErrors. Unknown fields are invalid, unless ignoreUnknown is
// set, which removes them. Paths omit the argument's name if it is the only one and is
// named `input`.
//
// Check changes the variables in two ways: it adds defaults, and it removes invalid hints
// (@hint) from variables that are a whole argument. Such hints are not errors; the second
// result holds their paths.
func (c *InputChecker) Check(
	op *ast.OperationDefinition, vars map[string]any, ignoreUnknown bool,
) ([]FieldError, []string) {
	for _, def := range op.VariableDefinitions {
		if _, given := vars[def.Variable]; !given && def.DefaultValue != nil {
			vars[def.Variable], _ = def.DefaultValue.Value(nil) // cannot fail: the operation is valid
		}
	}

	check := inputCheck{InputChecker: c, op: op, vars: vars, ignoreUnknown: ignoreUnknown}
	for _, field := range Fields(op.SelectionSet) {
		for _, arg := range field.Definition.Arguments {
			check.path = check.path[:0]
			if arg.Name != "input" || len(field.Definition.Arguments) > 1 {
				check.path = append(check.path, arg.Name)
			}
			check.argument(field, arg)
		}
	}

	return check.invalid, check.dropped
}

// Fields returns the fields of a selection in a validated document, including the fields
// of fragments.
func Fields(set ast.SelectionSet) []*ast.Field {
	var fields []*ast.Field
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			fields = append(fields, s)
		case *ast.InlineFragment:
			fields = append(fields, Fields(s.SelectionSet)...)
		case *ast.FragmentSpread:
			fields = append(fields, Fields(s.Definition.SelectionSet)...)
		}
	}
	return fields
}

// FieldAt returns the selected field at a path below a selection, such as contact.email, or nil.
func FieldAt(set ast.SelectionSet, path string) *ast.Field {
	name, below, deeper := strings.Cut(path, ".")
	for _, f := range Fields(set) {
		switch {
		case f.Alias != name:
		case deeper:
			return FieldAt(f.SelectionSet, below)
		default:
			return f
		}
	}
	return nil
}

// inputCheck is the state of the check of one operation.
type inputCheck struct {
	*InputChecker
	op            *ast.OperationDefinition
	vars          map[string]any
	ignoreUnknown bool     // remove unknown fields
	dropHints     bool     // the argument being checked is a variable
	path          []string // names and indices of the value being checked
	invalid       []FieldError
	dropped       []string // paths of removed hints
}

// add records an error of the value being checked, or of the field below it that the
// error names.
func (c *inputCheck) add(e FieldError) {
	if e.Code != "" && len(c.invalid) < MaxFieldErrors {
		e.Field = cmp.Or(c.pathOf(e.Field), "input")
		c.invalid = append(c.invalid, e)
	}
}

// pathOf returns the path of the value being checked, or of a field below it, such as
// selections.features[0].
func (c *inputCheck) pathOf(below string) string {
	var path strings.Builder
	for _, element := range append(slices.Clip(c.path), below) {
		if path.Len() > 0 && element != "" && element[0] != '[' {
			path.WriteByte('.')
		}
		path.WriteString(element)
	}
	return path.String()
}

func (c *inputCheck) argument(field *ast.Field, arg *ast.ArgumentDefinition) {
	var value any
	required := arg.DefaultValue == nil
	if given := field.Arguments.ForName(arg.Name); given != nil && given.Value != nil {
		c.dropHints = given.Value.Kind == ast.Variable

		var err error
		if value, err = given.Value.Value(c.vars); err != nil {
			c.add(unreadable())
			return
		}

		// The default applies only if the argument is a variable that was omitted, not if
		// it is null.
		variable := c.op.VariableDefinitions.ForName(given.Value.Raw)
		_, sent := c.vars[given.Value.Raw]
		required = required || given.Value.Kind != ast.Variable || variable.Type.NonNull || sent
	}

	con := c.constraint(arg.Directives)
	if value != nil || required {
		c.value(arg.Type, con, value)
	}
	if con == nil {
		return
	}
	if other := field.Arguments.ForName(con.NotAbove); other != nil {
		high, _ := other.Value.Value(c.vars) // an error is that of the other argument
		c.order("", value, con.NotAbove, high)
	}
}

// value checks one value, which may be missing.
func (c *inputCheck) value(typ *ast.Type, con *constraint, value any) {
	def := c.schema.Types[typ.NamedType]
	text, isText := value.(string)
	blank := isText && con != nil && typ.Elem == nil && Clean(text) == ""

	switch {
	case len(c.invalid) == MaxFieldErrors:
		// Further errors are not reported.

	case value == nil && typ.NonNull && def != nil && def.Kind == ast.InputObject:
		before := len(c.invalid)
		c.object(def, map[string]any{}) // Reports all required fields of the missing object.
		if len(c.invalid) == before {
			c.add(Required(""))
		}

	case typ.NonNull && (value == nil || blank):
		c.add(Required(""))
	case blank && con.NotEmpty:
		c.add(Invalid("", FieldCodeEmpty, "must not be empty"))

	case value == nil, blank && (typ.NamedType == "String" || typ.NamedType == "ID"):
		// The value counts as omitted. An empty string is an error for the other types.
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

// below checks a field or an item, given its name or index. It reports whether the value
// is an invalid hint, which must be removed.
func (c *inputCheck) below(element string, typ *ast.Type, con *constraint, value any) (remove bool) {
	c.path = append(c.path, element)
	defer func() { c.path = c.path[:len(c.path)-1] }()

	invalid := len(c.invalid)
	c.value(typ, con, value)

	if c.dropHints && con != nil && con.hint &&
		len(c.invalid) > invalid && c.invalid[invalid].Code != FieldCodeUnknownField {
		c.invalid, remove = c.invalid[:invalid], true
		if len(c.dropped) < MaxFieldErrors {
			c.dropped = append(c.dropped, c.pathOf(""))
		}
	}
	return remove
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

		con := c.constraint(f.Directives)
		if c.below(f.Name, f.Type, con, v) {
			delete(fields, f.Name)
			known--
		}

		if con != nil && con.NotAbove != "" {
			c.order(f.Name, v, con.NotAbove, fields[con.NotAbove])
		}
	}

	if known < len(fields) {
		c.unknown(def, fields)
	}
}

// unknown removes or reports the fields that an input type does not have.
func (c *inputCheck) unknown(def *ast.Definition, fields map[string]any) {
	var names []string
	for _, f := range def.Fields {
		names = append(names, f.Name)
	}

	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case slices.Contains(names, name):
		case c.ignoreUnknown:
			delete(fields, name)
		case len(c.invalid) < MaxFieldErrors:
			c.add(UnknownField(name, names))
		}
	}
}

// order checks a field whose number or time must not exceed that of a sibling field.
func (c *inputCheck) order(name string, low any, other string, high any) {
	l, ok1 := rank(low)
	h, ok2 := rank(high)
	if ok1 && ok2 && l > h {
		c.add(bounded(name, FieldCodeAboveField, "field", other, "must not be greater than "+other))
	}
}

// rank returns a number by which numbers or times are ordered.
func rank(value any) (float64, bool) {
	if _, isText := value.(string); isText {
		at, err := graphql.UnmarshalTime(value)
		return float64(at.UnixMilli()), err == nil && !at.IsZero()
	}
	return number(value)
}

func (c *inputCheck) list(typ *ast.Type, con *constraint, value any) {
	items, ok := value.([]any)
	if !ok { // A single value stands for a list of one.
		c.value(typ.Elem, con, value)
		return
	}

	if con != nil && con.MaxItems > 0 && len(items) > con.MaxItems {
		c.add(tooMany(con.MaxItems, "items"))
		return
	}

	distinct := map[string]bool{}
	for i, item := range items {
		if c.below("["+strconv.Itoa(i)+"]", typ.Elem, con, item) {
			items[i] = nil
		}

		if s, ok := item.(string); ok && con != nil && len(distinct) <= con.MaxDistinctItems {
			distinct[strings.TrimSpace(s)] = true
		}
		if object, ok := item.(map[string]any); ok && con != nil && con.Unique != "" {
			s, _ := object[con.Unique].(string)
			if distinct[s] && s != "" {
				c.add(Invalid(fmt.Sprintf("[%d].%s", i, con.Unique), FieldCodeRepeated,
					"must not be repeated"))
			}
			distinct[s] = true
		}
	}

	if con != nil && con.MaxDistinctItems > 0 && len(distinct) > con.MaxDistinctItems {
		c.add(tooMany(con.MaxDistinctItems, "distinct items"))
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
		case con != nil:
			c.add(con.text(text))
		}

	case "Int", "Float":
		switch _, infinite := value.(json.Number); {
		case name == "Int" && (!isNumber || strings.ContainsAny(fmt.Sprint(value), ".eE") ||
			n < math.MinInt32 || n > math.MaxInt32):
			c.add(wrongType("integer", "a whole number of at most 32 bits"))
		case isNumber && con != nil:
			c.add(con.number(n))
		case isNumber:
		case infinite:
			c.add(unreadable())
		default:
			c.add(wrongType("number", "a number"))
		}

	case "DateTime":
		if _, err := graphql.UnmarshalTime(value); err != nil {
			c.add(Invalid("", FieldCodeUnreadable, "must be a time such as 2026-05-01T09:30:00Z"))
		}

	case "Boolean":
		if _, ok := value.(bool); !ok {
			c.add(wrongType("boolean", "true or false"))
		}

	default:
		object, isObject := value.(map[string]any)
		list, isList := value.([]any)
		if con != nil && con.NotEmpty && (isObject && len(object) == 0 || isList && len(list) == 0) {
			c.add(Invalid("", FieldCodeEmpty, "must not be empty"))
		}
	}
}

func tooMany(limit int, what string) FieldError {
	return bounded("", FieldCodeTooMany, "max", limit, fmt.Sprintf("must have at most %d %s", limit, what))
}

func wrongType(name, words string) FieldError {
	return bounded("", FieldCodeWrongType, "type", name, "must be "+words)
}

func unreadable() FieldError {
	return Invalid("", FieldCodeUnreadable, "has a value that cannot be read, such as a number out of range")
}

// printable returns a name chosen by a client, or a placeholder if the name is too long
// or has characters that must not appear in an error.
func printable(name string) string {
	odd := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' })
	if odd || name == "" || name[0] == '[' || len(name) > 64 {
		return "(unprintable)"
	}
	return name
}
