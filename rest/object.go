package rest

import (
	"bytes"
	"encoding/json"

	"github.com/vektah/gqlparser/v2/ast"
)

// object is a JSON object whose members keep their order, so that the description
// reads well and its bytes are the same at every start.
type object []member

type member struct {
	name  string
	value any
}

// with returns the object with a member more, or unchanged where the value is empty.
func (o object) with(name string, value any) object {
	switch v := value.(type) {
	case nil:
		return o
	case string:
		if v == "" {
			return o
		}
	case object:
		if len(v) == 0 {
			return o
		}
	case []any:
		if len(v) == 0 {
			return o
		}
	}
	return append(o, member{name, value})
}

// get returns the value of a member, nil where there is none.
func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			buf.WriteByte(',')
		}
		name, err := marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(m.value)
		if err != nil {
			return nil, err
		}
		buf.Write(name)
		buf.WriteByte(':')
		buf.Write(value)
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// marshal encodes without escaping < > &, which the description's prose may hold.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// literal turns a value written in a document into JSON, in the order it is written.
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

// exampleOf returns the example of a variable, nil where the document gives none.
func (rt *route) exampleOf(variable string) any {
	if rt.example == nil {
		return nil
	}
	for _, child := range rt.example.Children {
		if child.Name == variable {
			return literal(child.Value)
		}
	}
	return nil
}
