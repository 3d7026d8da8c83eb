package store

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"siteapi/integrations/lead"
)

// fold normalizes words for comparison: lower case, without diacritics.
func fold(text string) string {
	// Neither step of the transformation can fail.
	folded, _, _ := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), text)

	return strings.NewReplacer(
		"ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "'", "", "’", "", "=", "",
	).Replace(strings.ToLower(folded))
}

// Limits on the terms of a lead. On disk, each takes about 100 bytes in addition to its text.
const (
	maxTerms     = 36
	maxTermBytes = 700 // of all terms
)

// searchTerms returns the terms by which a lead is found: those of its contact, then the
// first words of its message, as far as the limits allow. The later parts of a hyphenated
// name and the domain of an e-mail address are terms, too.
func searchTerms(s lead.Lead) (terms []string) {
	c := s.Contact
	email, phone := fold(c.Email), strings.ReplaceAll(fold(c.Phone), "(0)", "")
	_, domain, _ := strings.Cut(email, "@")
	words := []string{fold(s.ID), email, domain, nationalNumber(phone), strings.TrimLeft(digits(phone), "0")}

	names := strings.Fields(fold(c.FirstName + " " + c.LastName + " " + c.Company))
	words = append(words, names...)
	for _, name := range names {
		words = append(words, strings.Split(name, "-")[1:]...)
	}
	words = append(words, messageTerms(s.Message)...)

	size := 0
	for _, word := range words {
		if word == "" || slices.Contains(terms, word) || len(terms) == maxTerms || size+len(word) > maxTermBytes {
			continue
		}
		terms = append(terms, word)
		size += len(word)
	}
	return terms
}

// phoneLength is the minimum number of digits in a search for a telephone number.
const phoneLength = 5

var (
	// phoneWord matches a part of a telephone number in common notations.
	phoneWord = regexp.MustCompile(`^[\d()./+-]+$`)

	// countryCode matches the country code of an international number, following the
	// ITU's plan.
	countryCode = regexp.MustCompile(
		`^(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})`)
)

// digits returns the digits of a text.
func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// nationalNumber returns the digits of a telephone number without the country code and
// leading zeros, so that all spellings of a number are equal.
func nationalNumber(phone string) string {
	number := digits(phone)
	international, ok := strings.CutPrefix(number, "00")
	if ok || strings.HasPrefix(strings.TrimLeft(phone, " ("), "+") {
		number = countryCode.ReplaceAllString(international, "")
	}
	return strings.TrimLeft(number, "0")
}

// messageTerms returns the words of a message that have at least three characters.
func messageTerms(message string) []string {
	words := strings.FieldsFunc(fold(message), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(words, func(word string) bool { return utf8.RuneCountInString(word) < 3 })
}

// addTerms stores the search terms of a lead.
func addTerms(ctx context.Context, tx Tx, l lead.Lead) error {
	var values []any
	for _, term := range searchTerms(l) {
		values = append(values, term, l.ID)
	}

	return insertRows(ctx, tx, "search_terms", "term, lead_id", values, "")
}

// searchWords returns the words of a search, each as a list of alternative prefixes of
// terms. The parts of a telephone number are one word.
func searchWords(search string) (words [][]string) {
	for parts := strings.Fields(fold(search)); len(parts) > 0; {
		n := 0
		for n < len(parts) && phoneWord.MatchString(parts[n]) {
			n++
		}

		phone := strings.Join(parts[:n], " ")
		number := nationalNumber(phone)
		switch {
		case len(digits(phone)) < phoneLength, number == "":
			n = 1
			words = append(words, []string{strings.TrimPrefix(parts[0], "@")})
		case n == 1: // It may also be the prefix of an id.
			words = append(words, []string{phone, number})
		default:
			words = append(words, []string{number})
		}
		parts = parts[n:]
	}
	return words
}

// maxWords is the maximum number of words in a search. Further words are ignored.
const maxWords = 8

// search adds a condition for each word of a search. A subquery finds the leads of a word
// once. It is compared with an expression instead of the id column, so that the database
// still reads the leads in the order of the listing. With onlyFirst the listing ends after
// its first leads, so a single letter, which almost all leads contain, is checked for each
// lead instead.
func (c *conditions) search(text string, onlyFirst bool) {
	words := searchWords(text)
	for _, prefixes := range words[:min(len(words), maxWords)] {
		var alternatives []string
		var args []any
		for _, prefix := range prefixes {
			alternatives = append(alternatives, "term >= ? AND term < ?")
			args = append(args, prefix, prefix+"\U0010FFFF")
		}

		term := "(" + strings.Join(alternatives, " OR ") + ")"
		if onlyFirst && len(prefixes[0]) == 1 {
			c.add("EXISTS (SELECT 1 FROM search_terms WHERE lead_id = leads.id AND "+term+")", args...)
		} else {
			c.add("id || '' IN (SELECT lead_id FROM search_terms WHERE "+term+")", args...)
		}
	}
}
