package schema

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blanks gives all blanks that are control characters or separators one form: a space, or
// a line feed at the end of a line.
var blanks = strings.NewReplacer("\r\n", "\n", "\r", "\n",
	"\t", " ", "\v", " ", "\f", " ", "\u0085", " ", "\u2028", " ", "\u2029", " ")

// hidden matches the control characters and tag characters that are removed from a string.
// Its group matches the tags that stay, in the flag of a region such as Scotland.
var hidden = regexp.MustCompile(`(\x{1F3F4}[\x{E0030}-\x{E0039}\x{E0061}-\x{E007A}]{3,6}\x{E007F})|` +
	`[\x00-\x09\x0B-\x1F\x7F-\x9F\x{E0000}-\x{E007F}]`)

// Clean returns a string in the form in which every field accepts it: without control
// characters, without the blanks and invisible marks around it that pasted text often has,
// and with line feeds as the only line breaks. It is empty if the string has no visible
// character, for example only a zero-width space or a Hangul filler.
func Clean(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return strings.Trim(s, " ") // most strings; rest-vs-nethttp is a fifth higher for it
	}

	s = strings.TrimLeftFunc(hidden.ReplaceAllString(blanks.Replace(s), "$1"), unseen)

	// What joins at the end may belong to the last letter or emoji.
	text := strings.TrimRightFunc(s, unseen)
	if last, _ := utf8.DecodeLastRuneInString(text); last > unicode.MaxASCII {
		rest := s[len(text):]
		text += rest[:len(rest)-len(strings.TrimLeftFunc(rest, joins))]
	}
	return text
}

// CleanEmail returns an address in the form in which it is accepted, without a joiner at
// its end.
func CleanEmail(s string) string { return strings.TrimRightFunc(Clean(s), unseen) }

// CleanPhone returns a telephone number in the form in which it is accepted, without
// invisible marks between its digits.
func CleanPhone(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unseen(r):
			return -1
		}
		return r
	}, Clean(s))
}

// unseen reports whether a character is invisible in every position, such as a blank, a
// zero-width space or a directional mark.
func unseen(r rune) bool {
	const brailleBlank = '\u2800'
	return unicode.IsSpace(r) || r == brailleBlank || joins(r) ||
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

// joins reports whether a character changes the form of the one before it: a joiner, a
// variation selector, or a tag of a flag.
func joins(r rune) bool {
	return r == '\u200c' || r == '\u200d' || r >= '\U000e0020' && r <= '\U000e007f' ||
		unicode.Is(unicode.Variation_Selector, r)
}
