package upstream

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDetail is the maximum length of a system's redacted explanation, in characters.
const maxDetail = 300

// maxScanned is the number of characters that are examined. The rest is dropped.
const maxScanned = 4096

// Patterns of the values that are removed from messages of other systems. Their order
// matters, because a URL's query may contain an e-mail address.
var (
	urlQuery = regexp.MustCompile(`(?i)(https?://[^\s"'<>?#]*)[?#][^\s"'<>]*`)
	userInfo = regexp.MustCompile(`(?i)(https?://)[^\s/@"'<>]*@`)
	bearer   = regexp.MustCompile(`(?i)\b(bearer|basic|token)(\s+|\s*[:=]\s*)["']?[A-Za-z0-9._~+/=-]{8,}`)
	email    = regexp.MustCompile(`[^\s"'<>(){}\[\],;:=/\\]+(@|%40)[^\s"'<>(){}\[\],;:=/\\]+`)
	phone    = regexp.MustCompile(`\+\d[\d\s().-]{5,}\d`)
)

// Redact makes a message from another system safe for logs. It removes tokens, e-mail
// addresses, international telephone numbers, control characters, the queries and
// passwords of URLs, and the private values (in any letter case), and it limits the
// length.
func Redact(text string, private ...string) string {
	text = cut(oneLine(text), maxScanned)
	for _, p := range private {
		text = without(text, oneLine(p))
	}

	text = urlQuery.ReplaceAllString(text, "$1?[redacted]")
	text = userInfo.ReplaceAllString(text, "$1")
	text = bearer.ReplaceAllString(text, "$1 [redacted]")
	text = email.ReplaceAllString(text, "[e-mail]")
	text = phone.ReplaceAllString(text, "[phone]")

	return cut(text, maxDetail)
}

// The function without removes a private value from a message. A value of one or two letters
// is removed only where it is a separate word.
func without(text, private string) string {
	if private == "" {
		return text
	}

	before, after := "", ""
	if utf8.RuneCountInString(private) <= 2 {
		before, after = `(^|[^\p{L}\p{N}])`, `($|[^\p{L}\p{N}])`
	}
	pattern := regexp.MustCompile(`(?i)` + before + regexp.QuoteMeta(private) + after)
	return pattern.ReplaceAllString(text, "${1}[redacted]${2}")
}

// oneLine replaces control characters and joins runs of blanks.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
