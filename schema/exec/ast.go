// Package exec is gqlgen's executor, generated from the SDL in the folder above.
package exec

import (
	"maps"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
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

// SDL returns the schema as text, without @rest, which has a meaning only in the service's own
// operation documents.
func SDL() string {
	public := *served
	public.Types, public.Directives = maps.Clone(public.Types), maps.Clone(public.Directives)

	delete(public.Types, "RestMethod")
	delete(public.Types, "RestAnswer")
	delete(public.Directives, "rest")

	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(&public)
	return text.String()
}
