package gqlhttp

import "github.com/vektah/gqlparser/v2/ast"

// call is an operation on its way through the executor.
type call struct {
	*request
	doc     *document
	op      *ast.OperationDefinition
	plan    *plan
	hash    uint64 // of the request, for its kept answer
	invalid bool   // values in the document are wrong: the executor will say so
}
