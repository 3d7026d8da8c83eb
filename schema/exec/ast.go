// Package exec is gqlgen's executor, generated from the SDL in the folder above.
package exec

import (
	"maps"

	"github.com/vektah/gqlparser/v2/ast"
)

// AST returns the schema that is served. It is shared: callers don't change it.
func AST() *ast.Schema { return served }

// served is the parsed schema without @defer, which gqlgen adds: no endpoint sends an answer
// in parts.
var served = func() *ast.Schema {
	s := *parsedSchema
	s.Directives = maps.Clone(parsedSchema.Directives)
	delete(s.Directives, "defer")
	return &s
}()
