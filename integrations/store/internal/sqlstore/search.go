package sqlstore

import (
	"context"
	"fmt"
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

// localeTerm is the term of a locale. No word of a search begins with "=".
func localeTerm(locale string) string { return "=" + locale }

// fold makes words comparable: lower case, without diacritics.
func fold(text string) string {
	// Neither step of the transformation fails.
	folded, _, _ := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), text)

	return strings.NewReplacer(
		"ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "'", "", "’", "", "=", "",
	).Replace(strings.ToLower(folded))
}

// searchTerms returns the terms that a lead is found by. A double name is found by
// its second part as well.
func searchTerms(s lead.Lead) []string {
	words := strings.Fields(fold(s.Contact.FirstName + " " + s.Contact.LastName))
	for _, word := range words {
		words = append(words, strings.Split(word, "-")[1:]...)
	}

	words = append(words, fold(s.Contact.Email), fold(s.ID), localeTerm(s.Locale))

	slices.Sort(words)
	return slices.DeleteFunc(slices.Compact(words), func(word string) bool { return word == "" })
}

// addTerms makes leads searchable.
func addTerms(ctx context.Context, tx Tx, leads ...lead.Lead) error {
	var marks []string
	var args []any
	for _, s := range leads {
		for _, term := range searchTerms(s) {
			args = append(args, term, s.ID)
			marks = append(marks, fmt.Sprintf("($%d, $%d)", len(args)-1, len(args)))
		}
	}

	_, err := tx.Exec(ctx,
		`INSERT INTO search_terms (term, submission_id) VALUES `+strings.Join(marks, ", "), args...)
	if err != nil {
		return fmt.Errorf("storing the search terms: %w", err)
	}
	return nil
}

// IndexLeads makes leads searchable that another program stored, such as an
// earlier release or a copy. It works in batches of 200.
func (s *Store) IndexLeads(ctx context.Context) error {
	for first, last := "", ""; ; first = last {
		err := s.db.Query(ctx,
			`SELECT id FROM submissions WHERE searchable = 0 AND id > $1 ORDER BY id LIMIT 200`,
			[]any{first},
			func(scan Scan) error { return scan(&last) },
		)
		if err != nil || last == first {
			return err
		}

		err = s.db.Write(ctx, func(ctx context.Context, tx Tx) error {
			var found []lead.Lead
			err := tx.Query(ctx,
				`UPDATE submissions SET searchable = 1 WHERE searchable = 0 AND id > $1 AND id <= $2
RETURNING `+leadColumns,
				[]any{first, last},
				func(scan Scan) error {
					var r LeadRow
					if err := scan(r.columns()...); err != nil {
						return err
					}

					l, err := r.lead()
					found = append(found, l)
					return err
				},
			)
			if err != nil || len(found) == 0 {
				return err
			}
			return addTerms(ctx, tx, found...)
		})
		if err != nil {
			return fmt.Errorf("making submissions searchable: %w", err)
		}
	}
}

// searched returns the conditions on search_terms that a filter's search and locale ask
// for, one for each term. At most eight words of a search are used.
func searched(f store.Filter) (each []conditions) {
	words := strings.Fields(fold(f.Search))
	for _, word := range words[:min(len(words), 8)] {
		each = append(each, conditions{[]string{"term >= ? AND term < ?"}, []any{word, word + "\U0010FFFF"}})
	}
	if f.Locale != "" {
		each = append(each, conditions{[]string{"term = ?"}, []any{localeTerm(f.Locale)}})
	}
	return each
}

// searchNewest looks for a page of a search among the next [searchWindow] leads in
// the order of the listing.
func (s *Store) searchNewest(
	ctx context.Context, f store.Filter, after *LeadRow,
) ([]LeadRow, error) {
	var c conditions
	c.match(f, after)
	next := fmt.Sprintf("(%s%s%s LIMIT %d) AS submissions",
		selectLead, c.where(), order(f), searchWindow)

	c.terms = nil
	for _, t := range searched(f) {
		c.add("EXISTS (SELECT 1 FROM search_terms WHERE submission_id = submissions.id AND "+t.terms[0]+")",
			t.args...)
	}
	return s.readPage(ctx, f, "SELECT "+leadColumns+" FROM "+next, c)
}

// searchAll looks for a page of a search by its terms.
func (s *Store) searchAll(
	ctx context.Context, f store.Filter, after *LeadRow,
) ([]LeadRow, error) {
	var c conditions
	for _, t := range searched(f) {
		c.add("SELECT DISTINCT submission_id FROM search_terms WHERE "+t.terms[0], t.args...)
	}
	found := strings.Join(c.terms, " INTERSECT ")

	c.terms = []string{"id = submission_id"}
	c.match(f, after)

	// Only the rows of the page are read whole: sorting whole rows would exceed the
	// memory for sorting.
	page := fmt.Sprintf(
		"WITH found AS MATERIALIZED (%s) SELECT id FROM found CROSS JOIN submissions%s%s LIMIT %d",
		found, c.where(), order(f), rowsOf(f),
	)
	return s.readPage(ctx, f, selectLead+" WHERE id IN ("+page+")", conditions{args: c.args})
}
