package lead

import (
	"regexp"
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

var (
	// aNumber matches the digits of one telephone number and what people write between them.
	// A letter, a comma or a second plus ends it.
	aNumber = regexp.MustCompile(`\+?(?:[^\pL\d+*#,;:=@|&\n]*\d)+`)

	// trunkZero matches the zero at the start of parentheses that is dialed only without the
	// country code. No country code that has one is shorter than two digits.
	trunkZero = regexp.MustCompile(`^(\+|00)(\D*\d{2,3}[^\d(\[]*)[(\[]\s*0`)

	// keptZero matches country codes after which a zero is part of the number, as in Italy.
	keptZero = regexp.MustCompile(`^(\+|00)\D*(39|22[569]|242|378)\D`)

	extension = regexp.MustCompile(`^[\s,;.(-]*(?i:ext\pL*|int\pL*|x|#)[^\pL\d]*(\d+)`)
)

// TelephoneLink returns the tel: address by RFC 3966 of the first number in a typed text,
// which stays national without a country code. It is empty if the text has no number that
// can be recognized as a whole.
func TelephoneLink(typed string) string {
	typed = strings.Map(Dialed, typed)
	at := aNumber.FindStringIndex(typed)
	if at == nil {
		return ""
	}
	number, rest := typed[at[0]:at[1]], typed[at[1]:]

	// A slash or a parenthesis ends a complete number, or divides the area code from the
	// rest of one.
	const shortest, longest, complete = 5, 15, 7
	for i, r := range number {
		if (r == '/' || r == '(') && len(Digits(number[:i])) >= complete {
			number, rest = number[:i], number[i:]+rest
			break
		}
	}

	number = strings.TrimLeft(number, "( ")
	if !keptZero.MatchString(number) {
		number = trunkZero.ReplaceAllString(number, "$1$2")
	}

	// A number before a colon is a label such as "Office 2:", or ends with a time.
	link := Digits(number)
	n, label := len(link), strings.HasPrefix(rest, ":")
	if label || n > longest || n < shortest && strings.TrimSpace(rest) != "" {
		return ""
	}
	if strings.HasPrefix(number, "+") {
		link = "+" + link
	}
	if found := extension.FindStringSubmatch(rest); found != nil {
		link += ";ext=" + found[1]
	}
	return "tel:" + link
}

// Digits returns the ASCII digits of a string.
func Digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// Dialed returns the ASCII form of the digits of every script, which Unicode has in
// blocks that begin with zero, and of the signs of East Asian keyboards.
func Dialed(r rune) rune {
	switch {
	case unicode.IsDigit(r):
		value := rune(0)
		for unicode.IsDigit(r - 1 - value) {
			value++
		}
		return '0' + value%10
	case r >= '！' && r <= '～':
		return r - '！' + '!'
	}
	return r
}
