package graphqlhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/maypok86/otter/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"siteapi/resolvers/executor"
	"siteapi/schema"
)

// Error codes in addition to those of package schema.
const (
	// CodePersistedQueryNotFound asks an APQ client to send the whole document.
	CodePersistedQueryNotFound schema.Code = "PERSISTED_QUERY_NOT_FOUND"
	// CodeNotTrusted refuses a document that is not one of the trusted documents.
	CodeNotTrusted schema.Code = "QUERY_NOT_IN_SAFELIST"
)

var (
	errNotFound   = &schema.Error{Code: CodePersistedQueryNotFound, Message: "PersistedQueryNotFound"}
	errNotTrusted = &schema.Error{Code: CodeNotTrusted, Message: "Only trusted documents are accepted here."}
)

// Memory for automatic persisted queries (APQ).
const (
	registeredBytes  = 8 << 20
	registeredWeight = 256 // bytes for each document beside its text
)

// DocumentOptions says which documents are accepted.
type DocumentOptions struct {
	Schema        *ast.Schema
	Introspection bool              // clients may ask for the schema
	Trusted       []TrustedDocument // documents that clients may name by their id
	TrustedOnly   bool              // every other document is refused
}

// Documents parses, checks and caches documents. It is the executor's query cache.
type Documents struct {
	DocumentOptions

	cache      *otter.Cache[string, *document] // parsed documents by their text
	registered *otter.Cache[string, string]    // texts of automatic persisted queries by their SHA-256
	byID       map[string]string               // texts of trusted documents by their ids
	trusted    map[string]bool                 // trusted documents as the formatter writes them
}

// document is a parsed document. It is never changed.
type document struct {
	ast        *ast.QueryDocument
	operations []*operation // empty if the document is refused
}

// Memory for parsed documents. The size of one is estimated generously.
const (
	documentCacheBytes = 32 << 20
	documentBase       = 2 << 10 // bytes for each document
	documentByte       = 40      // bytes for each byte of text
)

// NewDocuments returns the documents that the options allow. If a trusted document would
// be refused, the error names it.
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

// load returns the document with this text, and what is wrong with it. A refused document
// has no operations. One that cannot be parsed is nil.
func (d *Documents) load(text string) (*document, gqlerror.List) {
	if doc, ok := d.cache.GetIfPresent(text); ok {
		return doc, nil
	}

	doc, err := d.parse(text)
	trusted := err == nil && len(d.trusted) > 0 && d.trusted[canonical(doc.ast)]
	if d.TrustedOnly && !trusted {
		return doc, gqlerror.List{gqlerror.Wrap(errNotTrusted)}
	}
	if err != nil {
		return doc, gqlerror.List{err}
	}

	errs := d.check(doc)
	for _, op := range doc.operations {
		op.trusted = trusted
	}
	if len(errs) == 0 {
		d.cache.Set(text, doc)
	}
	return doc, errs
}

// parse reads a document and applies the checks that take linear time.
func (d *Documents) parse(text string) (*document, *gqlerror.Error) {
	parsed, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
	if err != nil {
		return nil, gqlerror.WrapIfUnwrapped(err)
	}
	if len(parsed.Operations) == 0 {
		return nil, gqlerror.Errorf("The document has no operation.")
	}
	return &document{ast: parsed}, checkSize(parsed)
}

// check validates a parsed document. It adds the operations even if values written into
// the document are wrong, but nothing else is.
func (d *Documents) check(doc *document) gqlerror.List {
	errs := validator.ValidateWithRules(d.Schema, doc.ast, executor.Rules())
	if len(errs) > 0 && !onlyValues(errs) {
		return errs
	}

	var operations []*operation
	for _, def := range doc.ast.Operations {
		op := newOperation(d.Schema, def)
		switch {
		case op.introspects && !d.Introspection:
			return gqlerror.List{
				gqlerror.ErrorPosf(op.Position, "Introspection is off. The command `siteapi sdl` prints the schema."),
			}
		case op.cost > maxCost:
			return gqlerror.List{
				gqlerror.ErrorPosf(op.Position, "The operation costs %d; the limit is %d.", op.cost, maxCost),
			}
		}
		operations = append(operations, op)
	}

	doc.operations = operations
	return errs
}

// canonical returns a document as the formatter writes it, which does not depend on white
// space, commas and comments.
func canonical(doc *ast.QueryDocument) string {
	var text bytes.Buffer
	formatter.NewFormatter(&text).FormatQueryDocument(doc)
	return text.String()
}

// operation returns the operation of this name, or nil if there is none. The name may be
// empty if there is only one operation.
func (doc *document) operation(name string) *operation {
	for _, op := range doc.operations {
		if op.Name == name || name == "" && len(doc.operations) == 1 {
			return op
		}
	}
	return nil
}

// summarize describes for the access log what a document asks for that is refused. Nothing
// comes from the client's text; the names of fields are taken from the schema.
func (d *Documents) summarize(doc *document, name string) (asked schema.Operation) {
	op := doc.ast.Operations.ForName(name)
	if op == nil {
		return asked
	}

	root := d.Schema.Query
	switch op.Operation {
	case ast.Mutation:
		root = d.Schema.Mutation
	case ast.Subscription:
		root = d.Schema.Subscription
	}

	asked.Type = string(op.Operation)
	for _, selection := range op.SelectionSet {
		f, ok := selection.(*ast.Field)
		if !ok || slices.Contains(asked.RootFields, f.Name) {
			continue
		}
		if def := root.Fields.ForName(f.Name); def != nil {
			asked.RootFields = append(asked.RootFields, def.Name)
		}
	}
	return asked
}

// onlyValues reports whether only values written into a document are wrong.
func onlyValues(errs gqlerror.List) bool {
	for _, err := range errs {
		if err.Rule != "ValuesOfCorrectType" && err.Rule != "ProvidedRequiredArguments" {
			return false
		}
	}
	return true
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

// addTrusted checks the trusted documents. Its error names all that would be refused.
func (d *Documents) addTrusted() error {
	d.byID, d.trusted = map[string]string{}, map[string]bool{}
	var problems []error
	for _, t := range d.Trusted {
		if problem := d.addOneTrusted(t); problem != nil {
			problems = append(problems, fmt.Errorf("trusted document %s: %w", t.Name, problem))
		}
	}

	if d.TrustedOnly && len(d.Trusted) == 0 {
		problems = append(problems, errors.New("only trusted documents are accepted, but there are none"))
	}

	return errors.Join(problems...)
}

func (d *Documents) addOneTrusted(t TrustedDocument) error {
	parsed, err := d.parse(t.Text)
	if err != nil {
		return err
	}
	if errs := d.check(parsed); len(errs) > 0 {
		return errs[0]
	}

	for _, id := range t.IDs {
		if known, ok := d.byID[id]; id == "" || ok && known != t.Text {
			return fmt.Errorf("its id %q is missing or belongs to another document", id)
		}
		d.byID[id] = t.Text
	}

	d.trusted[canonical(parsed.ast)] = true
	return nil
}
