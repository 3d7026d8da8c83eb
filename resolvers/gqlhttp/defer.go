package gqlhttp

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// undefer takes @defer out of a document. A server may ignore it and send everything at
// once, and this one has to: gqlgen would leave deferred parts to later answers, for
// which a plain HTTP exchange has no room.
func undefer(doc *ast.QueryDocument) {
	for _, op := range doc.Operations {
		undeferIn(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		undeferIn(f.SelectionSet)
	}
}

func undeferIn(set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			undeferIn(sel.SelectionSet)
		case *ast.InlineFragment:
			sel.Directives = withoutDefer(sel.Directives)
			undeferIn(sel.SelectionSet)
		case *ast.FragmentSpread:
			sel.Directives = withoutDefer(sel.Directives)
		}
	}
}

func withoutDefer(list ast.DirectiveList) ast.DirectiveList {
	return slices.DeleteFunc(list, func(d *ast.Directive) bool { return d.Name == "defer" })
}
