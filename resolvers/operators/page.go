package operators

import (
	"encoding/base64"

	"siteapi/schema"
)

// DefaultPage is how many entries a page has if the argument is null.
const DefaultPage = 50

// newCursor encodes the place of an entry in a list.
func newCursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// cursorText decodes a cursor. The result is empty if the cursor is malformed.
func cursorText(cursor string) string {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return ""
	}
	return string(text)
}

func badCursor() error {
	return schema.BadInput(schema.FieldError{
		Field:   "after",
		Code:    schema.FieldCodeUnreadable,
		Message: "must be the endCursor of an earlier page",
	})
}
