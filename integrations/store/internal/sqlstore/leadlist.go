package sqlstore

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
)

// Leads yields stored leads in the filter's order.
func (s *Store) Leads(ctx context.Context, f store.Filter) iter.Seq2[lead.Lead, error] {
	return decoded(s.leadRows(ctx, f), func(r LeadRow) (lead.Lead, error) { return s.whole(ctx, r) })
}

func (s *Store) leadRows(ctx context.Context, f store.Filter) iter.Seq2[LeadRow, error] {
	return pages(func(after *LeadRow) ([]LeadRow, error) {
		if after == nil && f.After != nil {
			after = &LeadRow{
				ID:          f.After.ID,
				SubmittedAt: f.After.SubmittedAt.UnixMilli(),
				Amount:      f.After.Amount,
			}
		}

		var c conditions
		c.match(f)
		c.search(f.Search, f.Limit > 0)
		c.after(f, after)
		return s.readPage(ctx, f, c)
	})
}

// rowsOf returns how many rows of a listing are read at once.
func rowsOf(f store.Filter) int {
	if f.Limit == 0 {
		return pageSize
	}
	return min(f.Limit+1, pageSize) // The extra row shows whether there are more.
}

// orderColumns returns what a listing is sorted by. Leads of the same amount come in the
// order of their times.
func orderColumns(f store.Filter) []string {
	if f.ByAmount {
		return []string{"amount", "submitted_at", "id"}
	}
	return []string{"submitted_at", "id"}
}

func order(f store.Filter) string {
	if f.Newest {
		return " ORDER BY " + strings.Join(orderColumns(f), " DESC, ") + " DESC"
	}
	return " ORDER BY " + strings.Join(orderColumns(f), ", ")
}

// after limits the rows to those that come after one in the order of the listing, unless it
// is nil.
func (c *conditions) after(f store.Filter, row *LeadRow) {
	if row == nil {
		return
	}

	sign := ">"
	if f.Newest {
		sign = "<"
	}
	columns := "(" + strings.Join(orderColumns(f), ", ") + ") "
	if f.ByAmount {
		c.add(columns+sign+" (?, ?, ?)", row.Amount, row.SubmittedAt, row.ID)
	} else {
		c.add(columns+sign+" (?, ?)", row.SubmittedAt, row.ID)
	}
}

// readPage reads the first rows of a listing that fulfil the conditions. Only the rows of the
// page are read whole: an index of the listing's order has all columns of the conditions.
func (s *Store) readPage(ctx context.Context, f store.Filter, c conditions) (page []LeadRow, err error) {
	ids := fmt.Sprintf("SELECT id FROM leads%s%s LIMIT %d", c.where(), order(f), rowsOf(f))
	err = s.db.Query(ctx, selectLead+" WHERE id IN ("+ids+")"+order(f), c.args,
		func(scan Scan) error {
			var r LeadRow
			err := scan(r.columns()...)
			page = append(page, r)
			return err
		},
	)
	if err != nil {
		return nil, fmt.Errorf("listing the leads: %w", err)
	}
	return page, nil
}

// match adds the conditions of a filter except for its search.
func (c *conditions) match(f store.Filter) {
	if f.Email != "" {
		c.add("mailbox = ?", mailbox.Key(f.Email))
	}
	if f.Reference != "" {
		reference := strings.ToLower(f.Reference)
		c.add("id BETWEEN ? AND ?", reference, reference+"~") // "~" sorts after every character of an id.
	}

	if f.InReview {
		c.add("review = 1")
	}
	if f.Rejected {
		c.add("review = 2")
	}
	if len(f.Progress) > 0 {
		c.inProgress(f.Progress)
	}
	c.matchWork(f)

	if len(f.IDs) > 0 {
		c.in("id", f.IDs)
	}

	if !f.Since.IsZero() {
		c.add("submitted_at >= ?", f.Since.UnixMilli())
	}
	if !f.Until.IsZero() {
		c.add("submitted_at < ?", f.Until.UnixMilli())
	}
}

// CountLeads returns the number of stored leads.
func (s *Store) CountLeads(ctx context.Context) (n int64, err error) {
	err = one(ctx, s.db, `SELECT count(*) FROM leads`, nil, &n)
	return n, err
}
