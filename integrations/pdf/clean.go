package pdf

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"siteapi/integrations/pdf/font"
)

// maxText is the maximum length of a label, a line in the letterhead and a typed value, in
// characters.
const maxText = 400

// short cuts a longer text off, so that it ends with "…".
func short(text string) string {
	if letters := []rune(text); len(letters) > maxText {
		return string(letters[:maxText]) + "…"
	}
	return text
}

// clean makes an external text printable in the family, on one line: with composed
// letters and single spaces, and without control characters, direction characters and
// pictographs. A letter without a glyph is replaced by its compatibility equivalent in
// Unicode, such as "fi" for the ligature, or else by a box, and its script is added to
// missing, like that of a mark that cannot be drawn. A text of only pictographs becomes a box too.
func clean(text string, family *font.Family, missing map[string]bool) string {
	var known strings.Builder
	for _, r := range norm.NFC.String(strings.ToValidUTF8(text, "")) {
		if family.Has(r) {
			known.WriteRune(r)
		} else {
			known.WriteString(norm.NFKC.String(string(r)))
		}
	}

	var out strings.Builder
	for _, r := range norm.NFC.String(known.String()) {
		switch {
		case unicode.IsSpace(r) || unicode.Is(unicode.Z, r):
			out.WriteByte(' ')
		case r == '\u00ad': // A soft hyphen would be printed as a hyphen.
		case family.Has(r):
			out.WriteRune(r)
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			out.WriteRune(font.Missing)
			missing[script(r)] = true
		case unicode.IsMark(r) && !unicode.Is(unicode.Variation_Selector, r):
			missing[script(r)] = true
		}
	}

	printable := strings.Join(strings.Fields(out.String()), " ")
	if printable == "" && strings.TrimSpace(text) != "" { // It consists of pictographs only.
		missing["Symbols"] = true
		return string(font.Missing)
	}
	return printable
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
