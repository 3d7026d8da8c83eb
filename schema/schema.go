// Package schema is the contract of the service. It holds the SDL, one file per feature,
// the code generated from it, and the other things that both endpoints share: error
// codes, input bounds, scalars, and the caller.
package schema

import (
	"maps"

	"github.com/vektah/gqlparser/v2/ast"
)

// AST returns the schema that is served. Callers share it and must not change it.
func AST() *ast.Schema { return served }

// served is the parsed schema without @defer, which gqlgen adds. No endpoint sends a
// response in parts.
var served = func() *ast.Schema {
	s := *parsedSchema
	s.Directives = maps.Clone(parsedSchema.Directives)
	delete(s.Directives, "defer")
	return &s
}()
