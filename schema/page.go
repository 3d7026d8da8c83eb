package schema

import (
	"encoding/base64"
	"strconv"
)

// DefaultPage is the number of entries of a page if the argument `first` is null.
const DefaultPage = 50

// NewCursor encodes the position of an entry in a list.
func NewCursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// CursorText decodes a cursor. The result is empty if the cursor is malformed.
func CursorText(cursor string) string {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return ""
	}
	return string(text)
}

// CursorNumber decodes a cursor that is a number. An empty cursor is 0.
func CursorNumber(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(CursorText(cursor), 10, 64)
	if err != nil || number < 1 {
		return 0, BadCursor()
	}
	return number, nil
}

// BadCursor returns the error of a cursor that no page had.
func BadCursor() error {
	return BadInput(Invalid("after", FieldCodeUnreadable, "must be the endCursor of an earlier page"))
}

// NewPageInfo describes a page with these cursors.
func NewPageInfo(cursors []string, more bool) *PageInfo {
	info := &PageInfo{HasNextPage: more}
	if n := len(cursors); n > 0 {
		info.StartCursor, info.EndCursor = &cursors[0], &cursors[n-1]
	}
	return info
}
