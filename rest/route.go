package rest

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"siteapi/schema/operations"
)

// Path is a path with its routes, one for each method. Segments {name} are variables.
type Path struct {
	Path   string
	Routes []*Route
}

// Route is an operation with @rest.
type Route struct {
	*operations.Operation
	*operations.Rest

	segments []operations.Argument // variables from the path
	query    []operations.Argument // variables from the query string
	fields   []operations.Argument // variables from the fields of the body
	body     *operations.Argument  // the variable of the whole body; nil: none
}

// HasBody reports whether the route takes a body.
func (rt *Route) HasBody() bool { return rt.body != nil || len(rt.fields) > 0 }

// compile returns the routes of all operations that have @rest, sorted by path and method.
func compile(list []*operations.Operation) ([]Path, error) {
	var routes []*Route
	var errs []error
	for _, op := range list {
		if op.Rest == nil {
			continue
		}
		rt, err := newRoute(op)
		routes, errs = append(routes, rt), append(errs, err)
	}
	slices.SortStableFunc(routes, func(a, b *Route) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})

	var paths []Path
	for i, rt := range routes {
		if i == 0 || routes[i-1].Path != rt.Path {
			paths = append(paths, Path{Path: rt.Path})
		} else if routes[i-1].Method == rt.Method {
			errs = append(errs, rt.Errorf(rt.Rest.Position, "%s already has this route", routes[i-1].Name))
		}
		last := &paths[len(paths)-1]
		last.Routes = append(last.Routes, rt)
	}
	return paths, errors.Join(errs...)
}

// newRoute returns the route of an operation.
func newRoute(op *operations.Operation) (*Route, error) {
	rt := &Route{Operation: op, Rest: op.Rest}
	if err := rt.bindTo(); err != nil {
		return rt, err
	}
	return rt, rt.checkExamples()
}

// bindTo assigns each variable its source in a request. A variable has the name of its
// argument, so that errors use the name that the client sent.
func (rt *Route) bindTo() error {
	var err error
	bound := map[string]bool{}
	take := func(place, name string) operations.Argument {
		v, arg := rt.Variable(name), rt.Root.Arguments.ForName(name)
		if v == nil || arg == nil || arg.Value.Raw != name {
			err = rt.Errorf(rt.Rest.Position,
				"@rest(%s) names %q, but no argument of this name takes it as a variable", place, name)
			return operations.Argument{}
		}
		bound[name] = true
		return *v
	}

	for segment := range strings.SplitSeq(rt.Path, "/") {
		if name, isVariable := strings.CutPrefix(segment, "{"); isVariable {
			rt.segments = append(rt.segments, take("path", strings.TrimSuffix(name, "}")))
		}
	}
	for _, name := range rt.Query {
		rt.query = append(rt.query, take("query", name))
	}

	if rt.Body != "" {
		rt.body = new(take("body", rt.Body))
	}
	for _, name := range rt.BodyFields {
		rt.fields = append(rt.fields, take("bodyFields", name))
	}

	if err == nil && len(bound) != len(rt.Variables) {
		err = rt.Errorf(rt.Rest.Position,
			"a variable has no source: name each once in @rest(path), (query), (body) or (bodyFields)")
	}
	return err
}

// checkExamples checks that the route has the examples for its documentation.
func (rt *Route) checkExamples() error {
	if rt.Rest.Arguments.ForName("example") == nil && len(rt.Variables) > 0 {
		return rt.Errorf(rt.Rest.Position, "the route has variables but no example: add @rest(example: {…})")
	}
	if rt.Produces == "" && !rt.Form && rt.Rest.Arguments.ForName("responseExample") == nil {
		return rt.Errorf(rt.Rest.Position,
			"the route has no example of its response: add @rest(responseExample: {…})")
	}
	return nil
}
