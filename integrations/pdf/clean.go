package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"siteapi/integrations/pdf/font"
)

// longest bounds what one text from outside may put on the page, in characters. The
// service's own bounds are far lower; this one holds for labels from the CMS.
const longest = 400

// clean makes a text from outside printable in the family, on one line: composed
// letters, single spaces, no control or direction characters. Letters without a glyph
// are spelled by compatible ones where Unicode names some; what is left becomes one
// replacement mark per run, pictographs vanish. A text of which no letter can be
// shown is empty.
func clean(text string, family *font.Family) string {
	if plain(text, family) {
		return text
	}
	var (
		out     strings.Builder
		shown   bool // a letter, digit or sign of the family is in out
		missing bool // the last thing written is the replacement mark
		space   bool // a space is due before the next letter
		count   int
	)
	put := func(r rune) {
		if space && out.Len() > 0 {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
		count++
	}
	for _, r := range norm.NFC.String(strings.ToValidUTF8(text, "")) {
		if count >= longest {
			out.WriteRune('…')
			break
		}
		switch {
		case unicode.IsSpace(r) || unicode.Is(unicode.Z, r):
			space, missing = true, false
		case r == '\u00ad': // a soft hyphen would show as a hyphen
		case family.Has(r):
			put(r)
			shown, missing = true, false
		default:
			if plain := spell(r, family); plain != "" {
				for _, p := range plain {
					if p == ' ' { // an accent that stands alone is spelled as one on a space
						space = true
						continue
					}
					put(p)
					shown = true
				}
				missing = false
			} else if (unicode.IsLetter(r) || unicode.IsNumber(r)) && !missing {
				put(font.Missing)
				missing = true
			}
		}
	}
	if !shown {
		return ""
	}
	return out.String()
}

// plain reports whether clean would return text as it is: nearly every text.
func plain(text string, family *font.Family) bool {
	if len(text) > longest || !utf8.ValidString(text) || !norm.NFC.IsNormalString(text) {
		return false
	}
	last := ' '
	for _, r := range text {
		if !family.Has(r) || r == '\u00a0' || r == '\u00ad' || r == ' ' && last == ' ' {
			return false
		}
		last = r
	}
	return last != ' '
}

// spell returns r in letters of the family by its compatibility decomposition, as
// "fi" for the ligature, without the marks the family lacks; "" where that gives none.
func spell(r rune, family *font.Family) string {
	var out strings.Builder
	for _, p := range norm.NFKD.String(string(r)) {
		switch {
		case family.Has(p):
			out.WriteRune(p)
		case !unicode.Is(unicode.M, p):
			return ""
		}
	}
	return out.String()
}
