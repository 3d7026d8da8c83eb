package resolvers

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"siteapi/schema"
)

// ExecutorOptions adjusts an executor. The zero value is the strictest.
type ExecutorOptions struct {
	// Documents keeps parsed and validated documents by their text, none of which may have
	// @defer; nil: only the service's own operations are kept.
	Documents graphql.Cache[*ast.QueryDocument]
	// TokenLimit is the most tokens a document may have; 0: no limit.
	TokenLimit int
	// Introspection lets clients ask for the schema.
	Introspection bool
	// Charge counts a root field against the limit of its route and returns RATE_LIMITED
	// where that is used up, so that no door is a way around it; nil: nothing is counted.
	Charge func(ctx context.Context, field string) *schema.Error
	// Suggestions adds «Did you mean …» to errors about unknown fields.
	Suggestions bool
}

// Executor runs operations for every door. Beyond gqlgen's own executor, which it
// wraps, it reports all invalid input values at once and lets a missing token win
// over whatever else is wrong with a request.
type Executor struct {
	inner      *executor.Executor
	executable graphql.ExecutableSchema
	present    graphql.ErrorPresenterFunc
	schema     *ast.Schema
	input      *schema.InputChecker
	guard      *guard
	docs       *documents
	options    ExecutorOptions
}

var _ graphql.GraphExecutor = (*Executor)(nil)

// NewExecutor returns an executor over the resolvers.
func NewExecutor(r *Resolver, o ExecutorOptions) (*Executor, error) {
	e := &Executor{
		schema: schema.AST(), input: schema.NewInputChecker(schema.AST()), guard: newGuard(r), docs: &documents{next: o.Documents}, options: o,
	}
	e.executable = schema.NewExecutableSchema(schema.Config{
		Resolvers: r, Directives: schema.DirectiveRoot{Auth: e.guard.directive},
	})
	e.present = presenter{r.Log, o.Suggestions}.present
	e.inner = executor.New(e.executable)
	e.inner.SetQueryCache(e.docs)
	e.inner.SetParserTokenLimit(o.TokenLimit)
	e.inner.SetDisableSuggestion(!o.Suggestions)
	e.inner.SetErrorPresenter(e.present)
	e.inner.SetRecoverFunc(recoverPanic)
	return e, nil
}

// Pin keeps a validated document of the service's own for good, by its exact text.
func (e *Executor) Pin(query string, doc *ast.QueryDocument) { e.docs.pinned.Store(query, doc) }

// Authorize returns UNAUTHENTICATED where a root field's guard refuses the caller. A
// door asks it before it complains of anything else.
func (e *Executor) Authorize(ctx context.Context, def *ast.FieldDefinition) error {
	return e.guard.allowField(ctx, def)
}

// CreateOperationContext parses, validates and checks an operation and its variables.
func (e *Executor) CreateOperationContext(
	ctx context.Context, params *graphql.RawParams,
) (*graphql.OperationContext, gqlerror.List) {
	if doc, ok := e.docs.own(params.Query); ok {
		return e.ownOperation(ctx, params, doc)
	}
	vars := params.Variables
	opCtx, errs := e.inner.CreateOperationContext(ctx, params)
	opCtx.DisableIntrospection = !e.options.Introspection
	doc, op := opCtx.Doc, opCtx.Operation
	if len(errs) > 0 && op == nil {
		doc, op = inputErrorsOnly(params, errs)
	}
	if op == nil {
		return opCtx, errs
	}
	if refused := e.charge(ctx, doc, op.SelectionSet); refused != nil {
		return opCtx, refused
	}
	if fields := e.input.Check(doc, op, vars); len(fields) > 0 {
		return opCtx, e.refuse(ctx, op, fields)
	}
	return opCtx, errs
}

// charge counts every root field of an operation, unless the door has counted the
// request by its route already.
func (e *Executor) charge(ctx context.Context, doc *ast.QueryDocument, set ast.SelectionSet) gqlerror.List {
	if e.options.Charge == nil || schema.CallerFrom(ctx).Charged {
		return nil
	}
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if refused := e.options.Charge(ctx, sel.Name); refused != nil {
				return gqlerror.List{gqlerror.Wrap(refused)}
			}
		case *ast.InlineFragment:
			if refused := e.charge(ctx, doc, sel.SelectionSet); refused != nil {
				return refused
			}
		case *ast.FragmentSpread:
			if f := doc.Fragments.ForName(sel.Name); f != nil {
				if refused := e.charge(ctx, doc, f.SelectionSet); refused != nil {
					return refused
				}
			}
		}
	}
	return nil
}

// ownOperation makes one of the service's own operations ready. Its document was
// validated when it was pinned, and the checker leaves nothing for gqlgen's own check of
// variables to find, which costs more than all else on the way to a resolver.
func (e *Executor) ownOperation(
	ctx context.Context, params *graphql.RawParams, doc *ast.QueryDocument,
) (*graphql.OperationContext, gqlerror.List) {
	op := doc.Operations[0]
	opCtx := &graphql.OperationContext{
		RawQuery: params.Query, Variables: params.Variables, OperationName: params.OperationName, Doc: doc,
		Headers: params.Headers, Operation: op, DisableIntrospection: true, RecoverFunc: recoverPanic,
		ResolverMiddleware:     func(ctx context.Context, next graphql.Resolver) (any, error) { return next(ctx) },
		RootResolverMiddleware: func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler { return next(ctx) },
	}
	if refused := e.charge(ctx, doc, op.SelectionSet); refused != nil {
		return opCtx, refused
	}
	if fields := e.input.Check(doc, op, params.Variables); len(fields) > 0 {
		return opCtx, e.refuse(ctx, op, fields)
	}
	return opCtx, nil
}

// refuse reports invalid fields to a caller who may use the operation, and to any
// other only that.
func (e *Executor) refuse(ctx context.Context, op *ast.OperationDefinition, fields []schema.FieldError) gqlerror.List {
	for _, sel := range op.SelectionSet {
		field, ok := sel.(*ast.Field)
		if !ok {
			continue
		}
		if err := e.guard.allowField(ctx, e.rootField(op, field.Name)); err != nil {
			return gqlerror.List{gqlerror.Wrap(err)}
		}
	}
	return gqlerror.List{gqlerror.Wrap(badInput(fields...))}
}

func (e *Executor) rootField(op *ast.OperationDefinition, name string) *ast.FieldDefinition {
	root := e.schema.Query
	if op.Operation == ast.Mutation {
		root = e.schema.Mutation
	}
	return root.Fields.ForName(name)
}

// inputErrorsOnly returns the operation of a document that was refused for nothing but
// the values written into it, so that they can be reported like those of variables.
func inputErrorsOnly(params *graphql.RawParams, errs gqlerror.List) (*ast.QueryDocument, *ast.OperationDefinition) {
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

// DispatchOperation executes an operation, without gqlgen's own detours where nothing
// can be deferred.
func (e *Executor) DispatchOperation(
	ctx context.Context, opCtx *graphql.OperationContext,
) (graphql.ResponseHandler, context.Context) {
	if _, own := e.docs.own(opCtx.RawQuery); !own && e.docs.next == nil {
		return e.inner.DispatchOperation(ctx, opCtx)
	}
	ctx = graphql.WithResponseContext(graphql.WithOperationContext(ctx, opCtx), e.present, recoverPanic)
	return func(ctx context.Context) *graphql.Response {
		if ctx.Err() != nil {
			return nil
		}
		res := schema.Execute(ctx, e.executable)
		res.Errors = graphql.GetErrors(ctx)
		return res
	}, ctx
}

// DispatchError presents errors that kept an operation from being executed.
func (e *Executor) DispatchError(ctx context.Context, list gqlerror.List) *graphql.Response {
	return e.inner.DispatchError(ctx, list)
}

// documents holds the service's own documents for good and leaves the others to a
// bounded cache.
type documents struct {
	pinned sync.Map // query text → *ast.QueryDocument
	next   graphql.Cache[*ast.QueryDocument]
}

// own returns a pinned document whose variables need no defaults filled in.
func (d *documents) own(query string) (*ast.QueryDocument, bool) {
	v, ok := d.pinned.Load(query)
	if !ok {
		return nil, false
	}
	doc := v.(*ast.QueryDocument)
	for _, def := range doc.Operations[0].VariableDefinitions {
		if def.DefaultValue != nil {
			return nil, false
		}
	}
	return doc, true
}

// Get returns the document with this text.
func (d *documents) Get(ctx context.Context, query string) (*ast.QueryDocument, bool) {
	if doc, ok := d.pinned.Load(query); ok {
		return doc.(*ast.QueryDocument), true
	}
	if d.next == nil {
		return nil, false
	}
	return d.next.Get(ctx, query)
}

// Add keeps a document that was validated.
func (d *documents) Add(ctx context.Context, query string, doc *ast.QueryDocument) {
	if d.next != nil {
		d.next.Add(ctx, query, doc)
	}
}
