package rest

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
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

func ref(kind, name string) object { return object{{"$ref", "#/components/" + kind + "/" + name}} }
