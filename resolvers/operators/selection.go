package operators

import (
	"context"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/schema"
)

// showsPersonal reports whether an operation selects a @personal field below the current one,
// and the caller is no viewer, who gets null there. It is true of a search as
// well, whose text is contact data even if leads are only counted.
func showsPersonal(ctx context.Context) bool {
	if isViewer(ctx) {
		return false
	}

	if search, _ := graphql.GetFieldContext(ctx).Args["search"].(*string); strings.TrimSpace(schema.ValueOr(search, "")) != "" {
		return true
	}
	op := graphql.GetOperationContext(ctx)
	var below func(set ast.SelectionSet) bool
	below = func(set ast.SelectionSet) bool {
		for _, f := range graphql.CollectFields(op, set, nil) {
			if f.Definition.Directives.ForName("personal") != nil || below(f.Selections) {
				return true
			}
		}
		return false
	}
	return below(graphql.GetFieldContext(ctx).Field.Selections)
}

// asksDeliveries reports whether an operation selects deliveries below the current field,
// or what follows from them.
func asksDeliveries(ctx context.Context) bool {
	return asks(ctx, "deliveries") || asks(ctx, "noMailReason")
}

// asks reports whether an operation selects a field of that name below the current one.
func asks(ctx context.Context, name string) bool {
	return selects(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field.Selections, name)
}

func selects(op *graphql.OperationContext, set ast.SelectionSet, name string) bool {
	return slices.ContainsFunc(graphql.CollectFields(op, set, nil), func(f graphql.CollectedField) bool {
		return f.Name == name || selects(op, f.Selections, name)
	})
}
