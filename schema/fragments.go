package schema

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
)

// WithFragments returns the text of a document with the shared fragments that it spreads but
// does not define.
func WithFragments(text string, doc *ast.QueryDocument, shared ast.FragmentDefinitionList) string {
	for _, f := range Reached(doc.Operations, slices.Concat(doc.Fragments, shared)) {
		if doc.Fragments.ForName(f.Name) == nil {
			text += "\n" + Format(&ast.QueryDocument{Fragments: ast.FragmentDefinitionList{f}})
		}
	}
	return text
}

// Format formats a document without its descriptions.
func Format(doc *ast.QueryDocument) string {
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithoutDescription()).FormatQueryDocument(doc)
	return text.String()
}

// Reached returns the fragments that operations spread, directly or not, sorted by name.
func Reached(operations ast.OperationList, all ast.FragmentDefinitionList) ast.FragmentDefinitionList {
	var list ast.FragmentDefinitionList
	var visit func(set ast.SelectionSet)
	visit = func(set ast.SelectionSet) {
		for _, selection := range set {
			switch s := selection.(type) {
			case *ast.Field:
				visit(s.SelectionSet)
			case *ast.InlineFragment:
				visit(s.SelectionSet)
			case *ast.FragmentSpread:
				if f := all.ForName(s.Name); f != nil && list.ForName(s.Name) == nil {
					list = append(list, f)
					visit(f.SelectionSet)
				}
			}
		}
	}

	for _, op := range operations {
		visit(op.SelectionSet)
	}
	slices.SortFunc(list, func(a, b *ast.FragmentDefinition) int { return strings.Compare(a.Name, b.Name) })
	return list
}
