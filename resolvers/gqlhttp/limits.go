package gqlhttp

import "time"

// Limits bounds what one request may ask for. A field that is 0 has its default, a
// negative one is no limit.
type Limits struct {
	// Body is the size of a request's body, or of the query string of a GET, in bytes. Default 1 MiB.
	Body int
	// Tokens is the number of lexical tokens of a document, comments included. Default 2000.
	Tokens int
	// Depth is how deep fields are nested, fragments spread out. Default 20: clients ask
	// for the schema with 15.
	Depth int
	// Fields is the number of fields of a document with all fragments spread out.
	// Default 1000: clients ask for the schema with about 450.
	Fields int
	// Merges is how many steps it takes to see whether fields that are asked for more than
	// once agree. Default 100 000, some milliseconds: repeating thirty fields in five
	// fragments takes 30 000.
	Merges int
	// Aliases is the number of aliases in a document. Default 50.
	Aliases int
	// RootFields is the number of fields at the root of one operation. Default 20.
	RootFields int
	// Directives is the number of directives in a document. Default 50.
	Directives int
	// Fragments is the number of named fragments in a document. Default 50.
	Fragments int
	// Cost is the cost of one operation: what @cost in the schema says of each field, 1
	// where it says nothing, ten times that below each list. Default 2000.
	Cost int
	// Values is about the number of JSON values in a request. Default 10 000.
	Values int
	// ValueDepth is how deep JSON values are nested. Default 64.
	ValueDepth int
	// Time is how long one operation may take. Default 10 s.
	Time time.Duration
}

// unlimited stands for no limit. It leaves room for adding without overflow.
const unlimited = 1 << 30

// withDefaults returns limits that can be compared with as they are.
func (l Limits) withDefaults() Limits {
	set := func(field *int, standard int) {
		switch {
		case *field == 0:
			*field = standard
		case *field < 0 || *field > unlimited:
			*field = unlimited
		}
	}
	set(&l.Body, 1<<20)
	set(&l.Tokens, 2000)
	set(&l.Depth, 20)
	set(&l.Fields, 1000)
	set(&l.Merges, 100_000)
	set(&l.Aliases, 50)
	set(&l.RootFields, 20)
	set(&l.Directives, 50)
	set(&l.Fragments, 50)
	set(&l.Cost, 2000)
	set(&l.Values, 10_000)
	set(&l.ValueDepth, 64)
	if l.Time == 0 {
		l.Time = 10 * time.Second
	}
	return l
}
