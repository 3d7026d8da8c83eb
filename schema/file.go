package schema

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
)

// File is the content of a download. JSON has no form for bytes, so a root field that
// describes a file attaches it to the response, for endpoints that send it as it is.
type File struct {
	Content []byte

	// Again returns the content as long as the operation would still return the same
	// response. nil: changes cannot be detected.
	Again func() (content []byte, same bool)
}

// AttachFile adds a file to the response, under the response key of the current field.
// Outside an operation it does nothing.
func AttachFile(ctx context.Context, f *File) {
	if field := graphql.GetFieldContext(ctx); field != nil {
		graphql.RegisterExtension(ctx, fileExtension+field.Field.Alias, f)
	}
}

// AttachedFile returns the file of a root field, or nil if it has none.
func AttachedFile(response *graphql.Response, field string) *File {
	f, _ := response.Extensions[fileExtension+field].(*File)
	return f
}

// fileExtension is the prefix of the keys of attached files. The endpoints do not send
// these extensions.
const fileExtension = "file:"
