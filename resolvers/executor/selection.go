package executor

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Selects reports whether an operation selects a field of one of these names below the
// current one.
func Selects(ctx context.Context, names ...string) bool {
	return below(ctx, func(f graphql.CollectedField) bool { return slices.Contains(names, f.Name) })
}

// SelectsPersonal reports whether an operation selects a @personal field below the
// current one.
func SelectsPersonal(ctx context.Context) bool {
	return below(ctx, func(f graphql.CollectedField) bool {
		return f.Definition.Directives.ForName("personal") != nil
	})
}

// below reports whether there is a matching field below the current one, at any depth.
func below(ctx context.Context, match func(graphql.CollectedField) bool) bool {
	op := graphql.GetOperationContext(ctx)
	var in func(ast.SelectionSet) bool
	in = func(set ast.SelectionSet) bool {
		return slices.ContainsFunc(graphql.CollectFields(op, set, nil), func(f graphql.CollectedField) bool {
			return match(f) || in(f.Selections)
		})
	}
	return in(graphql.GetFieldContext(ctx).Field.Selections)
}
