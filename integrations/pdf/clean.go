package pdf

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"siteapi/integrations/pdf/font"
)

// longest bounds a text of the CMS, such as a label, in characters; what is cut off is
// marked with "…". Values of a submission have far lower bounds of their own.
const longest = 400

// clean makes a text from outside printable in the family, on one line: composed
// letters, single spaces, no control or direction characters, no pictographs. Letters
// without a glyph are replaced by compatible ones where Unicode names some, as "fi" for
// the ligature, else by a box, and their script is added to missing. A text of nothing but
// pictographs becomes a box, too.
func clean(text string, family *font.Family, missing map[string]bool) string {
	var out strings.Builder
	space, count := false, 0 // whether a space is due before the next letter, and the number of letters
	put := func(r rune) {
		if space && out.Len() > 0 {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
		count++
	}
	text = norm.NFC.String(strings.ToValidUTF8(text, ""))
	if strings.IndexFunc(text, func(r rune) bool { return !family.Has(r) }) >= 0 {
		text = norm.NFKC.String(text)
	}
	for _, r := range text {
		if count >= longest {
			out.WriteRune('…')
			break
		}
		switch {
		case unicode.IsSpace(r) || unicode.Is(unicode.Z, r):
			space = true
		case r == '\u00ad': // a soft hyphen would show as a hyphen
		case family.Has(r):
			put(r)
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			put(font.Missing)
			missing[script(r)] = true
		}
	}
	if count == 0 && strings.TrimSpace(text) != "" { // nothing but pictographs
		put(font.Missing)
		missing["Symbols"] = true
	}
	return out.String()
}

// script names the Unicode script of a letter.
func script(r rune) string {
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return "Unknown"
}
