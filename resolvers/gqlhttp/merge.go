package gqlhttp

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// merger estimates how often validation will compare two fields to see whether they can
// be merged. Fields of one name in one place are compared pairwise, with all that is
// below them, and each inline fragment is one more place; so a small document can ask
// for a great many comparisons.
type merger struct {
	*sizer
	work, limit int
}

// group is the fields of one name in one place.
type group struct {
	members int
	fields  int // with all below them
}

// checkMerges refuses a document that needs too many comparisons. Its size was checked.
func (s *sizer) checkMerges(limit int) *gqlerror.Error {
	if limit >= unlimited {
		return nil
	}
	m := &merger{sizer: s, limit: limit}
	for _, op := range s.doc.Operations {
		m.place(op.SelectionSet)
	}
	for _, f := range s.doc.Fragments {
		m.place(f.SelectionSet)
	}
	if m.work > limit {
		return gqlerror.Errorf("The document repeats fields too often: merging them takes more than %d steps.", limit)
	}
	return nil
}

// place adds the comparisons of a selection and of all below it.
func (m *merger) place(set ast.SelectionSet) {
	groups := make(map[string]group, len(set))
	m.collect(set, groups)
	for _, g := range groups {
		if g.members > 1 {
			m.work = min(m.work+min(g.fields, 1<<14)*min(g.fields, 1<<14), unlimited)
		}
	}
	for _, sel := range set {
		if m.work > m.limit {
			return
		}
		switch sel := sel.(type) {
		case *ast.Field:
			if len(sel.SelectionSet) > 0 {
				m.place(sel.SelectionSet)
			}
		case *ast.InlineFragment:
			m.place(sel.SelectionSet)
		}
	}
}

// collect gathers the fields of one place through its fragments.
func (m *merger) collect(set ast.SelectionSet, groups map[string]group) {
	for _, sel := range set {
		if m.work > m.limit {
			return
		}
		m.work++
		switch sel := sel.(type) {
		case *ast.Field:
			g := groups[sel.Alias]
			g.members++
			g.fields += m.below[sel] + 1
			groups[sel.Alias] = g
		case *ast.InlineFragment:
			m.collect(sel.SelectionSet, groups)
		case *ast.FragmentSpread:
			if f := m.fragments[sel.Name]; f != nil {
				m.collect(f.SelectionSet, groups)
			}
		}
	}
}
