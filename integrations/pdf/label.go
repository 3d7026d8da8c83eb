package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// label returns the words for a slug: those of the content where it has some, else the
// slug spelled out, "web-app" as "Web app".
func label(slug string, labels map[string]string) string {
	if text := strings.TrimSpace(labels[slug]); text != "" {
		return text
	}
	text := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return ' '
		}
		return r
	}, slug)
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// Reference returns the short form of a submission's id that people quote on the phone:
// its first eight letters and digits in upper case. File names use it too.
func Reference(id string) string {
	const length = 8
	var out strings.Builder
	for _, r := range id {
		if out.Len() == length {
			break
		}
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			out.WriteRune(unicode.ToUpper(r))
		}
	}
	return out.String()
}
