package store

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
)

// Leads yields stored leads in the filter's order.
func (s *Store) Leads(ctx context.Context, f Filter) iter.Seq2[lead.Lead, error] {
	return func(yield func(lead.Lead, error) bool) {
		for after := f.After; ; {
			page, err := s.readPage(ctx, f, after)
			if err != nil {
				yield(lead.Lead{}, err)
				return
			}

			for _, l := range page {
				if !yield(l, nil) {
					return
				}
				after = &Position{Amount: l.Estimate.Min, SubmittedAt: l.SubmittedAt, ID: l.ID}
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// orderColumns returns the columns that a listing is sorted by. Leads with equal amounts
// are ordered by time.
func orderColumns(f Filter) []string {
	if f.ByAmount {
		return []string{"amount", "submitted_at", "id"}
	}
	return []string{"submitted_at", "id"}
}

func order(f Filter) string {
	direction := ""
	if f.Newest {
		direction = " DESC"
	}
	return " ORDER BY " + strings.Join(orderColumns(f), direction+", ") + direction
}

// after limits a listing to the rows after a position, if there is one.
func (c *conditions) after(f Filter, p *Position) {
	sign := ">"
	if f.Newest {
		sign = "<"
	}
	columns := "(" + strings.Join(orderColumns(f), ", ") + ") " + sign
	switch {
	case p == nil:
	case f.ByAmount:
		c.add(columns+" (?, ?, ?)", p.Amount, p.SubmittedAt, p.ID)
	default:
		c.add(columns+" (?, ?)", p.SubmittedAt, p.ID)
	}
}

// readPage reads the leads of a listing after a position. Only the rows of the page are
// read in full: the index in the order of the listing has all columns of the conditions.
func (s *Store) readPage(ctx context.Context, f Filter, after *Position) ([]lead.Lead, error) {
	var c conditions
	c.match(f)
	c.search(f.Search, f.Limit > 0)
	c.after(f, after)
	limit := pageSize
	if f.Limit > 0 {
		limit = min(f.Limit+1, pageSize) // The extra row shows whether there are more.
	}

	ids := fmt.Sprintf("SELECT id FROM leads%s%s LIMIT %d", c.where(), order(f), limit)
	rows, err := all[leadRow](ctx, s.db, "listing the leads",
		selectLead+" WHERE id IN ("+ids+")"+order(f), c.args...)
	if err != nil {
		return nil, err
	}

	page := make([]lead.Lead, len(rows))
	for i := range rows {
		page[i] = rows[i].lead()
	}
	return page, complete(ctx, s.db, page)
}

// leadsOf returns the query for the ids of the leads of a mailbox: those with its address, and
// those for which an operator corrected the address to it. One that was corrected to another
// address is of somebody who mistyped this one.
func leadsOf(mailbox string) string {
	return "SELECT id FROM leads WHERE mailbox = " + mailbox +
		" AND NOT EXISTS (SELECT 1 FROM deliveries WHERE lead_id = leads.id AND mailbox <> '')" +
		" UNION SELECT lead_id FROM deliveries WHERE mailbox <> '' AND mailbox = " + mailbox
}

// inState has the condition for each state. Leads with a progress above 0 are few and have
// their own index.
var inState = map[lead.State]string{
	lead.StateInReview:  "review = 1",
	lead.StateRejected:  "review = 2",
	lead.StateFailed:    "review = 0 AND progress > 0 AND progress = 1",
	lead.StateUnderWay:  "review = 0 AND progress > 0 AND progress > 1",
	lead.StateDelivered: "review = 0 AND progress = 0",
}

// match adds the conditions of a filter except for its search.
func (c *conditions) match(f Filter) {
	if f.Email != "" {
		c.add("id IN ("+leadsOf("?")+")", mailbox.Key(f.Email), mailbox.Key(f.Email))
	}
	c.given("mailbox = ?", mailbox.Key(f.Typed))
	c.given("mailbox <> ?", mailbox.Key(f.NotEmail))
	c.given("session_id = ?", f.Session)
	if f.Reference != "" {
		reference := strings.ToLower(f.Reference)
		c.add("id BETWEEN ? AND ?", reference, reference+"~") // "~" sorts after every character of an id.
	}

	if f.State != "" {
		c.add(inState[f.State])
	}
	if f.DeletionOpen {
		c.add(deletionOpen)
	}
	if f.Due {
		c.add(due)
	}
	if len(f.Results) > 0 {
		c.add("review = 0")
		addIn(c, result, f.Results)
	}
	if f.AnsweredInTime {
		c.add(answeredInTime)
	}
	if f.Owner != nil {
		c.add("owner = ?", strings.ToLower(*f.Owner))
	}
	c.given("status = ?", f.Status)
	c.given("locale = ?", f.Locale)
	c.origin("last_", f.Sources, f.Campaigns)

	c.given("project_type = ?", f.ProjectType)
	c.given(`id IN (SELECT lead_id FROM consents
WHERE purpose = ? AND given = 1 AND withdrawn_at = 0)`, f.Consent)

	c.given("currency = ?", f.Currency)
	c.given("amount >= ?", f.AtLeast)
	c.given("amount <= ?", f.AtMost)

	givenIn(c, "id", f.IDs)

	c.given("submitted_at >= ?", f.Since)
	c.given("submitted_at < ?", f.Until)
}

// knownValues has the queries for the values that exist of what lists are filtered by: the
// origins of visitors, the most frequent first, and others in alphabetical order.
var knownValues = map[string]string{
	"source":      strings.ReplaceAll(knownOrigins, "PART", "source"),
	"campaign":    strings.ReplaceAll(knownOrigins, "PART", "campaign"),
	"projectType": `SELECT DISTINCT project_type FROM leads ORDER BY project_type`,
	"consent":     `SELECT DISTINCT purpose FROM consents ORDER BY purpose`,

	// Addresses, in lower case, of operators who have acted or are logged in and of owners.
	"owner": `SELECT address FROM (
SELECT lower(name) AS address FROM operators UNION SELECT email FROM logins
UNION SELECT lower(subject) FROM logins UNION SELECT owner FROM leads
) AS known WHERE address LIKE '%@%' ORDER BY address`,

	// The actors of audit entries, and their display names.
	"operator": `SELECT actor AS name FROM audit UNION SELECT name FROM operators ORDER BY name`,
}

const knownOrigins = `SELECT origin FROM (
  SELECT first_PART AS origin FROM leads UNION ALL SELECT last_PART FROM leads
  UNION ALL SELECT first_PART FROM sessions UNION ALL SELECT last_PART FROM sessions
) AS known WHERE origin <> '' GROUP BY origin ORDER BY count(*) DESC, origin`

// Known returns the values that exist of what an argument of the schema filters by.
func (s *Store) Known(ctx context.Context, argument string) ([]string, error) {
	return all[string](ctx, s.db, "reading the values of a filter", knownValues[argument])
}
