package store

import (
	"cmp"
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

// fold normalizes words for comparison: lower case, without diacritics, apostrophes and
// invisible characters.
func fold(text string) string {
	unwritten := runes.Predicate(func(r rune) bool {
		return unicode.Is(unicode.Cf, r) || strings.ContainsRune("'’‘ʼʻ´`", r)
	})

	// No step of the transformation can fail. An acute accent would become a blank.
	folded, _, _ := transform.String(transform.Chain(
		runes.Remove(unwritten), norm.NFKD, runes.Remove(runes.In(unicode.Mn))), strings.Map(lead.Dialed, text))
	return strings.NewReplacer(
		"ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i", "ς", "σ", "=", "",
	).Replace(strings.ToLower(folded))
}

// Limits on the terms of a lead. On disk, each takes about 100 bytes in addition to its text.
const (
	maxTerms     = 36
	maxTermBytes = 700 // the sum for all terms
)

// punctuation reports whether a character is neither a letter nor a digit.
func punctuation(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// bare returns a word without the punctuation around it. Terms and the words of a search are
// bare, so that a word is found however it is quoted.
func bare(word string) string { return strings.TrimFunc(word, punctuation) }

// wordTerms returns the words of a text, each followed by its later parts, such as those of
// a hyphenated name.
func wordTerms(text string) (terms []string) {
	for _, word := range strings.Fields(fold(text)) {
		terms = append(terms, bare(word))
		if parts := strings.FieldsFunc(word, punctuation); len(parts) > 1 {
			terms = append(terms, parts[1:]...)
		}
	}
	return terms
}

// searchTerms returns the terms by which a lead is found: those of its contact, then the
// first words of its message with at least three characters, as far as the limits allow. The
// domain of an e-mail address is a term, too.
func searchTerms(s lead.Lead, corrected string) (terms []string) {
	c := s.Contact
	dialed, _, _ := strings.Cut(strings.TrimPrefix(lead.TelephoneLink(c.Phone), "tel:"), ";")
	phone := cmp.Or(dialed, c.Phone)

	words := []string{fold(s.ID)}
	for _, email := range []string{fold(c.Email), fold(corrected)} {
		_, domain, _ := strings.Cut(email, "@")
		words = append(words, bare(email), bare(domain))
	}
	words = append(words, nationalNumber(phone), strings.TrimLeft(lead.Digits(phone), "0"), ending(phone))
	words = append(words, ending(fold(c.Phone))) // the ending of a second number or an extension
	words = append(words, wordTerms(c.FirstName+" "+c.LastName+" "+c.Company)...)
	for _, word := range wordTerms(s.Message) {
		if utf8.RuneCountInString(word) >= 3 {
			words = append(words, word)
		}
	}

	size := 0
	for _, word := range words {
		if word == "" || slices.Contains(terms, word) || len(terms) == maxTerms ||
			size+len(word) > maxTermBytes {
			continue
		}
		terms = append(terms, word)
		size += len(word)
	}
	return terms
}

// Minimum numbers of digits in a search for a telephone number, and for its end.
const phoneLength, endLength = 5, 4

var (
	// phoneWord matches a part of a telephone number in common notations.
	phoneWord = regexp.MustCompile(`^[\d()./+-]+$`)

	// countryCode matches the country code of an international number, following the
	// ITU's plan.
	countryCode = regexp.MustCompile(
		`^(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})`)
)

// nationalNumber returns the digits of a telephone number without the country code and
// leading zeros, so that all spellings of a number are equal.
func nationalNumber(phone string) string {
	number := lead.Digits(phone)
	international, ok := strings.CutPrefix(number, "00")
	if ok || strings.HasPrefix(strings.TrimLeft(phone, " ("), "+") {
		number = countryCode.ReplaceAllString(international, "")
	}
	return strings.TrimLeft(number, "0")
}

// ending returns the term by which the last digits of a telephone number find it: all of
// them, backward, since a search finds prefixes of terms.
func ending(phone string) string {
	last := []byte(lead.Digits(phone))
	if len(last) == 0 {
		return ""
	}
	slices.Reverse(last)
	return "~" + string(last)
}

// addTerms stores the search terms of a lead and of its corrected address, if it has one.
func addTerms(ctx context.Context, tx Tx, l lead.Lead, corrected string) error {
	var values []any
	for _, term := range searchTerms(l, corrected) {
		values = append(values, term, l.ID)
	}

	return insertRows(ctx, tx, "search_terms", "term, lead_id", values, "")
}

// searchWords returns the words of a search, each as a list of alternative prefixes of
// terms. The parts of a telephone number are one word. What is only punctuation is no word.
func searchWords(search string) (words [][]string) {
	for parts := strings.Fields(fold(search)); len(parts) > 0; {
		n := 0
		for n < len(parts) && phoneWord.MatchString(parts[n]) {
			n++
		}

		phone := strings.Join(parts[:n], " ")
		length, number := len(lead.Digits(phone)), nationalNumber(phone)
		if length < endLength {
			n = 1
		}

		var prefixes []string
		if word := bare(parts[0]); n == 1 && word != "" { // It may also be the prefix of a word or an id.
			prefixes = append(prefixes, word)
		}
		if length >= endLength {
			prefixes = append(prefixes, ending(phone))
		}
		if length >= phoneLength && len(number) > 2 { // "00033" is only an end
			prefixes = append(prefixes, number)
		}
		if len(prefixes) > 0 {
			words = append(words, prefixes)
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
	if len(words) == 0 && strings.TrimSpace(text) != "" {
		c.add("1 = 0") // only punctuation
	}
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
