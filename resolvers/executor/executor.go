// Package executor runs GraphQL operations for both endpoints with gqlgen's executor. It
// adds what every operation needs: authorization, input validation, a limit on the size
// of the response, and the presentation of errors.
package executor

import (
	"context"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	gqlgen "github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"siteapi/integrations/panics"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
	"siteapi/schema/request"
)

// Options configures an [Executor]. A field is required unless its comment states
// otherwise.
type Options struct {
	Resolvers exec.ResolverRoot
	Secrets   Secrets
	Log       zerolog.Logger

	// RecordWebhook records a rejected webhook: "refused_" and the reason. Optional.
	RecordWebhook func(outcome string)

	// ContentSize returns the bytes of all content, which must fit into a response.
	ContentSize func() int

	// Documents is the query cache of clients' documents. nil: no cache.
	Documents graphql.Cache[*ast.QueryDocument]

	// Operations are the service's own documents, which are already parsed.
	Operations []*operations.Operation

	// Charge counts n uses of a root field against the rate limit of its REST route, so
	// that GraphQL does not bypass the limit. It does not count a request to that route
	// again. nil: no limit.
	Charge func(ctx context.Context, field string, n int) *schema.Error

	// EnterDatabase counts a request with a root field that needs the database against
	// the limit of such requests. nil: no limit.
	EnterDatabase func(ctx context.Context) *schema.Error

	// ChargeMore counts work of an operation as further requests against the rate limit
	// of GraphQL. nil: no limit.
	ChargeMore func(ctx context.Context, requests int) *schema.Error
}

// Executor is gqlgen's executor for both endpoints. It adds checks before an operation
// runs: all invalid input values are reported at once, and a missing token is reported
// before any other error of a request.
type Executor struct {
	*gqlgen.Executor
	Options

	input  *schema.InputChecker
	tokens map[schema.TokenKind][]string
	panics panics.Log
}

// New returns an executor over resolvers.
func New(o Options) *Executor {
	if o.Documents == nil {
		o.Documents = graphql.NoCache[*ast.QueryDocument]{}
	}

	e := &Executor{Options: o, input: schema.NewInputChecker(exec.AST()), tokens: o.Secrets.tokens()}
	e.Executor = gqlgen.New(exec.NewExecutableSchema(exec.Config{
		Schema:     exec.AST(),
		Resolvers:  o.Resolvers,
		Directives: exec.DirectiveRoot{Auth: e.auth, Personal: e.personal},
	}))

	// Introspection is always on here: the checks of clients' documents decide whether it
	// is allowed.
	e.Use(extension.Introspection{})
	e.AroundOperations(e.addBudget)
	e.AroundFields(e.bound)
	all := documents{o.Documents, map[string]*ast.QueryDocument{}}
	for _, op := range o.Operations {
		all.own[op.Text] = op.Document
	}
	e.SetQueryCache(all)
	e.SetDefaultRulesFn(Rules)
	e.SetErrorPresenter(e.present)
	e.SetRecoverFunc(e.recover)
	return e
}

// Rules returns gqlparser's rules without suggestions ("Did you mean …"). Finding them
// takes seconds for a long name, which is compared with each name in the schema.
func Rules() *rules.Rules {
	set := rules.NewDefaultRules()
	set.ReplaceRule("FieldsOnCorrectType", rules.FieldsOnCorrectTypeRuleWithoutSuggestions.RuleFunc)
	set.ReplaceRule("KnownArgumentNames", rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
	set.ReplaceRule("KnownTypeNames", rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
	set.ReplaceRule("ScalarLeafs", rules.ScalarLeafsRuleWithoutSuggestions.RuleFunc)
	set.ReplaceRule("ValuesOfCorrectType", rules.ValuesOfCorrectTypeRuleWithoutSuggestions.RuleFunc)
	return set
}

// documents finds the service's own documents and those of clients.
type documents struct {
	graphql.Cache[*ast.QueryDocument]
	own map[string]*ast.QueryDocument
}

// Get implements [graphql.Cache].
func (d documents) Get(ctx context.Context, text string) (*ast.QueryDocument, bool) {
	if doc, ok := d.own[text]; ok {
		return doc, true
	}
	return d.Cache.Get(ctx, text)
}

// CheckToken returns UNAUTHENTICATED if a root field's @auth refuses the caller's token.
// An endpoint calls it before it reads a body.
func (e *Executor) CheckToken(ctx context.Context, field *ast.FieldDefinition) *schema.Error {
	if kind, guarded := tokenKind(field); guarded {
		_, err := e.checkToken(request.CallerFrom(ctx), kind)
		return err
	}
	return nil
}

// Operator returns the authenticated operator, or UNAUTHENTICATED.
func (e *Executor) Operator(ctx context.Context) (request.Operator, *schema.Error) {
	return e.checkToken(request.CallerFrom(ctx), schema.TokenKindAdmin)
}

// Authorize returns UNAUTHENTICATED if a root field's @auth refuses the caller, because
// of the token or the body's signature. An endpoint calls it before it reports any other
// error.
func (e *Executor) Authorize(ctx context.Context, field *ast.FieldDefinition) *schema.Error {
	if kind, guarded := tokenKind(field); guarded {
		_, err := e.authorize(request.CallerFrom(ctx), kind)
		return err
	}
	return nil
}

// Admit charges the root fields of a validated operation and checks its variables. It
// adds defaults to them and removes unusable hints. Each endpoint calls it before
// gqlgen's executor runs the operation. With ignoreUnknown, which REST sets, it ignores
// unknown fields of an input type.
func (e *Executor) Admit(
	ctx context.Context, op *ast.OperationDefinition, variables map[string]any, ignoreUnknown bool,
) *schema.Error {
	if e.Charge != nil {
		times := map[string]int{}
		for _, field := range schema.Fields(op.SelectionSet) {
			times[field.Name]++
		}

		for field, n := range times {
			if refused := e.Charge(ctx, field, n); refused != nil {
				return refused
			}
		}
	}

	if e.EnterDatabase != nil && op.Operation != ast.Subscription && needsDatabase(op) {
		if refused := e.EnterDatabase(ctx); refused != nil {
			return refused
		}
	}

	invalid, dropped := e.input.Check(op, variables, ignoreUnknown)
	request.RecordFrom(ctx).Drop(dropped)
	if len(invalid) == 0 {
		return nil
	}

	// Only authorized callers get the errors of the input.
	for _, field := range schema.Fields(op.SelectionSet) {
		if err := e.Authorize(ctx, field.Definition); err != nil {
			return err
		}
	}
	return schema.BadInput(invalid...)
}

// needsDatabase reports whether a root field of an operation may wait for the database.
// Fields with @cacheControl are resolved from the content, and those of introspection from
// the schema.
func needsDatabase(op *ast.OperationDefinition) bool {
	return slices.ContainsFunc(schema.Fields(op.SelectionSet), func(f *ast.Field) bool {
		return !strings.HasPrefix(f.Name, "__") && f.Definition.Directives.ForName("cacheControl") == nil
	})
}
