package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"

	"github.com/urfave/cli/v3"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"siteapi/schema"
)

func sdlCommand(out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "sdl", Usage: "print the GraphQL schema, for code generators and other tools",
		Description: "It needs no settings, and no introspection.\n\n   siteapi sdl > schema.graphql",
		Action:      func(context.Context, *cli.Command) error { return printSDL(out) },
	}
}

// printSDL prints the schema as clients see it: everything but @rest, which describes
// routes in the service's own operation documents and means nothing in a client's.
func printSDL(out io.Writer) error {
	public := *schema.AST()
	public.Types = maps.Clone(public.Types)
	public.Directives = maps.Clone(public.Directives)
	hide(&public, "rest")
	var text bytes.Buffer
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(&public)
	if _, err := out.Write(text.Bytes()); err != nil {
		return fmt.Errorf("printing the schema: %w", err)
	}
	return nil
}

// hide leaves a directive out of a schema, with the enums that only it uses.
func hide(s *ast.Schema, directive string) {
	hidden := s.Directives[directive]
	delete(s.Directives, directive)
	for _, argument := range hidden.Arguments {
		name := argument.Type.Name()
		if def := s.Types[name]; def != nil && def.Kind == ast.Enum && !used(s, name) {
			delete(s.Types, name)
		}
	}
}

// used reports whether anything in a schema is of the named type.
func used(s *ast.Schema, name string) bool {
	in := func(list ast.ArgumentDefinitionList) bool {
		for _, a := range list {
			if a.Type.Name() == name {
				return true
			}
		}
		return false
	}
	for _, d := range s.Directives {
		if in(d.Arguments) {
			return true
		}
	}
	for _, def := range s.Types {
		for _, f := range def.Fields {
			if f.Type.Name() == name || in(f.Arguments) {
				return true
			}
		}
	}
	return false
}
