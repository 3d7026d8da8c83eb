package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"siteapi/schema"
)

// ExecutorOptions adjusts an executor.
type ExecutorOptions struct {
	// Documents is the query cache; nil: only pinned documents are cached.
	Documents graphql.Cache[*ast.QueryDocument]
	// Charge counts a root field against the rate limit of its REST route, so that no endpoint is a way around it; nil:
	// nothing is counted.
	Charge func(ctx context.Context, field string) *schema.Error
	// Suggestions adds "Did you mean …" to errors, which tells the schema's names to anybody.
	Suggestions bool
	// Extensions of gqlgen's executor, such as tracing.
	Extensions []graphql.HandlerExtension
}

// Executor runs the operations of both endpoints. Beyond gqlgen's executor it reports all invalid input values at
// once, and a missing token before anything else that is wrong with a request.
type Executor struct {
	*executor.Executor
	schema    *ast.Schema
	input     *schema.InputChecker
	guard     *guard
	documents *queryCache
	charge    func(ctx context.Context, field string) *schema.Error
}

var _ graphql.GraphExecutor = (*Executor)(nil)

// NewExecutor returns an executor over the resolvers.
func NewExecutor(r *Resolver, o ExecutorOptions) *Executor {
	if o.Documents == nil {
		o.Documents = graphql.NoCache[*ast.QueryDocument]{}
	}
	e := &Executor{
		schema: schema.AST(), input: schema.NewInputChecker(schema.AST()), guard: newGuard(r), charge: o.Charge,
		documents: &queryCache{o.Documents, map[string]*ast.QueryDocument{}},
	}
	e.Executor = executor.New(schema.NewExecutableSchema(schema.Config{
		Schema: e.schema, Resolvers: r, Directives: schema.DirectiveRoot{Auth: e.guard.directive},
	}))
	e.Use(extension.Introspection{}) // whether clients may ask for the schema is decided with their documents
	for _, x := range o.Extensions {
		e.Use(x)
	}
	e.SetQueryCache(e.documents)
	e.SetErrorPresenter(presenter{r.Log, o.Suggestions}.present)
	e.SetRecoverFunc(recoverPanic)
	return e
}

// Pin keeps a valid document of the service's own for good, by its exact text. It is called before any operation runs.
func (e *Executor) Pin(text string, doc *ast.QueryDocument) { e.documents.pinned[text] = doc }

// Authorize returns UNAUTHENTICATED where a root field's guard refuses the caller. An endpoint asks it before it
// complains of anything else.
func (e *Executor) Authorize(ctx context.Context, def *ast.FieldDefinition) error {
	return e.guard.allowField(ctx, def)
}

// CreateOperationContext parses and validates an operation, charges its root fields and checks its input.
func (e *Executor) CreateOperationContext(
	ctx context.Context, params *graphql.RawParams,
) (*graphql.OperationContext, gqlerror.List) {
	variables := params.Variables
	opCtx, errs := e.Executor.CreateOperationContext(ctx, params)
	doc, op := opCtx.Doc, opCtx.Operation
	if op == nil {
		doc, op = parseDespite(params, errs)
	}
	if op == nil {
		return opCtx, errs
	}
	if refused := e.chargeAll(ctx, doc, op.SelectionSet); refused != nil {
		return opCtx, gqlerror.List{gqlerror.Wrap(refused)}
	}
	if fields := e.input.Check(doc, op, variables); len(fields) > 0 {
		return opCtx, gqlerror.List{gqlerror.Wrap(e.refuse(ctx, op, fields))}
	}
	return opCtx, errs
}

// parseDespite returns the operation of a document that was refused only for values written into it, so that
// these are reported like those of variables.
func parseDespite(params *graphql.RawParams, errs gqlerror.List) (*ast.QueryDocument, *ast.OperationDefinition) {
	for _, err := range errs {
		if err.Rule != "ValuesOfCorrectType" && err.Rule != "ProvidedRequiredArguments" {
			return nil, nil
		}
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: params.Query})
	if err != nil {
		return nil, nil
	}
	return doc, doc.Operations.ForName(params.OperationName)
}

// chargeAll counts every root field of an operation, unless the request has been counted by its route.
func (e *Executor) chargeAll(ctx context.Context, doc *ast.QueryDocument, set ast.SelectionSet) *schema.Error {
	if e.charge == nil || schema.CallerFrom(ctx).Charged {
		return nil
	}
	for _, selection := range set {
		var refused *schema.Error
		switch s := selection.(type) {
		case *ast.Field:
			refused = e.charge(ctx, s.Name)
		case *ast.InlineFragment:
			refused = e.chargeAll(ctx, doc, s.SelectionSet)
		case *ast.FragmentSpread:
			if f := doc.Fragments.ForName(s.Name); f != nil {
				refused = e.chargeAll(ctx, doc, f.SelectionSet)
			}
		}
		if refused != nil {
			return refused
		}
	}
	return nil
}

// refuse reports invalid fields to a caller who may use the operation, and to any other only that.
func (e *Executor) refuse(ctx context.Context, op *ast.OperationDefinition, fields []schema.FieldError) error {
	root := e.schema.Query
	if op.Operation == ast.Mutation {
		root = e.schema.Mutation
	}
	for _, selection := range op.SelectionSet {
		if field, ok := selection.(*ast.Field); ok {
			if err := e.guard.allowField(ctx, root.Fields.ForName(field.Name)); err != nil {
				return err
			}
		}
	}
	return badInput(fields...)
}

// queryCache adds the service's own documents, which stay for good, to a bounded cache.
type queryCache struct {
	graphql.Cache[*ast.QueryDocument]
	pinned map[string]*ast.QueryDocument
}

// Get returns the document with this text.
func (c *queryCache) Get(ctx context.Context, text string) (*ast.QueryDocument, bool) {
	if doc, ok := c.pinned[text]; ok {
		return doc, true
	}
	return c.Cache.Get(ctx, text)
}
