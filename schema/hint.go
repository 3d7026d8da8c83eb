package schema

import (
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
)

// DropHints removes hints (@hint) of a wrong type that are written into a document, as
// InputChecker.Check removes those in variables. The document must have been validated,
// though it may have failed. It reports whether it removed anything.
func DropHints(s *ast.Schema, doc *ast.QueryDocument) bool {
	d := hintDropper{schema: s}
	for _, op := range doc.Operations {
		d.selection(op.SelectionSet)
	}
	for _, fragment := range doc.Fragments {
		d.selection(fragment.SelectionSet)
	}
	return d.dropped
}

type hintDropper struct {
	schema  *ast.Schema
	dropped bool
}

func (d *hintDropper) selection(set ast.SelectionSet) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			for _, arg := range s.Arguments {
				if s.Definition == nil {
					break
				}
				if def := s.Definition.Arguments.ForName(arg.Name); def != nil {
					d.fits(def.Type, false, arg.Value)
				}
			}

			d.selection(s.SelectionSet)
		case *ast.InlineFragment:
			d.selection(s.SelectionSet)
		}
	}
}

// fits reports whether a literal is of a type, once the hints within it that are not have
// been removed. Of a list that is a hint, single items are removed.
func (d *hintDropper) fits(typ *ast.Type, hint bool, v *ast.Value) bool {
	switch {
	case v.Kind == ast.Variable, v.Kind == ast.NullValue:
		return true

	case typ.Elem != nil && v.Kind == ast.ListValue:
		ok := true
		d.remove(v, hint, func(item *ast.ChildValue) bool {
			fits := d.fits(typ.Elem, hint, item.Value)
			ok = ok && (fits || hint)
			return fits
		})
		return ok
	case typ.Elem != nil:
		return d.fits(typ.Elem, hint, v)
	}

	def := d.schema.Types[typ.NamedType]
	if def.Kind != ast.InputObject || v.Kind != ast.ObjectValue {
		return fitsLeaf(def, v)
	}

	for _, field := range def.Fields {
		isHint := field.Directives.ForName("hint") != nil
		d.remove(v, isHint, func(child *ast.ChildValue) bool {
			return child.Name != field.Name || d.fits(field.Type, isHint, child.Value)
		})
	}
	return true
}

// remove removes the hints among the children of a literal that do not fit.
func (d *hintDropper) remove(v *ast.Value, hint bool, fits func(*ast.ChildValue) bool) {
	v.Children = slices.DeleteFunc(v.Children, func(child *ast.ChildValue) bool {
		drop := !fits(child) && hint
		d.dropped = d.dropped || drop
		return drop
	})
}

// fitsLeaf reports whether a literal is of a scalar or an enum.
func fitsLeaf(def *ast.Definition, v *ast.Value) bool {
	isText := v.Kind == ast.StringValue || v.Kind == ast.BlockValue
	_, unreadable := v.Value(nil)

	switch def.Name {
	case "String":
		return isText
	case "ID":
		return isText || v.Kind == ast.IntValue
	case "Boolean":
		return v.Kind == ast.BooleanValue
	case "Int":
		_, err := strconv.ParseInt(v.Raw, 10, 32)
		return v.Kind == ast.IntValue && err == nil
	case "Float":
		return (v.Kind == ast.IntValue || v.Kind == ast.FloatValue) && unreadable == nil
	}

	return def.Kind == ast.Scalar ||
		v.Kind == ast.EnumValue && def.EnumValues.ForName(v.Raw) != nil
}
