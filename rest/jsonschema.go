package rest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// types translates GraphQL types into JSON Schema and collects the named ones.
type types struct {
	schema *ast.Schema
	named  map[string]object
	built  map[string]string // name of a component → what was selected of it
}

// newTypes returns a translator that has met no type yet.
func newTypes(s *ast.Schema) *types {
	return &types{schema: s, named: map[string]object{}, built: map[string]string{}}
}

// components returns the named schemas by name.
func (t *types) components() object {
	names := make([]string, 0, len(t.named))
	for name := range t.named {
		names = append(names, name)
	}
	slices.Sort(names)
	o := object{}
	for _, name := range names {
		o = append(o, member{name, t.named[name]})
	}
	return o
}

// ref refers to a component.
func ref(kind, name string) object {
	return object{{"$ref", "#/components/" + kind + "/" + name}}
}

// value is the schema of an input or leaf type. A null is allowed where the type says
// so and nulls can be written at all, which they can't in a query string.
func (t *types) value(typ *ast.Type, bounds *ast.Directive, nulls bool) object {
	null := nulls && !typ.NonNull
	if typ.Elem != nil {
		return object{{"type", orNull("array", null)}, {"items", t.value(typ.Elem, bounds, nulls)}}
	}
	def := t.schema.Types[typ.NamedType]
	switch def.Kind {
	case ast.InputObject, ast.Enum:
		if def.Kind == ast.Enum {
			t.enum(def)
		} else {
			t.input(def)
		}
		if null {
			return object{{"anyOf", []any{ref("schemas", def.Name), object{{"type", "null"}}}}}
		}
		return ref("schemas", def.Name)
	default:
		o := bounded(scalar(typ.NamedType, null), bounds)
		if bounds != nil && (typ.NonNull || isTrue(bounds, "notEmpty")) && isText(o) && o.get("pattern") == nil {
			o = append(o, member{"minLength", 1})
		}
		return o
	}
}

// enum adds an enum. Its values are described in the text, as JSON Schema has no place for that.
func (t *types) enum(def *ast.Definition) {
	if _, known := t.named[def.Name]; known {
		return
	}
	values, lines := []any{}, []string{def.Description, ""}
	for _, v := range def.EnumValues {
		values = append(values, v.Name)
		lines = append(lines, "- `"+v.Name+"`: "+oneLine(v.Description))
	}
	t.named[def.Name] = object{{"type", "string"}, {"description", strings.Join(lines, "\n")}, {"enum", values}}
}

// input adds an input type. Other fields than those named are allowed, because they are
// ignored.
func (t *types) input(def *ast.Definition) {
	if _, known := t.named[def.Name]; known {
		return
	}
	t.named[def.Name] = nil // in work: the type may hold itself
	properties, required := object{}, []any{}
	for _, f := range def.Fields {
		bounds := f.Directives.ForName("constraint")
		property := describeBounds(t.value(f.Type, bounds, true), f.Description, bounds)
		if f.DefaultValue != nil {
			property = append(property, member{"default", literal(f.DefaultValue)})
		}
		properties = append(properties, member{f.Name, property})
		if f.Type.NonNull && f.DefaultValue == nil {
			required = append(required, f.Name)
		}
	}
	t.named[def.Name] = object{{"type", "object"}}.with("description", def.Description).
		with("required", required).with("properties", properties)
}

// selected is the schema of what a document asks for of an output type. Every field
// that was asked for is there, null where it has no value.
func (t *types) selected(operation string, typ *ast.Type, set ast.SelectionSet) object {
	if typ.Elem != nil {
		return object{{"type", orNull("array", !typ.NonNull)}, {"items", t.selected(operation, typ.Elem, set)}}
	}
	def := t.schema.Types[typ.NamedType]
	if len(set) == 0 {
		return t.value(typ, nil, true)
	}
	properties, required := object{}, []any{}
	for _, f := range fieldsOf(set) {
		property := t.selected(operation, f.Definition.Type, f.SelectionSet)
		properties = append(properties, member{f.Alias, property.with("description", f.Definition.Description)})
		required = append(required, f.Alias)
	}
	o := object{{"type", "object"}}.with("description", def.Description).
		with("required", required).with("properties", properties)
	name := t.nameFor(operation, def.Name, o)
	t.named[name] = o
	if typ.NonNull {
		return ref("schemas", name)
	}
	return object{{"anyOf", []any{ref("schemas", name), object{{"type", "null"}}}}}
}

// nameFor returns the type's name, or one of the operation's own where other fields of
// the type are asked for elsewhere.
func (t *types) nameFor(operation, typ string, o object) string {
	body, err := marshal(o)
	if err != nil {
		panic(err) // only texts and lists are in it
	}
	name := typ
	for i := 1; ; i++ {
		if was, known := t.built[name]; !known || was == string(body) {
			t.built[name] = string(body)
			return name
		}
		name = operation + typ
		if i > 1 {
			name += strconv.Itoa(i)
		}
	}
}

// fieldsOf returns the fields of a selection with its fragments written out.
func fieldsOf(set ast.SelectionSet) []*ast.Field {
	var fields []*ast.Field
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			fields = append(fields, sel)
		case *ast.InlineFragment:
			fields = append(fields, fieldsOf(sel.SelectionSet)...)
		case *ast.FragmentSpread:
			fields = append(fields, fieldsOf(sel.Definition.SelectionSet)...)
		}
	}
	return fields
}

// scalar describes a leaf type. Any other than these is a custom one that may be anything.
func scalar(name string, null bool) object {
	switch name {
	case "Int":
		return object{{"type", orNull("integer", null)}, {"format", "int32"}}
	case "Float":
		return object{{"type", orNull("number", null)}}
	case "Boolean":
		return object{{"type", orNull("boolean", null)}}
	case "DateTime":
		return object{{"type", orNull("string", null)}, {"format", "date-time"}}
	case "Base64":
		return object{{"type", orNull("string", null)}, {"contentEncoding", "base64"}}
	case "String", "ID":
		return object{{"type", orNull("string", null)}}
	default:
		return object{}
	}
}

// orNull writes a type the way JSON Schema 2020-12 says that it may be null.
func orNull(typ string, null bool) any {
	if null {
		return []any{typ, "null"}
	}
	return typ
}

// bounded adds what JSON Schema can say of a @constraint.
func bounded(o object, d *ast.Directive) object {
	if d == nil {
		return o
	}
	for _, arg := range d.Arguments {
		switch arg.Name {
		case "maxLength":
			o = append(o, member{arg.Name, json.Number(arg.Value.Raw)})
		case "min":
			o = append(o, member{"minimum", json.Number(arg.Value.Raw)})
		case "max":
			o = append(o, member{"maximum", json.Number(arg.Value.Raw)})
		case "format":
			switch arg.Value.Raw {
			case "EMAIL":
				o = append(o, member{"format", "email"})
			case "CURRENCY":
				o = append(o, member{"pattern", "^[A-Z]{3}$"})
			case "SLUG":
				o = append(o, member{"pattern", "^[a-z0-9]+(?:[-_][a-z0-9]+)*$"})
			case "SESSION_ID":
				o = append(o, member{"pattern", "^[A-Za-z0-9._:-]{1,128}$"})
			}
		case "notEmpty":
			if o.get("type") == nil { // any JSON: each bound is about values of its own type
				o = append(o, member{"minProperties", 1}, member{"minItems", 1}, member{"minLength", 1})
			}
		}
	}
	return o
}

// describeBounds adds a description, and to it what only words can say of a @constraint.
func describeBounds(o object, description string, d *ast.Directive) object {
	words := []string{description}
	if d != nil {
		if v := d.Arguments.ForName("notAbove"); v != nil {
			words = append(words, "May not be above `"+v.Value.Raw+"`.")
		}
		if v := d.Arguments.ForName("maxDistinctItems"); v != nil {
			words = append(words, fmt.Sprintf("At most %s different items; repeated ones count once.", v.Value.Raw))
		}
	}
	return o.with("description", strings.TrimSpace(strings.Join(words, " ")))
}

// isText tells whether a schema is that of a text without a form of its own.
func isText(o object) bool {
	return o.get("format") == nil && (o.get("type") == "string" || fmt.Sprint(o.get("type")) == "[string null]")
}

// isTrue tells whether a directive has an argument that is true.
func isTrue(d *ast.Directive, name string) bool {
	if d == nil {
		return false
	}
	arg := d.Arguments.ForName(name)
	return arg != nil && arg.Value.Raw == "true"
}

// oneLine undoes the line breaks of a text in the schema.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
