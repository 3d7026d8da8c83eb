package gqlhttp

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// size is how large a selection is with all its fragments spread out.
type size struct {
	depth  int // levels of fields
	fields int // fields on all levels
	top    int // fields on the first level
}

func (s *size) add(other size) {
	s.depth = max(s.depth, other.depth)
	s.fields = min(s.fields+other.fields, unlimited)
	s.top = min(s.top+other.top, unlimited)
}

// sizer measures a parsed document that was not validated yet. It takes time linear in
// the text, however often fragments are spread.
type sizer struct {
	doc        *ast.QueryDocument
	fragments  map[string]*ast.FragmentDefinition
	sizes      map[string]*size // nil while the fragment is being measured
	aliases    int
	directives int
	below      map[*ast.Field]int  // fields below each field that has any
	cycle      *ast.FragmentSpread // a spread that leads back to its own fragment
}

// checkSize refuses a document that is larger than the limits allow.
func checkSize(doc *ast.QueryDocument, l *Limits) *gqlerror.Error {
	if len(doc.Fragments) > l.Fragments {
		return tooMuch("fragments", len(doc.Fragments), l.Fragments)
	}
	s := &sizer{doc: doc, below: map[*ast.Field]int{}}
	if len(doc.Fragments) > 0 {
		s.fragments = make(map[string]*ast.FragmentDefinition, len(doc.Fragments))
		s.sizes = make(map[string]*size, len(doc.Fragments))
		for _, f := range doc.Fragments {
			if s.fragments[f.Name] != nil {
				return gqlerror.ErrorPosf(f.Position, `There can be only one fragment named "%s".`, f.Name)
			}
			s.fragments[f.Name] = f
		}
	}
	var all size
	roots := 0
	for _, op := range doc.Operations {
		s.countDirectives(op.Directives)
		for _, v := range op.VariableDefinitions {
			s.countDirectives(v.Directives)
		}
		one := s.selection(op.SelectionSet)
		all.add(one)
		roots = max(roots, one.top)
	}
	// Validation visits each fragment on its own as well, so each counts once more.
	for _, f := range doc.Fragments {
		all.add(s.fragment(f))
	}
	switch {
	case s.cycle != nil:
		return gqlerror.ErrorPosf(s.cycle.Position, `Cannot spread fragment "%s" within itself.`, s.cycle.Name)
	case roots > l.RootFields:
		return tooMuch("root fields", roots, l.RootFields)
	case s.aliases > l.Aliases:
		return tooMuch("aliases", s.aliases, l.Aliases)
	case s.directives > l.Directives:
		return tooMuch("directives", s.directives, l.Directives)
	case all.depth > l.Depth:
		return tooMuch("levels of fields", all.depth, l.Depth)
	case all.fields > l.Fields:
		return tooMuch("fields, with fragments spread out", all.fields, l.Fields)
	}
	return s.checkMerges(l.Merges)
}

func tooMuch(what string, n, limit int) *gqlerror.Error {
	count := fmt.Sprint(n)
	if n >= unlimited {
		count = "far too many"
	}
	return gqlerror.Errorf("The document has %s %s; the limit is %d.", count, what, limit)
}

func (s *sizer) selection(set ast.SelectionSet) size {
	var total size
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if sel.Alias != sel.Name {
				s.aliases++
			}
			s.countDirectives(sel.Directives)
			below := s.selection(sel.SelectionSet)
			if below.fields > 0 {
				s.below[sel] = below.fields
			}
			total.add(size{depth: below.depth + 1, fields: below.fields + 1, top: 1})
		case *ast.InlineFragment:
			s.countDirectives(sel.Directives)
			total.add(s.selection(sel.SelectionSet))
		case *ast.FragmentSpread:
			s.countDirectives(sel.Directives)
			f, known := s.fragments[sel.Name]
			if !known {
				continue // validation says so
			}
			if measured, begun := s.sizes[sel.Name]; begun && measured == nil {
				s.cycle = sel
				continue
			}
			total.add(s.fragment(f))
		}
	}
	return total
}

// fragment measures a fragment once.
func (s *sizer) fragment(f *ast.FragmentDefinition) size {
	if measured := s.sizes[f.Name]; measured != nil {
		return *measured
	}
	s.sizes[f.Name] = nil
	s.countDirectives(f.Directives)
	total := s.selection(f.SelectionSet)
	s.sizes[f.Name] = &total
	return total
}

func (s *sizer) countDirectives(list ast.DirectiveList) { s.directives += len(list) }
