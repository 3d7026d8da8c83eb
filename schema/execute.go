package schema

import (
	"bytes"
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// answerSize is set aside for an answer at first, in bytes: enough for most.
const answerSize = 512

// Execute runs the operation of the context at once and in one piece. It does what the
// generated Exec does for queries and mutations, without the tables that one builds
// each time for @defer and for directives on inputs, neither of which the schema has.
func Execute(ctx context.Context, es graphql.ExecutableSchema) *graphql.Response {
	opCtx := graphql.GetOperationContext(ctx)
	ec := newExecutionContext(opCtx, es.(*executableSchema), nil)
	var data graphql.Marshaler
	if opCtx.Operation.Operation == ast.Mutation {
		data = ec._Mutation(ctx, opCtx.Operation.SelectionSet)
	} else {
		data = ec._Query(ctx, opCtx.Operation.SelectionSet)
	}
	var buf bytes.Buffer
	buf.Grow(answerSize)
	data.MarshalGQL(&buf)
	return &graphql.Response{Data: buf.Bytes()}
}
