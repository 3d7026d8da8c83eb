package rest

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema/operations"
)

// compile returns the routes of all operations that have @rest, sorted by path and method,
// and the mux that finds them.
func compile(list []*operations.Operation) ([]*route, *http.ServeMux, error) {
	var routes []*route
	var errs []error
	mux := http.NewServeMux()
	for _, op := range list {
		if op.Rest == nil {
			continue
		}
		rt, err := newRoute(op)
		if err == nil {
			err = handle(mux, rt)
		}
		errs = append(errs, err)
		routes = append(routes, rt)
	}

	slices.SortFunc(routes, func(a, b *route) int {
		return strings.Compare(a.path+" "+a.method, b.path+" "+b.method)
	})
	return routes, mux, errors.Join(errs...)
}

// handle adds a route to the mux, which refuses a malformed path and one that another route
// has, or could be meant by as well.
func handle(mux *http.ServeMux, rt *route) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = rt.Errorf(rt.Rest.Position, "%v", problem)
		}
	}()
	mux.Handle(rt.pattern(), http.NotFoundHandler())
	return nil
}

// newRoute reads the arguments of @rest.
func newRoute(op *operations.Operation) (*route, error) {
	args := op.Rest.ArgumentMap(nil)
	rt := &route{Operation: op, sentAs: map[string]string{}}
	rt.method, _ = args["method"].(string)
	rt.path, _ = args["path"].(string)
	rt.produces, _ = args["produces"].(string)
	rt.headers, rt.codes = operations.Texts(args["headers"]), operations.Texts(args["codes"])

	if err := rt.bindTo(args); err != nil {
		return rt, err
	}
	return rt, rt.checkExamples()
}

// bindTo gives each variable its place in a request.
func (rt *route) bindTo(args map[string]any) error {
	var err error
	take := func(argument, name string) operations.Argument {
		v := rt.Variable(name)
		i := slices.IndexFunc(rt.Root.Arguments, func(a *ast.Argument) bool { return a.Value.Raw == name })
		if v == nil || i < 0 {
			err = rt.Errorf(rt.Rest.Position,
				"@rest(%s) names %q, which is no variable that an argument of %s takes", argument, name, rt.Root.Name)
			return operations.Argument{}
		}

		sent := name
		if argument == "body" {
			sent = ""
		}
		rt.sentAs[rt.Root.Arguments[i].Name] = sent
		return *v
	}

	for segment := range strings.SplitSeq(rt.path, "/") {
		if name, isVariable := strings.CutPrefix(segment, "{"); isVariable {
			rt.segments = append(rt.segments, take("path", strings.TrimSuffix(name, "}")))
		}
	}
	for _, name := range operations.Texts(args["query"]) {
		rt.params = append(rt.params, take("query", name))
	}

	whole, isWhole := args["body"].(string)
	fields := operations.Texts(args["bodyFields"])
	if isWhole || len(fields) > 0 {
		limit, _ := args["bodyLimit"].(int64)
		rt.body = &body{limit: limit, accepts: operations.Texts(args["accepts"])}
	}
	if isWhole {
		rt.body.variable = new(take("body", whole))
	}
	for _, name := range fields {
		rt.body.fields = append(rt.body.fields, take("bodyFields", name))
	}

	if err == nil && len(rt.sentAs) != len(rt.Variables) {
		err = rt.Errorf(rt.Rest.Position,
			"a variable comes from nowhere: name each once in @rest(path), (query), (body) or (bodyFields)")
	}
	return err
}

// checkExamples checks that the documentation has its examples.
func (rt *route) checkExamples() error {
	if rt.Rest.Arguments.ForName("example") == nil && len(rt.Variables) > 0 {
		return rt.Errorf(rt.Rest.Position, "the route has variables but no example: add @rest(example: {…})")
	}
	if rt.produces == "" && rt.Rest.Arguments.ForName("answerExample") == nil {
		return rt.Errorf(rt.Rest.Position, "the route has no example of its answer: add @rest(answerExample: {…})")
	}
	return nil
}
