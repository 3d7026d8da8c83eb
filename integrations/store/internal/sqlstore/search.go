package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// searchWindow is how many of the newest leads are searched before the index of
// terms. A word that many leads have is found among the newest, and a word that few have
// is quick to find by its term.
const searchWindow = 3000

// fold makes words comparable: lower case, without diacritics.
func fold(text string) string {
	// Neither step of the transformation fails.
	folded, _, _ := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), text)

	return strings.NewReplacer(
		"ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "'", "", "’", "", "=", "",
	).Replace(strings.ToLower(folded))
}

// searchTerms returns the terms that a lead is found by. A double name is found by its
// second part as well, and an address by its domain.
func searchTerms(s lead.Lead) []string {
	c := s.Contact
	words := strings.Fields(fold(c.FirstName + " " + c.LastName + " " + c.Company))
	for _, word := range words {
		words = append(words, strings.Split(word, "-")[1:]...)
	}

	email := fold(c.Email)
	_, domain, _ := strings.Cut(email, "@")
	words = append(words, email, domain, fold(s.ID))
	words = append(words, messageTerms(s.Message)...)

	phone := strings.ReplaceAll(fold(c.Phone), "(0)", "")
	words = append(words, nationalNumber(phone), strings.TrimLeft(digits(phone), "0"))

	slices.Sort(words)
	return slices.DeleteFunc(slices.Compact(words), func(word string) bool { return word == "" })
}

// phoneLength is how many digits a search needs to be one for a telephone number.
const phoneLength = 5

var (
	// phoneWord is a part of a telephone number, as people write it.
	phoneWord = regexp.MustCompile(`^[\d()./+-]+$`)

	// countryCode is the country code of an international number, by the plan of the ITU.
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
// the zero before it, so that every spelling of a number gives the same.
func nationalNumber(phone string) string {
	number := digits(phone)
	international, ok := strings.CutPrefix(number, "00")
	if ok || strings.HasPrefix(strings.TrimLeft(phone, " ("), "+") {
		number = countryCode.ReplaceAllString(international, "")
	}
	return strings.TrimLeft(number, "0")
}

const (
	mostMessageTerms = 100 // words of a message that a lead is found by
	longestTerm      = 64  // characters; PostgreSQL has no index of very long words
)

// messageTerms returns the first words of a message that have at least three characters.
func messageTerms(message string) (words []string) {
	for word := range strings.FieldsFuncSeq(fold(message), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		letters := []rune(word)
		word = string(letters[:min(len(letters), longestTerm)])
		if len(words) < mostMessageTerms && len(letters) > 2 && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// addTerms makes leads searchable.
func addTerms(ctx context.Context, tx Tx, leads ...lead.Lead) error {
	var args []any
	for _, s := range leads {
		for _, term := range searchTerms(s) {
			args = append(args, term, s.ID)
		}
	}

	const most = 200 // SQLite looks each argument up among all of its statement.
	for part := range slices.Chunk(args, most) {
		marks := make([]string, len(part)/2)
		for i := range marks {
			marks[i] = fmt.Sprintf("($%d, $%d)", 2*i+1, 2*i+2)
		}

		_, err := tx.Exec(ctx,
			`INSERT INTO search_terms (term, lead_id) VALUES `+strings.Join(marks, ", ")+
				` ON CONFLICT DO NOTHING`, part...)
		if err != nil {
			return fmt.Errorf("storing the search terms: %w", err)
		}
	}
	return nil
}

// searchWords returns the words of a search, each as the beginnings of terms that it
// stands for. The parts of a telephone number are one word.
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
		case n == 1: // It may as well be the beginning of an id.
			words = append(words, []string{phone, number})
		default:
			words = append(words, []string{number})
		}
		parts = parts[n:]
	}
	return words
}

// searched returns the conditions on search_terms that a filter's search asks for, one for
// each word. At most eight words of a search are used.
func searched(f store.Filter) (each []conditions) {
	words := searchWords(f.Search)
	for _, prefixes := range words[:min(len(words), 8)] {
		var either []string
		var args []any
		for _, prefix := range prefixes {
			either = append(either, "term >= ? AND term < ?")
			args = append(args, prefix, prefix+"\U0010FFFF")
		}
		each = append(each, conditions{[]string{"(" + strings.Join(either, " OR ") + ")"}, args})
	}
	return each
}

// searchNewest looks for a page of a search among the next [searchWindow] leads in
// the order of the listing.
func (s *Store) searchNewest(
	ctx context.Context, f store.Filter, after *LeadRow,
) ([]LeadRow, error) {
	var c conditions
	c.match(f)
	c.after(f, after)
	next := fmt.Sprintf("(%s%s%s LIMIT %d) AS leads",
		selectLead, c.where(), order(f), searchWindow)

	c.terms = nil
	c.haveTerms(searched(f))
	return s.readPage(ctx, f, "SELECT "+readColumns+", progress FROM "+next, c)
}

// searchAll looks for a page of a search by the term that the fewest leads have, or among
// all leads in the order of the listing if none of its terms is rare.
func (s *Store) searchAll(
	ctx context.Context, f store.Filter, after *LeadRow,
) ([]LeadRow, error) {
	terms, rare, err := s.rarestFirst(ctx, searched(f))
	if err != nil {
		return nil, err
	}

	var c conditions
	page := "SELECT id FROM leads"
	if rare {
		c.add("SELECT DISTINCT lead_id FROM search_terms WHERE "+terms[0].terms[0], terms[0].args...)
		page = "WITH found AS MATERIALIZED (" + c.terms[0] + ") SELECT id FROM found CROSS JOIN leads"
		c.terms = []string{"id = lead_id"}
	}

	c.match(f)
	c.after(f, after)
	if rare {
		c.haveTerms(terms[1:])
	} else {
		c.areAmong(terms, rare)
	}

	// Only the rows of the page are read whole: sorting whole rows would exceed the
	// memory for sorting.
	page += fmt.Sprintf("%s%s LIMIT %d", c.where(), order(f), rowsOf(f))
	return s.readPage(ctx, f, selectLead+" WHERE id IN ("+page+")", conditions{args: c.args})
}

// rarestFirst orders terms by the number of leads that have them, counted up to
// [searchWindow], and reports whether fewer have the first one. Many leads share a word such
// as SRL.
func (s *Store) rarestFirst(ctx context.Context, terms []conditions) (_ []conditions, rare bool, _ error) {
	type counted struct {
		term  conditions
		leads int64
	}
	var all []counted
	for _, t := range terms {
		var c conditions
		c.add(t.terms[0], t.args...)
		found := fmt.Sprintf("(SELECT 1 FROM search_terms%s LIMIT %d) AS found", c.where(), searchWindow)

		n := counted{term: t}
		err := s.db.Query(ctx, "SELECT count(*) FROM "+found, c.args,
			func(scan Scan) error { return scan(&n.leads) })
		if err != nil {
			return nil, false, fmt.Errorf("counting the leads of a search term: %w", err)
		}
		all = append(all, n)
	}

	slices.SortStableFunc(all, func(a, b counted) int { return cmp.Compare(a.leads, b.leads) })
	ordered := make([]conditions, len(all))
	for i, c := range all {
		ordered[i] = c.term
	}
	return ordered, len(all) > 0 && all[0].leads < searchWindow, nil
}

// haveTerms adds that a lead has all these terms, for a query that reads few leads.
func (c *conditions) haveTerms(terms []conditions) {
	for _, t := range terms {
		c.add("EXISTS (SELECT 1 FROM search_terms WHERE lead_id = leads.id AND "+t.terms[0]+")",
			t.args...)
	}
}

// areAmong adds that a lead has all these terms, for a query that may read many leads. If none
// of the terms is rare, the database reads the leads from an index and looks them up among
// those that have a term: SQLite would read the row of each of these, if the id were not an
// expression.
func (c *conditions) areAmong(terms []conditions, rare bool) {
	id := "id"
	if !rare {
		id = "id || ''"
	}
	for _, t := range terms {
		c.add(id+" IN (SELECT lead_id FROM search_terms WHERE "+t.terms[0]+")", t.args...)
	}
}
