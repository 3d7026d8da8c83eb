package graphqlhttp

import (
	"context"
	"unicode/utf8"

	"github.com/maypok86/otter/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"siteapi/resolvers/executor"
	"siteapi/schema"
	"siteapi/schema/exec"
)

// Error codes in addition to those of package schema.
const (
	// CodePersistedQueryNotFound asks an APQ client to send the whole document.
	CodePersistedQueryNotFound schema.Code = "PERSISTED_QUERY_NOT_FOUND"
	// CodeNotTrusted rejects a document that is not a trusted document.
	CodeNotTrusted schema.Code = "QUERY_NOT_IN_SAFELIST"
)

var (
	errNotFound   = schema.NewError(CodePersistedQueryNotFound, "PersistedQueryNotFound")
	errNotTrusted = schema.NewError(CodeNotTrusted, "Only trusted documents are accepted here.")
)

// Memory for automatic persisted queries (APQ).
const (
	registeredBytes  = 8 << 20
	registeredWeight = 256 // bytes for each document in addition to its text
)

// DocumentOptions configures which documents are accepted.
type DocumentOptions struct {
	Introspection bool              // clients may query the schema
	Trusted       []TrustedDocument // documents that clients may request by id
	TrustedOnly   bool              // every other document is rejected
}

// Documents parses, checks and caches documents. It is the executor's query cache.
type Documents struct {
	DocumentOptions

	cache      *otter.Cache[string, *document] // parsed documents by their text
	registered *otter.Cache[string, string]    // texts of automatic persisted queries by their SHA-256
	byID       map[string]string               // texts of trusted documents by their ids
	trusted    map[string]bool                 // canonical texts of trusted operations
}

// document is a parsed document. It is immutable.
type document struct {
	ast        *ast.QueryDocument
	operations []*operation
}

// Memory for parsed documents. The size of one is estimated generously.
const (
	documentCacheBytes = 32 << 20
	documentBase       = 2 << 10 // bytes for each document
	documentByte       = 40      // bytes for each byte of text
)

// NewDocuments returns the documents that the options allow. If a trusted document is
// invalid, the error names it.
func NewDocuments(o DocumentOptions) (*Documents, error) {
	d := &Documents{DocumentOptions: o}
	d.cache = otter.Must(&otter.Options[string, *document]{
		MaximumWeight: documentCacheBytes,
		Weigher: func(text string, _ *document) uint32 {
			return uint32(documentBase + documentByte*len(text))
		},
	})
	d.registered = otter.Must(&otter.Options[string, string]{
		MaximumWeight: registeredBytes,
		Weigher:       func(_, text string) uint32 { return uint32(registeredWeight + len(text)) },
	})

	return d, d.addTrusted()
}

// Get returns a parsed and validated document, for the executor.
func (d *Documents) Get(_ context.Context, text string) (*ast.QueryDocument, bool) {
	if doc, ok := d.cache.GetIfPresent(text); ok {
		return doc.ast, true
	}
	return nil, false
}

// Add does nothing: only documents that passed the endpoint's own checks are cached.
func (d *Documents) Add(context.Context, string, *ast.QueryDocument) {}

// find returns the operation of a request, and registers its document if the request has
// its hash.
func (d *Documents) find(req *params) (*operation, error) {
	hash, err := d.resolve(req)
	if err != nil {
		return nil, err
	}
	operations, err := d.load(req.Query)
	if err != nil {
		return nil, err
	}

	for _, op := range operations {
		if op.Name != req.OperationName && (req.OperationName != "" || len(operations) > 1) {
			continue
		}
		if hash != "" && len(op.wrong) == 0 {
			d.registered.Set(hash, req.Query)
		}
		return op, nil
	}
	return nil, schema.BadRequest("operationName must name an operation of the document.")
}

// resolve sets the document of a request that has only an id: a trusted document, or one
// that a client has registered (APQ). The returned hash, which is usually empty, must be
// registered once the document has passed all checks.
func (d *Documents) resolve(req *params) (hash string, _ error) {
	switch id := req.documentID; {
	case id == "", req.Query != "" && (d.TrustedOnly || d.byID[id] == req.Query):
		return "", nil
	case req.Query != "" && hashText(req.Query) != id:
		return "", schema.BadRequest("The hash is not the SHA-256 of the query.")
	case req.Query != "":
		return id, nil
	}

	text, ok := d.byID[req.documentID]
	if !ok && !d.TrustedOnly {
		text, ok = d.registered.GetIfPresent(req.documentID)
	}

	switch {
	case ok:
		req.Query = text
		return "", nil
	case d.TrustedOnly:
		return "", errNotTrusted
	default:
		return "", errNotFound
	}
}

// load returns the operations of the document with this text.
func (d *Documents) load(text string) ([]*operation, error) {
	if doc, ok := d.cache.GetIfPresent(text); ok {
		return doc.operations, nil
	}

	parsed, err := parseDocument(text)
	trusted := err == nil && d.isTrusted(parsed)
	if d.TrustedOnly && !trusted {
		return nil, errNotTrusted
	}
	if err != nil {
		return nil, err
	}

	operations, errs := d.check(parsed)
	if len(errs) > 0 {
		return nil, errs
	}
	for _, op := range operations {
		op.trusted = trusted
	}
	if len(operations[0].wrong) == 0 {
		d.cache.Set(text, &document{parsed, operations})
	}
	return operations, nil
}

// parseDocument parses a document and applies the checks that take linear time.
func parseDocument(text string) (*ast.QueryDocument, *gqlerror.Error) {
	parsed, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
	if err != nil {
		return nil, gqlerror.WrapIfUnwrapped(err)
	}
	if len(parsed.Operations) == 0 {
		return nil, gqlerror.Errorf("The document has no operation.")
	}
	return parsed, checkSize(parsed)
}

// check validates a parsed document. If only values in the document are wrong, it returns
// the operations with these errors, since the executor reports all wrong values at once
// and with their paths.
func (d *Documents) check(doc *ast.QueryDocument) (operations []*operation, errs gqlerror.List) {
	errs = validator.ValidateWithRules(exec.AST(), doc, executor.Rules())
	for _, err := range errs {
		if err.Rule != "ValuesOfCorrectType" && err.Rule != "ProvidedRequiredArguments" {
			return nil, errs
		}
	}

	notNull := variablesNotNull(doc)
	for _, def := range doc.Operations {
		op := newOperation(def)
		op.notNull = notNull[def]
		op.wrong = errs
		operations = append(operations, op)
		switch {
		case op.introspects && !d.Introspection:
			return nil, gqlerror.List{
				gqlerror.ErrorPosf(op.Position,
					"Introspection is off. The command `siteapi sdl` prints the schema."),
			}
		case op.introspects && aliased(def.SelectionSet):
			// Each level of aliases would multiply the response.
			return nil, gqlerror.List{gqlerror.ErrorPosf(op.Position, "Introspection must not use aliases.")}
		case op.cost > maxCost:
			return nil, gqlerror.List{
				gqlerror.ErrorPosf(op.Position, "The operation costs %d; the limit is %d.", op.cost, maxCost),
			}
		}
	}
	return operations, nil
}

// variablesNotNull returns the variables of each operation that stand where null is not
// allowed. Validation accepts a nullable variable there if it or the place has a default, but
// the executor does not check the value.
func variablesNotNull(doc *ast.QueryDocument) map[*ast.OperationDefinition][]string {
	found := map[*ast.OperationDefinition][]string{}
	var events validator.Events
	events.OnValue(func(at *validator.Walker, v *ast.Value) {
		if v.Kind == ast.Variable && v.ExpectedType != nil && v.ExpectedType.NonNull &&
			at.CurrentOperation != nil {
			found[at.CurrentOperation] = append(found[at.CurrentOperation], v.Raw)
		}
	})
	validator.Walk(exec.AST(), doc, &events)
	return found
}

// Limits on errors that are sent.
const (
	maxErrors  = 20
	maxMessage = 500 // bytes; the parser quotes the document
)

// shorten limits the number of errors and the length of their messages.
func shorten(errs gqlerror.List) gqlerror.List {
	errs = errs[:min(len(errs), maxErrors)]
	for _, err := range errs {
		if len(err.Message) > maxMessage {
			cut := maxMessage
			for !utf8.RuneStart(err.Message[cut]) {
				cut--
			}
			err.Message = err.Message[:cut] + "…"
		}
	}
	return errs
}
