package graphqlhttp

import (
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Limits on one request. Those on documents are checked before validation, whose time is
// more than linear.
const (
	maxBody       = 1 << 20 // bytes of a POST's body
	maxTokens     = 2000    // lexical tokens of a document, comments included
	maxDepth      = 20      // levels of fields; clients introspect the schema with 15
	maxFields     = 1000    // fields, with fragments spread out; clients introspect the schema with about 450
	maxAliases    = 50      // aliases of a document
	maxRootFields = 20      // root fields of one operation
	maxDirectives = 50      // directives of a document
	maxFragments  = 50      // fragments of a document
	maxMergeSteps = 100_000 // comparisons of repeated fields, which take some milliseconds
	maxCost       = 2000    // cost of one operation, by the weights of @cost in the schema
	maxTime       = 10 * time.Second
	farTooMany    = 1 << 30 // counting stops here
)

// measurement is the size of a parsed document that has not been validated. Measuring
// takes time linear in the text, however often fragments are spread.
type measurement struct {
	fragments  map[string]*ast.FragmentDefinition
	sizes      map[string]*size    // size of each fragment; nil while it is being measured
	below      map[*ast.Field]int  // number of fields below each field
	cycle      *ast.FragmentSpread // the spread that leads back to its own fragment
	aliases    int
	directives int
	steps      int // comparisons of fields that are to be merged
}

// size is how large a selection is, with all its fragments spread out.
type size struct{ depth, fields, roots int }

func (s *size) add(other size) {
	s.depth = max(s.depth, other.depth)
	s.fields = min(s.fields+other.fields, farTooMany)
	s.roots = min(s.roots+other.roots, farTooMany)
}

// checkSize refuses a document that is too large to be validated quickly.
func checkSize(doc *ast.QueryDocument) *gqlerror.Error {
	if len(doc.Fragments) > maxFragments {
		return tooMany("fragments", maxFragments)
	}

	m := &measurement{
		fragments: map[string]*ast.FragmentDefinition{},
		sizes:     map[string]*size{},
		below:     map[*ast.Field]int{},
	}

	for _, f := range doc.Fragments {
		if m.fragments[f.Name] != nil {
			return gqlerror.ErrorPosf(f.Position, `There can be only one fragment named "%s".`, f.Name)
		}
		m.fragments[f.Name] = f
	}

	total, roots := m.document(doc)
	switch {
	case m.cycle != nil:
		return gqlerror.ErrorPosf(m.cycle.Position,
			`Cannot spread fragment "%s" within itself.`, m.cycle.Name)
	case roots > maxRootFields:
		return tooMany("root fields", maxRootFields)
	case m.aliases > maxAliases:
		return tooMany("aliases", maxAliases)
	case m.directives > maxDirectives:
		return tooMany("directives", maxDirectives)
	case total.depth > maxDepth:
		return tooMany("levels of fields", maxDepth)
	case total.fields > maxFields:
		return tooMany("fields, with fragments spread out", maxFields)
	}

	for _, op := range doc.Operations {
		m.merge(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		m.merge(f.SelectionSet)
	}

	if m.steps > maxMergeSteps {
		return gqlerror.Errorf(
			"The document repeats fields too often: merging them takes more than %d steps.", maxMergeSteps)
	}
	return nil
}

// document measures all operations and fragments together, and returns the most root fields
// that an operation has.
func (m *measurement) document(doc *ast.QueryDocument) (total size, roots int) {
	for _, op := range doc.Operations {
		m.directives += len(op.Directives)
		for _, variable := range op.VariableDefinitions {
			m.directives += len(variable.Directives)
		}
		one := m.selection(op.SelectionSet)
		total.add(one)
		roots = max(roots, one.roots)
	}

	// Validation visits each fragment on its own as well.
	for _, f := range doc.Fragments {
		total.add(m.fragment(f))
	}
	return total, roots
}

func tooMany(what string, limit int) *gqlerror.Error {
	return gqlerror.Errorf("The document has more than %d %s.", limit, what)
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
			m.below[s] = below.fields
			total.add(size{depth: below.depth + 1, fields: below.fields + 1, roots: 1})

		case *ast.InlineFragment:
			m.directives += len(s.Directives)
			total.add(m.selection(s.SelectionSet))

		case *ast.FragmentSpread:
			m.directives += len(s.Directives)
			f := m.fragments[s.Name]
			if f == nil {
				continue // validation reports it
			}

			if measured, begun := m.sizes[s.Name]; begun && measured == nil {
				m.cycle = s
				continue
			}
			total.add(m.fragment(f))
		}
	}
	return total
}

// fragment measures a fragment once.
func (m *measurement) fragment(f *ast.FragmentDefinition) size {
	if measured := m.sizes[f.Name]; measured != nil {
		return *measured
	}

	m.sizes[f.Name] = nil
	m.directives += len(f.Directives)
	total := m.selection(f.SelectionSet)
	m.sizes[f.Name] = &total
	return total
}

// merge counts the comparisons that the rule OverlappingFieldsCanBeMerged makes for a
// selection and everything below it. The rule compares the fields of one name in one
// place in pairs, with everything below them. The document's size must have been checked.
func (m *measurement) merge(set ast.SelectionSet) {
	// For each response name, the number of its fields and of all fields below them. The
	// number is negative if there is only one field of that name.
	fields := map[string]int{}
	m.collect(set, fields)
	for _, n := range fields {
		if n > 0 {
			m.steps += n * n
		}
	}

	for _, selection := range set {
		if m.steps > maxMergeSteps {
			return
		}

		switch s := selection.(type) {
		case *ast.Field:
			m.merge(s.SelectionSet)
		case *ast.InlineFragment:
			m.merge(s.SelectionSet)
		}
	}
}

// collect gathers the fields of one place through its fragments.
func (m *measurement) collect(set ast.SelectionSet, fields map[string]int) {
	for _, selection := range set {
		if m.steps++; m.steps > maxMergeSteps {
			return
		}

		switch s := selection.(type) {
		case *ast.Field:
			n := m.below[s] + 1
			if known := fields[s.Alias]; known != 0 {
				fields[s.Alias] = max(known, -known) + n
			} else {
				fields[s.Alias] = -n
			}
		case *ast.InlineFragment:
			m.collect(s.SelectionSet, fields)
		case *ast.FragmentSpread:
			if f := m.fragments[s.Name]; f != nil {
				m.collect(f.SelectionSet, fields)
			}
		}
	}
}
