package gqlhttp

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/maypok86/otter/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"siteapi/schema"
)

// Policy says which documents are accepted.
type Policy struct {
	// Schema is what documents are validated against. Required.
	Schema *ast.Schema
	// Limits bounds documents and requests.
	Limits Limits
	// Introspection lets clients ask for the schema.
	Introspection bool
	// Suggestions lets errors name what a client may have meant, which tells the names
	// of the schema to anybody. The error about an unknown field never does.
	Suggestions bool
	// Trusted are documents that clients may name by their id. They have to be valid but
	// are not held to the limits.
	Trusted []TrustedDocument
	// TrustedOnly refuses every other document.
	TrustedOnly bool
	// CacheBytes is about how much memory parsed documents may take; 0: 32 MiB.
	CacheBytes int64
}

// Documents parses, checks and keeps documents. It is the query cache of the door's
// executor, which so never parses what the door has parsed already.
type Documents struct {
	policy   Policy
	limits   Limits
	rules    []rule
	cache    *otter.Cache[string, *document]
	byID     map[string]*document            // trusted documents
	byTokens map[[sha256.Size]byte]*document // trusted documents, by their tokens
}

var _ graphql.Cache[*ast.QueryDocument] = (*Documents)(nil)

// document is a document that passed all checks. It is never changed.
type document struct {
	text  string
	ast   *ast.QueryDocument
	plans []*plan // of the operations, in their order
}

// The memory a parsed document takes is not known; these are on the safe side.
const (
	documentBase = 2 << 10  // bytes for each document
	documentByte = 40       // bytes for each byte of text
	maxKeptText  = 32 << 10 // bytes of text; longer documents are parsed each time
)

// NewDocuments returns the documents of a policy. A trusted document that is not valid
// is an error that names it.
func NewDocuments(p Policy) (*Documents, error) {
	if p.CacheBytes <= 0 {
		p.CacheBytes = 32 << 20
	}
	d := &Documents{policy: p, limits: p.Limits.withDefaults(), rules: validationRules(p.Suggestions)}
	var err error
	d.cache, err = otter.New(&otter.Options[string, *document]{
		MaximumWeight: uint64(p.CacheBytes),
		Weigher: func(text string, _ *document) uint32 {
			return uint32(documentBase + documentByte*len(text))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of documents: %w", err)
	}
	return d, d.addTrusted()
}

// load returns the document with this text. Where it is refused, the error says why; a
// parsed document comes with it if nothing but the values written into it are wrong.
func (d *Documents) load(text string) (*document, gqlerror.List) {
	if doc, ok := d.cache.GetIfPresent(text); ok {
		return doc, nil
	}
	if d.policy.TrustedOnly {
		doc, ok := d.byTokens[tokenHash(text, d.limits.Tokens)]
		if !ok {
			return nil, gqlerror.List{coded(gqlerror.Errorf("Only trusted documents are accepted here."), CodeNotTrusted)}
		}
		return d.keep(text, doc.as(text)), nil
	}
	doc, errs := d.compile(text, &d.limits)
	if len(errs) > 0 {
		return doc, errs
	}
	return d.keep(text, doc), nil
}

// keep puts a document into the cache unless it is too long.
func (d *Documents) keep(text string, doc *document) *document {
	if len(text) <= maxKeptText {
		d.cache.Set(text, doc)
	}
	return doc
}

// compile parses a document and applies all checks to it, the cheap ones first. Nil
// limits don't bound it.
func (d *Documents) compile(text string, limits *Limits) (*document, gqlerror.List) {
	tokens := 0
	if limits != nil && limits.Tokens < unlimited {
		tokens = limits.Tokens
	}
	parsed, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, tokens)
	if err != nil {
		return nil, presentable(gqlerror.List{gqlerror.WrapIfUnwrapped(err)})
	}
	if len(parsed.Operations) == 0 {
		return nil, presentable(gqlerror.List{gqlerror.Errorf("The document has no operation.")})
	}
	if limits != nil {
		if err := checkSize(parsed, limits); err != nil {
			return nil, presentable(gqlerror.List{err})
		}
	}
	doc := &document{text: text, ast: parsed}
	if errs := d.validate(parsed); len(errs) > 0 {
		if valuesOnly(errs) {
			return doc, presentable(errs)
		}
		return nil, presentable(errs)
	}
	undefer(parsed)
	for _, op := range parsed.Operations {
		p := newPlan(d.policy.Schema, op)
		switch {
		case p.introspects && !d.policy.Introspection:
			return nil, presentable(gqlerror.List{gqlerror.ErrorPosf(op.Position, "Introspection is off.")})
		case limits != nil && p.cost > limits.Cost:
			return nil, presentable(gqlerror.List{gqlerror.ErrorPosf(op.Position,
				"The operation costs %d; the limit is %d.", p.cost, limits.Cost)})
		}
		doc.plans = append(doc.plans, p)
	}
	return doc, nil
}

// operation returns the operation of this name and its plan, or says why there is none.
func (doc *document) operation(name string) (*ast.OperationDefinition, *plan, *refusal) {
	if name == "" {
		if len(doc.ast.Operations) > 1 {
			return nil, nil, badDocument("The document has several operations: operationName has to name one.")
		}
		return doc.ast.Operations[0], doc.plan(0), nil
	}
	for i, op := range doc.ast.Operations {
		if op.Name == name {
			return op, doc.plan(i), nil
		}
	}
	return nil, nil, badDocument("The document has no operation of that name.")
}

// plan returns the plan of an operation; a document that is not valid has none.
func (doc *document) plan(i int) *plan {
	if i >= len(doc.plans) {
		return &plan{}
	}
	return doc.plans[i]
}

// as returns the same document with the text a client uses for it.
func (doc *document) as(text string) *document {
	same := *doc
	same.text = text
	return &same
}

type documentKey struct{}

// withDocument hands a document to the executor, which asks Get for it.
func withDocument(ctx context.Context, doc *document) context.Context {
	return context.WithValue(ctx, documentKey{}, doc)
}

// Get returns a parsed and validated document: the one the door hands over, or one
// that is kept.
func (d *Documents) Get(ctx context.Context, text string) (*ast.QueryDocument, bool) {
	if doc, ok := ctx.Value(documentKey{}).(*document); ok && doc.text == text {
		return doc.ast, true
	}
	if doc, ok := d.cache.GetIfPresent(text); ok {
		return doc.ast, true
	}
	return nil, false
}

// Add does nothing: only documents that passed the door's own checks are kept.
func (d *Documents) Add(context.Context, string, *ast.QueryDocument) {}

func coded(err *gqlerror.Error, code schema.Code) *gqlerror.Error {
	if err.Extensions == nil {
		err.Extensions = map[string]any{}
	}
	err.Extensions[schema.ExtensionCode] = string(code)
	return err
}
