// Package schema is the contract of the service: the SDL, one file per feature, the
// code generated from it, and what both doors share of it beyond types: error codes,
// input bounds, scalars, and who is calling.
package schema

import "github.com/vektah/gqlparser/v2/ast"

// AST returns the parsed schema that the executable schema was generated from. It is
// shared: callers don't change it.
func AST() *ast.Schema { return parsedSchema }
