// Package exec is gqlgen's executor, generated from the SDL in the folder above.
package exec

import (
	"maps"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
)

// AST returns the served schema. It is shared, so callers must not change it.
func AST() *ast.Schema { return served }

// served is the parsed schema without @defer, which gqlgen adds: no endpoint sends a response
// in parts.
var served = func() *ast.Schema {
	s := *parsedSchema
	s.Directives = maps.Clone(parsedSchema.Directives)
	delete(s.Directives, "defer")
	return &s
}()

// SDL returns the schema as text, without @rest, @command and @tool, which have an effect only
// in the service's own operation documents.
func SDL() string {
	public := *served
	public.Types, public.Directives = maps.Clone(public.Types), maps.Clone(public.Directives)

	for _, name := range []string{"RestMethod", "ToolAudience"} {
		delete(public.Types, name)
	}
	for _, name := range []string{"rest", "command", "tool"} {
		delete(public.Directives, name)
	}

	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(&public)
	return text.String()
}
