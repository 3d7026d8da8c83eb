package operations

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
	"siteapi/schema/exec"
)

// Schemas translates GraphQL types into JSON Schema (2020-12).
type Schemas struct {
	// Named collects the input objects, the enums and the output types to which the schemas
	// refer. If it is nil, types are described wherever they are used.
	Named map[string]*jsonschema.Schema
}

// Input describes the arguments of a tool as an object. It uses only the keywords that every
// assistant's client supports: no references, no alternatives, one type for each value. An
// optional argument may be omitted.
func (o *Operation) Input() *jsonschema.Schema {
	return (&Schemas{}).Object(o.Tool.arguments)
}

// Output describes the response of a tool as an object, without descriptions and lists of
// required fields: every field is present, and models read the schema as tokens. A list or
// a value that may be null is wrapped in the field `result`.
func (o *Operation) Output() *jsonschema.Schema {
	s := (&Schemas{}).selected(o.Name, o.Root.Definition.Type, o.Root.SelectionSet)
	if !o.Wrapped() {
		return s
	}
	return &jsonschema.Schema{
		Type:       "object",
		Properties: map[string]*jsonschema.Schema{"result": s},
	}
}

// Wrapped reports whether the response is a list, a single value or nullable, and therefore
// not an object by itself.
func (o *Operation) Wrapped() bool {
	typ := o.Root.Definition.Type
	return typ.Elem != nil || !typ.NonNull || len(o.Root.SelectionSet) == 0
}

// Response describes a non-null value of the root field.
func (t *Schemas) Response(o *Operation) *jsonschema.Schema {
	typ := *o.Root.Definition.Type
	typ.NonNull = true
	return t.selected(o.Name, &typ, o.Root.SelectionSet)
}

// Argument describes a value of an argument. It allows null if the type does and nulls is
// set.
func (t *Schemas) Argument(a Argument, nulls bool) *jsonschema.Schema {
	return t.value(a.Type, a.constraint, nulls)
}

// Object describes an object with these arguments. Routes ignore other fields, and tools
// refuse them. Null stands for an omitted argument; tools accept it without describing it.
func (t *Schemas) Object(arguments []Argument) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	if t.Named == nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}} // false
	}

	for _, a := range arguments {
		property := t.Argument(a, t.Named != nil)
		property.Description = a.Description
		if t.Named == nil && a.Type.NamedType == "DateTime" { // see ReadDays
			property.Format = ""
			property.Description += " A time such as 2026-01-31T09:30:00Z, or a day such as " +
				"2026-01-31, which is included."
		}

		if a.Default != nil {
			value, _ := a.Default.Value(nil) // a literal of a valid document
			property.Default, _ = json.Marshal(value)
		}
		if a.Required() {
			s.Required = append(s.Required, a.Name)
		}

		s.Properties[a.Name] = property
		s.PropertyOrder = append(s.PropertyOrder, a.Name)
	}
	return s
}

// value describes an input or leaf type with its @constraint.
func (t *Schemas) value(typ *ast.Type, constraint *ast.Directive, nulls bool) *jsonschema.Schema {
	null := nulls && !typ.NonNull
	if typ.Elem != nil {
		return orNull(&jsonschema.Schema{Type: "array", Items: t.value(typ.Elem, constraint, nulls)}, null)
	}

	switch def := exec.AST().Types[typ.NamedType]; def.Kind {
	case ast.InputObject:
		return orNull(t.input(def), null)
	case ast.Enum:
		return orNull(t.Enum(def), null)
	default:
		s := scalar(typ.NamedType)
		if constraint != nil {
			bound(s, constraint, typ.NonNull)
		}
		if t.Named == nil && s.Format != "date-time" { // clients may refuse a format that they do not know
			s.Format = ""
		}
		if t.Named == nil && s.Pattern != "" { // no pattern matches an empty text
			s.MinLength = nil
		}
		if t.Named == nil && s.Pattern == patterns()["SLUG"] { // slugs are many, and come from other results
			s.Pattern, s.MaxLength = "", nil
		}
		if t.Named == nil && s.Type == "" { // and a schema without a type: JSON in results is an object
			s.Type, s.AdditionalProperties = "object", &jsonschema.Schema{}
		}
		return orNull(s, null)
	}
}

func ref(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}
}

// orNull extends a schema so that it also allows null. A schema without a type already does.
func orNull(s *jsonschema.Schema, null bool) *jsonschema.Schema {
	switch {
	case !null:
	case s.Ref != "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	case s.Type != "":
		s.Type, s.Types = "", []string{s.Type, "null"}
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
	}
	return s
}

// Enum describes an enum. JSON Schema has no place for descriptions of the values, so the
// enum's description lists them.
func (t *Schemas) Enum(def *ast.Definition) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	lines := []string{OneLine(def.Description), ""}
	for _, v := range def.EnumValues {
		s.Enum = append(s.Enum, v.Name)
		lines = append(lines, "- `"+v.Name+"`: "+OneLine(v.Description))
	}
	if t.Named == nil {
		return s
	}

	// Generators name a constant by its value, so one could have the name of a type.
	names := make([]string, len(def.EnumValues))
	collides := false
	for i, v := range def.EnumValues {
		name := strings.ToUpper(v.Name[:1]) + v.Name[1:]
		names[i] = def.Name + name
		collides = collides || exec.AST().Types[name] != nil
	}
	if collides {
		s.Extra = map[string]any{"x-enum-varnames": names}
	}

	s.Description = strings.Join(lines, "\n")
	t.Named[def.Name] = s
	return ref(def.Name)
}

func (t *Schemas) input(def *ast.Definition) *jsonschema.Schema {
	fields := fieldsOf(def)
	if t.Named == nil {
		return t.Object(fields)
	}

	if _, known := t.Named[def.Name]; !known {
		t.Named[def.Name] = nil // The type is in progress and may contain itself.
		s := t.Object(fields)
		s.Description = OneLine(def.Description)
		t.Named[def.Name] = s
	}
	return ref(def.Name)
}

// selected describes the fields of an output type that a document selects. The schema's name
// is that of the type, prefixed with the operation if other fields of the type are selected
// elsewhere. Every selected field is present, and null if it has no value.
func (t *Schemas) selected(operation string, typ *ast.Type, set ast.SelectionSet) *jsonschema.Schema {
	if typ.Elem != nil {
		items := t.selected(operation, typ.Elem, set)
		return orNull(&jsonschema.Schema{Type: "array", Items: items}, !typ.NonNull)
	}
	if len(set) == 0 {
		return t.value(typ, nil, true)
	}

	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, f := range schema.Fields(set) {
		property := t.selected(operation, f.Definition.Type, f.SelectionSet)
		if t.Named != nil {
			property.Description = OneLine(f.Definition.Description)
			s.Required = append(s.Required, f.Alias)
		}
		s.Properties[f.Alias] = property
		s.PropertyOrder = append(s.PropertyOrder, f.Alias)
	}

	if t.Named == nil {
		return orNull(s, !typ.NonNull)
	}

	name := typ.NamedType
	s.Description = OneLine(exec.AST().Types[name].Description)
	for known := t.Named[name]; known != nil && !reflect.DeepEqual(known, s); known = t.Named[name] {
		name = operation + name
	}
	t.Named[name] = s
	return orNull(ref(name), !typ.NonNull)
}

// scalar describes a leaf type. A type that is not listed is a custom scalar, which may be any
// value.
func scalar(name string) *jsonschema.Schema {
	s := map[string]jsonschema.Schema{
		"Int":      {Type: "integer", Format: "int32"},
		"Float":    {Type: "number", Format: "double"},
		"Boolean":  {Type: "boolean"},
		"DateTime": {Type: "string", Format: "date-time"},
		"Date":     {Type: "string", Format: "date"},
		"Base64":   {Type: "string", ContentEncoding: "base64"},
		"String":   {Type: "string"},
		"ID":       {Type: "string"},
	}[name]
	return &s
}

// bound adds the bounds of a @constraint that JSON Schema can express.
func bound(s *jsonschema.Schema, d *ast.Directive, required bool) {
	notEmpty := required
	for _, arg := range d.Arguments {
		number, _ := strconv.ParseFloat(arg.Value.Raw, 64)
		switch arg.Name {
		case "maxLength":
			s.MaxLength = new(int(number))
		case "min":
			s.Minimum = &number
		case "max":
			s.Maximum = &number
		case "notEmpty":
			notEmpty = true
		case "format":
			s.Pattern = patterns()[arg.Value.Raw]
			if arg.Value.Raw == "EMAIL" {
				s.Format = "email"
			}
		}
	}

	if notEmpty && (s.Type == "" || s.Type == "string") {
		s.MinLength = new(1)
	}
	if notEmpty && s.Type == "" { // any JSON: each bound applies to values of its own type
		s.MinProperties, s.MinItems = new(1), new(1)
	}
}

// patterns returns the patterns of the string formats that have one.
func patterns() map[string]string {
	return map[string]string{
		"CURRENCY":   "^[A-Z]{3}$",
		"SLUG":       "^[a-z0-9]+(?:[-_][a-z0-9]+)*$",
		"SESSION_ID": "^[A-Za-z0-9._:-]{1,128}$",
	}
}

// describeBounds adds the bounds of a @constraint that JSON Schema cannot express to a
// description, unless it says them itself. A variable of a single value may stand in a list of
// its own, whose number of items is not a bound of it.
func describeBounds(description string, typ *ast.Type, d *ast.Directive) string {
	words := OneLine(description)
	if d == nil {
		return words
	}

	for _, bound := range [][3]string{ // the last is how the description itself may say it
		{"notAbove", " Must not be above `%s`.", "not above `%s`"},
		{"maxItems", " At most %s items.", "at most %s"},
		{"maxDistinctItems", " At most %s distinct items; repeated ones count once.", "at most %s distinct"},
	} {
		v := d.Arguments.ForName(bound[0])
		if v == nil || typ.Elem == nil && bound[0] != "notAbove" {
			continue
		}

		said := strings.ToLower(fmt.Sprintf(bound[2], v.Value.Raw))
		ofTimes := strings.ReplaceAll(said, "above", "after")
		if lower := strings.ToLower(words); !strings.Contains(lower, said) &&
			!strings.Contains(lower, ofTimes) {
			words += fmt.Sprintf(bound[1], v.Value.Raw)
		}
	}
	return strings.TrimSpace(words)
}
