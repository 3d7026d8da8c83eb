package pdf

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"siteapi/integrations/pdf/font"
)

// maxText is the maximum length of a text from the CMS, such as a label, in characters. A
// longer text is cut off and ends with "…". Values of a lead have much lower limits.
const maxText = 400

// clean makes an external text printable in the family, on one line: with composed
// letters and single spaces, and without control characters, direction characters and
// pictographs. A letter without a glyph is replaced by its compatibility equivalent in
// Unicode, such as "fi" for the ligature, or else by a box, and its script is added to
// missing, like that of a mark that cannot be drawn. A text of only pictographs becomes a box too.
func clean(text string, family *font.Family, missing map[string]bool) string {
	var out strings.Builder

	// space reports whether a space precedes the next letter; count is the number of
	// letters.
	space, count := false, 0
	put := func(r rune) {
		if space && out.Len() > 0 {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
		count++
	}

	var known strings.Builder
	for _, r := range norm.NFC.String(strings.ToValidUTF8(text, "")) {
		if family.Has(r) {
			known.WriteRune(r)
		} else {
			known.WriteString(norm.NFKC.String(string(r)))
		}
	}

	for _, r := range norm.NFC.String(known.String()) {
		if count >= maxText {
			out.WriteRune('…')
			break
		}

		switch {
		case unicode.IsSpace(r) || unicode.Is(unicode.Z, r):
			space = true
		case r == '\u00ad': // A soft hyphen would be printed as a hyphen.
		case family.Has(r):
			put(r)
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			put(font.Missing)
			missing[script(r)] = true
		case unicode.IsMark(r) && !unicode.Is(unicode.Variation_Selector, r):
			missing[script(r)] = true
		}
	}

	if count == 0 && strings.TrimSpace(text) != "" { // It consists of pictographs only.
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
