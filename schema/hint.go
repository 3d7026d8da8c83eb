package schema

import (
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
)

// DroppedHint is a hint that was removed from a document.
type DroppedHint struct {
	Path     string // its form is that of InputChecker.Check
	Variable string // the variable that the hint was the default of; empty: none
}

// DropHints removes hints (@hint) of a wrong type that are written into a document or are
// the default of a variable, as InputChecker.Check removes those in variables. The
// document must have been validated, though it may have failed because of values. It
// returns what was removed from each operation, at most MaxFieldErrors. A hint in a fragment
// counts for the first operation that uses it.
func DropHints(s *ast.Schema, doc *ast.QueryDocument) map[*ast.OperationDefinition][]DroppedHint {
	dropped := map[*ast.OperationDefinition][]DroppedHint{}
	for _, op := range doc.Operations {
		d := hintDropper{schema: s, op: op, needed: map[string]bool{}}
		d.selection(op.SelectionSet)
		d.dropDefaults()
		if len(d.dropped) > 0 {
			dropped[op] = d.dropped[:min(len(d.dropped), MaxFieldErrors)]
		}
	}
	return dropped
}

// hintDropper removes hints from one operation.
type hintDropper struct {
	schema  *ast.Schema
	op      *ast.OperationDefinition
	path    []string // names and indices of the value being checked
	dropped []DroppedHint

	variable string          // the variable whose default is being checked
	unfit    []DroppedHint   // hints that the default of a variable does not fit
	needed   map[string]bool // variables with such a default that are not only hints
}

func (d *hintDropper) selection(set ast.SelectionSet) {
	for _, field := range Fields(set) {
		for _, arg := range field.Arguments {
			if def := field.Definition.Arguments.ForName(arg.Name); def != nil {
				d.path = argumentPath(d.path[:0], field.Definition, arg.Name)
				d.fits(def.Type, false, arg.Value)
			}
		}
		d.selection(field.SelectionSet)
	}
}

// fits reports whether a literal is of a type, once the hints within it that are not have
// been removed. Of a list that is a hint, single items are removed.
func (d *hintDropper) fits(typ *ast.Type, hint bool, v *ast.Value) bool {
	switch {
	case v.Kind == ast.Variable:
		d.checkDefault(typ, hint, v.Raw)
		return true
	case v.Kind == ast.NullValue:
		return true

	case typ.Elem != nil && v.Kind == ast.ListValue:
		ok, i := true, -1
		d.remove(v, hint, func(item *ast.ChildValue) bool {
			i++
			fits := d.below("["+strconv.Itoa(i)+"]", typ.Elem, hint, item.Value)
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
			return child.Name != field.Name || d.below(field.Name, field.Type, isHint, child.Value)
		})
	}
	return true
}

// below checks a field or an item, given its name or index, and records a hint that does
// not fit.
func (d *hintDropper) below(element string, typ *ast.Type, hint bool, v *ast.Value) bool {
	d.path = append(d.path, element)
	defer func() { d.path = d.path[:len(d.path)-1] }()

	fits := d.fits(typ, hint, v)
	if hint && !fits {
		d.dropped = append(d.dropped, DroppedHint{joinPath(d.path...), d.variable})
	}
	return fits
}

// remove removes the hints among the children of a literal that do not fit.
func (d *hintDropper) remove(v *ast.Value, hint bool, fits func(*ast.ChildValue) bool) {
	v.Children = slices.DeleteFunc(v.Children, func(child *ast.ChildValue) bool {
		return !fits(child) && hint
	})
}

// checkDefault removes hints within the default of a variable, and notes a default that
// does not fit itself.
func (d *hintDropper) checkDefault(typ *ast.Type, hint bool, name string) {
	variable := d.op.VariableDefinitions.ForName(name)
	if variable == nil || variable.DefaultValue == nil {
		return
	}

	d.variable = name
	fits := d.fits(typ, hint, variable.DefaultValue)
	d.variable = ""

	switch {
	case fits:
	case hint:
		d.unfit = append(d.unfit, DroppedHint{joinPath(d.path...), name})
	default:
		d.needed[name] = true
	}
}

// dropDefaults removes the defaults of variables that are nothing but hints.
func (d *hintDropper) dropDefaults() {
	for _, hint := range d.unfit {
		if d.needed[hint.Variable] {
			continue
		}

		variable := d.op.VariableDefinitions.ForName(hint.Variable)
		optional := *variable.Type
		optional.NonNull = false
		variable.DefaultValue, variable.Type = nil, &optional
		d.dropped = append(d.dropped, hint)
	}
}

// fitsLeaf reports whether a literal is of a scalar or an enum.
func fitsLeaf(def *ast.Definition, v *ast.Value) bool {
	isText := v.Kind == ast.StringValue || v.Kind == ast.BlockValue
	_, unreadable := v.Value(nil)

	switch def.Name {
	case "String":
		return isText && (Trim(v.Raw) == "" || new(constraint).text(v.Raw, nil).Code == "")
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
