package operators

import (
	"context"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// showsPersonal reports whether an operation selects a @personal field below the current
// one, or searches: the search text is contact data even if leads are only counted. It is
// false for viewers, who get null for @personal fields.
func showsPersonal(ctx context.Context) bool {
	if isViewer(ctx) {
		return false
	}

	if search, _ := graphql.GetFieldContext(ctx).Args["search"].(*string); strings.TrimSpace(schema.ValueOr(search, "")) != "" {
		return true
	}
	op := graphql.GetOperationContext(ctx)
	return below(op, graphql.GetFieldContext(ctx).Field.Selections, func(f graphql.CollectedField) bool {
		return f.Definition.Directives.ForName("personal") != nil
	})
}

// selects reports whether an operation selects a field of one of these names below the
// current one.
func selects(ctx context.Context, names ...string) bool {
	op := graphql.GetOperationContext(ctx)
	return below(op, graphql.GetFieldContext(ctx).Field.Selections, func(f graphql.CollectedField) bool {
		return slices.Contains(names, f.Name)
	})
}

// below reports whether a selection has a matching field at any depth.
func below(op *graphql.OperationContext, set ast.SelectionSet, match func(graphql.CollectedField) bool) bool {
	return slices.ContainsFunc(graphql.CollectFields(op, set, nil), func(f graphql.CollectedField) bool {
		return match(f) || below(op, f.Selections, match)
	})
}
