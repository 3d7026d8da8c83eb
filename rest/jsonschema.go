package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// object is a JSON object that keeps the order of its members, so that the description
// reads well and is the same, byte by byte, at every start.
type object []member

type member struct {
	name  string
	value any
}

// The method with adds a member and returns the object. An empty value leaves it
// unchanged.
func (o object) with(name string, value any) object {
	text, isText := value.(string)
	members, isObject := value.(object)
	list, isList := value.([]any)

	if value == nil || isText && text == "" ||
		isObject && len(members) == 0 || isList && len(list) == 0 {
		return o
	}
	return append(o, member{name, value})
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}

		value, err := marshal(m.value)
		if err != nil {
			return nil, err
		}
		text = append(append(strconv.AppendQuote(text, m.name), ':'), value...) // names are plain ASCII
	}
	return append(text, '}'), nil
}

// marshal encodes with indentation. It does not escape < > &, which occur in the texts of
// the description.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return buf.Bytes(), err
}

// literal turns a value written in a document into JSON, keeping the order of its
// members.
func literal(v *ast.Value) any {
	switch v.Kind {
	case ast.ObjectValue:
		o := object{}
		for _, child := range v.Children {
			o = append(o, member{child.Name, literal(child.Value)})
		}
		return o

	case ast.ListValue:
		list := []any{}
		for _, child := range v.Children {
			list = append(list, literal(child.Value))
		}
		return list

	case ast.IntValue, ast.FloatValue:
		return json.Number(v.Raw)
	case ast.BooleanValue:
		return v.Raw == "true"
	case ast.NullValue:
		return nil
	default:
		return v.Raw
	}
}

// types translates GraphQL types into JSON Schema and collects the named ones.
type types struct {
	schema *ast.Schema
	named  map[string]object
}

func (t *types) components() object {
	o := object{}
	for _, name := range slices.Sorted(maps.Keys(t.named)) {
		o = append(o, member{name, t.named[name]})
	}
	return o
}

func ref(kind, name string) object { return object{{"$ref", "#/components/" + kind + "/" + name}} }

// orNull extends a schema so that it also allows null.
func orNull(o object, null bool) object {
	switch {
	case !null:
		return o
	case o[0].name == "$ref":
		return object{{"anyOf", []any{o, object{{"type", "null"}}}}}
	case o[0].name == "type":
		o[0].value = []any{o[0].value, "null"}
	}
	return o
}

// value returns the schema of an input or leaf type with its @constraint. It allows null
// if the type does and nulls is set; a query string cannot express null.
func (t *types) value(typ *ast.Type, constraint *ast.Directive, nulls bool) object {
	null := nulls && !typ.NonNull
	if typ.Elem != nil {
		return orNull(object{{"type", "array"}, {"items", t.value(typ.Elem, constraint, nulls)}}, null)
	}

	switch def := t.schema.Types[typ.NamedType]; def.Kind {
	case ast.InputObject:
		t.input(def)
		return orNull(ref("schemas", def.Name), null)
	case ast.Enum:
		t.enum(def)
		return orNull(ref("schemas", def.Name), null)

	default:
		o := scalar(typ.NamedType)
		if constraint != nil {
			o = bounded(o, constraint, typ.NonNull)
		}
		if len(o) == 0 {
			return o
		}
		return orNull(o, null)
	}
}

// enum adds an enum. JSON Schema has no place for descriptions of the values, so the text
// of the enum lists them.
func (t *types) enum(def *ast.Definition) {
	values, lines := []any{}, []string{oneLine(def.Description), ""}
	for _, v := range def.EnumValues {
		values = append(values, v.Name)
		lines = append(lines, "- `"+v.Name+"`: "+oneLine(v.Description))
	}

	t.named[def.Name] = object{
		{"type", "string"},
		{"description", strings.Join(lines, "\n")},
		{"enum", values},
	}
}

// input adds an input type. Unknown fields are allowed because they are ignored.
func (t *types) input(def *ast.Definition) {
	if _, known := t.named[def.Name]; known {
		return
	}
	t.named[def.Name] = nil // The type is in progress and may contain itself.

	properties, required := object{}, []any{}
	for _, f := range def.Fields {
		constraint := f.Directives.ForName("constraint")
		property := t.value(f.Type, constraint, true).
			with("description", describeBounds(f.Description, constraint))

		if f.DefaultValue != nil {
			property = append(property, member{"default", literal(f.DefaultValue)})
		} else if f.Type.NonNull {
			required = append(required, f.Name)
		}

		properties = append(properties, member{f.Name, property})
	}

	t.named[def.Name] = object{{"type", "object"}}.
		with("description", oneLine(def.Description)).
		with("required", required).
		with("properties", properties)
}

// selected returns the schema of the fields of an output type that a document selects.
// Its name is that of the type, prefixed with the operation if other fields of the type
// are selected elsewhere. Every selected field is present, and null if it has no value.
func (t *types) selected(operation string, typ *ast.Type, set ast.SelectionSet) object {
	if typ.Elem != nil {
		return orNull(object{
			{"type", "array"},
			{"items", t.selected(operation, typ.Elem, set)},
		}, !typ.NonNull)
	}
	if len(set) == 0 {
		return t.value(typ, nil, true)
	}

	properties, required := object{}, []any{}
	for _, f := range schema.Fields(set) {
		property := t.selected(operation, f.Definition.Type, f.SelectionSet).
			with("description", oneLine(f.Definition.Description))
		properties = append(properties, member{f.Alias, property})
		required = append(required, f.Alias)
	}

	o := object{{"type", "object"}}.
		with("description", oneLine(t.schema.Types[typ.NamedType].Description)).
		with("required", required).
		with("properties", properties)

	// A type has its own name, unless other fields of it are asked for elsewhere.
	name := typ.NamedType
	for known := t.named[name]; known != nil && fmt.Sprint(known) != fmt.Sprint(o); known = t.named[name] {
		name = operation + name
	}
	t.named[name] = o

	return orNull(ref("schemas", name), !typ.NonNull)
}

// scalar describes a leaf type. All other leaf types are custom scalars that may be
// anything.
func scalar(name string) object {
	return map[string]object{
		"Int":      {{"type", "integer"}, {"format", "int32"}},
		"Float":    {{"type", "number"}},
		"Boolean":  {{"type", "boolean"}},
		"DateTime": {{"type", "string"}, {"format", "date-time"}},
		"Base64":   {{"type", "string"}, {"contentEncoding", "base64"}},
		"String":   {{"type", "string"}},
		"ID":       {{"type", "string"}},
	}[name]
}

// bounded adds the bounds of a @constraint that JSON Schema can express.
func bounded(o object, d *ast.Directive, required bool) object {
	notEmpty := required
	for _, arg := range d.Arguments {
		switch arg.Name {
		case "maxLength":
			o = append(o, member{"maxLength", json.Number(arg.Value.Raw)})
		case "min":
			o = append(o, member{"minimum", json.Number(arg.Value.Raw)})
		case "max":
			o = append(o, member{"maximum", json.Number(arg.Value.Raw)})
		case "notEmpty":
			notEmpty = true
		case "format":
			o = append(o, format(arg.Value.Raw)...)
		}
	}

	switch {
	case !notEmpty:
	case len(o) == 0: // The type takes any JSON, and each bound concerns values of its own type.
		o = object{{"minProperties", 1}, {"minItems", 1}, {"minLength", 1}}
	case o[0].value == "string":
		o = append(o, member{"minLength", 1})
	}
	return o
}

// format translates a ConstraintFormat into JSON Schema.
func format(name string) object {
	return map[string]object{
		"EMAIL":      {{"format", "email"}},
		"CURRENCY":   {{"pattern", "^[A-Z]{3}$"}},
		"SLUG":       {{"pattern", "^[a-z0-9]+(?:[-_][a-z0-9]+)*$"}},
		"SESSION_ID": {{"pattern", "^[A-Za-z0-9._:-]{1,128}$"}},
	}[name]
}

// describeBounds adds the bounds of a @constraint that JSON Schema cannot express to a
// description.
func describeBounds(description string, d *ast.Directive) string {
	words := []string{oneLine(description)}
	if d != nil {
		if v := d.Arguments.ForName("notAbove"); v != nil {
			words = append(words, "May not be above `"+v.Value.Raw+"`.")
		}
		if v := d.Arguments.ForName("maxItems"); v != nil {
			words = append(words, fmt.Sprintf("At most %s items.", v.Value.Raw))
		}
		if v := d.Arguments.ForName("maxDistinctItems"); v != nil {
			words = append(words,
				fmt.Sprintf("At most %s different items; repeated ones count once.", v.Value.Raw))
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// oneLine removes the line breaks of a text in the schema.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
