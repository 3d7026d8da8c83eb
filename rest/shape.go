package rest

import "github.com/vektah/gqlparser/v2/ast"

// shape is what the decoder has to know of an input type: which fields of an object
// to keep. Values that don't fit are decoded as they are, for the executor to refuse.
type shape struct {
	object bool
	fields map[string]*shapeField // of an object
	items  *shape                 // of a list
	float  bool                   // numbers are wanted as float64
}

type shapeField struct {
	name  string
	shape *shape
}

// anything is the shape of values that are kept whole.
var anything = &shape{}

// shapes compiles shapes, each input type once, since they may hold themselves.
type shapes struct {
	schema *ast.Schema
	named  map[string]*shape
}

// newShapes returns a compiler of shapes for a schema.
func newShapes(s *ast.Schema) *shapes { return &shapes{schema: s, named: map[string]*shape{}} }

// of returns the shape of a type.
func (s *shapes) of(t *ast.Type) *shape {
	if t.Elem != nil {
		return &shape{items: s.of(t.Elem)}
	}
	if known := s.named[t.NamedType]; known != nil {
		return known
	}
	def := s.schema.Types[t.NamedType]
	if def == nil || def.Kind != ast.InputObject {
		if t.NamedType == "Float" {
			return &shape{float: true}
		}
		return anything
	}
	sh := &shape{object: true, fields: make(map[string]*shapeField, len(def.Fields))}
	s.named[t.NamedType] = sh
	for _, f := range def.Fields {
		sh.fields[f.Name] = &shapeField{name: f.Name, shape: s.of(f.Type)}
	}
	return sh
}
