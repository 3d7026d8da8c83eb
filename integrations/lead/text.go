package lead

import (
	"strings"
	"unicode"
)

// OneLine joins a typed text into one line that cannot add a header to a mail or reverse
// the direction of the text after it: without line breaks, other control characters and
// directional marks. Joiners stay, because some scripts and emoji need them.
func OneLine(typed string) string {
	return strings.Join(strings.FieldsFunc(typed, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}
