package gqlhttp

import (
	"bytes"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// call is an operation on its way through the executor.
type call struct {
	*request
	doc     *document
	op      *ast.OperationDefinition
	plan    *plan
	hash    uint64 // of the request, for its kept answer
	invalid bool   // values in the document are wrong: the executor will say so

	// opCtx is what the executor has made of the operation. Of a kept call it is used by
	// many requests at once, which spares them checking variables and collecting fields:
	// it carries no header of any of them, and its statistics are those of the first.
	opCtx *graphql.OperationContext
	kept  bool
}

// keepable returns the call in a form that outlives its request, and the request's
// bytes. The operation has ended.
func (c *call) keepable() ([]byte, *call) {
	kept := *c
	kept.kept = true
	kept.request = &request{raw: bytes.Clone(c.raw), get: c.get}
	kept.opCtx.Headers = nil
	return kept.raw, &kept
}
