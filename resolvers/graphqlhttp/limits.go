package graphqlhttp

import (
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Limits on one request. Those on documents are checked before validation, which compares
// repeated fields in pairs: 600 in one place take 25 ms, 1,000 take 65 ms.
const (
	maxBody       = 1 << 20 // bytes of a POST's body
	maxTokens     = 2000    // lexical tokens of a document, comments included
	maxDepth      = 20      // levels of fields; clients introspect the schema with 15
	maxFields     = 600     // fields, with fragments spread out; clients introspect the schema with about 450
	maxAliases    = 50      // aliases of a document
	maxRootFields = 20      // root fields of one operation
	maxDirectives = 50      // directives of a document
	maxFragments  = 50      // fragments of a document
	maxCost       = 2000    // cost of one operation, by the weights of @cost in the schema
	maxTime       = 10 * time.Second
	farTooMany    = 1 << 30 // counting stops here
)

// measurement measures a parsed document that has not been validated. It takes time
// linear in the text, however often fragments are spread.
type measurement struct {
	document   *ast.QueryDocument
	fragments  map[*ast.FragmentDefinition]*size // nil while it is being measured
	aliases    int
	directives int
}

// size is the size of a selection with all its fragments spread out.
type size struct{ depth, fields, roots int }

func (s *size) add(other size) {
	s.depth = max(s.depth, other.depth)
	s.fields = min(s.fields+other.fields, farTooMany)
	s.roots = min(s.roots+other.roots, farTooMany)
}

// checkSize rejects a document that is too large to be validated quickly.
func checkSize(doc *ast.QueryDocument) *gqlerror.Error {
	m := &measurement{document: doc, fragments: map[*ast.FragmentDefinition]*size{}}
	var total size
	roots := 0
	for _, op := range doc.Operations {
		m.directives += len(op.Directives)
		for _, variable := range op.VariableDefinitions {
			m.directives += len(variable.Directives)
		}
		one := m.selection(op.SelectionSet)
		total.add(one)
		roots = max(roots, one.roots)
	}

	// Validation also visits each fragment separately.
	for _, f := range doc.Fragments {
		total.add(m.fragment(f))
	}

	for _, limit := range []struct {
		what            string
		number, maximum int
	}{
		{"fragments", len(doc.Fragments), maxFragments},
		{"root fields", roots, maxRootFields},
		{"aliases", m.aliases, maxAliases},
		{"directives", m.directives, maxDirectives},
		{"levels of fields", total.depth, maxDepth},
		{"fields, with fragments spread out", total.fields, maxFields},
	} {
		if limit.number > limit.maximum {
			return gqlerror.Errorf("The document has more than %d %s.", limit.maximum, limit.what)
		}
	}
	return nil
}

// selection measures a selection with everything below it.
func (m *measurement) selection(set ast.SelectionSet) size {
	var total size
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if s.Alias != s.Name {
				m.aliases++
			}
			m.directives += len(s.Directives)
			below := m.selection(s.SelectionSet)
			total.add(size{depth: below.depth + 1, fields: below.fields + 1, roots: 1})

		case *ast.InlineFragment:
			m.directives += len(s.Directives)
			total.add(m.selection(s.SelectionSet))

		case *ast.FragmentSpread:
			m.directives += len(s.Directives)
			if f := m.document.Fragments.ForName(s.Name); f != nil { // validation reports an unknown one
				total.add(m.fragment(f))
			}
		}
	}
	return total
}

// fragment measures a fragment once. A fragment that contains itself exceeds maxFields.
func (m *measurement) fragment(f *ast.FragmentDefinition) size {
	measured, begun := m.fragments[f]
	switch {
	case measured != nil:
		return *measured
	case begun:
		return size{fields: farTooMany}
	}

	m.fragments[f] = nil
	m.directives += len(f.Directives)
	total := m.selection(f.SelectionSet)
	m.fragments[f] = &total
	return total
}
