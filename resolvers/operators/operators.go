// Package operators resolves the fields of operators: leads and their deliveries, the
// audit, the funnel, and the logins of operators themselves. Each field records the read
// or the change in the audit, and converts the result to the types of the schema. A
// viewer never gets the id of a lead. Package leads implements the larger operations.
package operators

import (
	"context"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// Resolver resolves the fields of operators.
type Resolver struct {
	Leads *leads.Service
	Mails *leadmail.Service
	Log   zerolog.Logger
	Now   func() time.Time
}

// isViewer reports whether the caller is a viewer, who must not get the id of a lead,
// since the id opens the PDF.
func isViewer(ctx context.Context) bool {
	return schema.CallerFrom(ctx).Operator.Role == schema.RoleViewer
}

// Names resolves the root field `operatorNames`.
func (r *Resolver) Names(ctx context.Context) ([]string, error) {
	names, err := r.Leads.Store.Operators(ctx)
	return append([]string{}, names...), err
}

// refused returns the error of a change that the current state does not allow.
func refused(message string) *schema.Error {
	return &schema.Error{Code: schema.CodeBadUserInput, Message: message}
}

// forbidden returns the error of an operator who lacks a role.
func forbidden(role schema.Role) *schema.Error {
	return &schema.Error{Code: schema.CodeForbidden, Message: "This needs the role " + string(role) + "."}
}

// DefaultPage is the number of entries of a page if the argument `first` is null.
const DefaultPage = 50

// newCursor encodes the position of an entry in a list.
func newCursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// cursorText decodes a cursor. The result is empty if the cursor is malformed.
func cursorText(cursor string) string {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return ""
	}
	return string(text)
}

// numberAt decodes a cursor that is a number. An empty cursor is 0.
func numberAt(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(cursorText(cursor), 10, 64)
	if err != nil || number < 1 {
		return 0, badCursor()
	}
	return number, nil
}

func badCursor() error {
	return schema.BadInput(schema.FieldError{
		Field:   "after",
		Code:    schema.FieldCodeUnreadable,
		Message: "must be the endCursor of an earlier page",
	})
}

// pageInfo describes a page with these cursors.
func pageInfo(cursors []string, more bool) *schema.PageInfo {
	info := &schema.PageInfo{HasNextPage: more}
	if n := len(cursors); n > 0 {
		info.EndCursor = &cursors[n-1]
	}
	return info
}
