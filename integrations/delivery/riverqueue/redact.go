package riverqueue

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"siteapi/integrations/upstream"
)

// textMax bounds what is stored of an error, in bytes.
const textMax = 1000

// redact makes of an error the text that is stored, listed and logged. The text of an
// upstream error is free of personal data by contract; of any other error only its
// type is kept, since its text may quote what was sent.
func redact(err error) string {
	if e, ok := errors.AsType[*upstream.Error](err); ok {
		return storable(e.Error())
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("unexpected error of type %T", err)
		}
		err = inner
	}
}

// storable makes a text safe to keep in the database: PostgreSQL takes neither NUL nor
// invalid UTF-8 in JSON, and a job whose error can't be stored would never end.
func storable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	if len(text) > textMax {
		text = strings.ToValidUTF8(text[:textMax], "") + "…"
	}
	return text
}
