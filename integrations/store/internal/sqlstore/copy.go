package sqlstore

import (
	"context"
	"fmt"
	"iter"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// KeyedLead is a lead with its idempotency keys and its notes.
type KeyedLead struct {
	Lead  LeadRow
	Keys  []KeyRow
	Notes []lead.Note
}

// KeyRow is an idempotency key.
type KeyRow struct {
	Key       string
	CreatedAt int64 // milliseconds
}

// KeyedLeads yields all leads with their keys, oldest first.
func (s *Store) KeyedLeads(ctx context.Context) iter.Seq2[KeyedLead, error] {
	return decoded(s.leadRows(ctx, store.Filter{}), func(row LeadRow) (KeyedLead, error) {
		l := KeyedLead{Lead: row}
		err := s.db.Query(
			ctx,
			`SELECT key, created_at FROM submission_keys WHERE submission_id = $1 ORDER BY key`,
			[]any{row.ID},
			func(scan Scan) error {
				var k KeyRow
				err := scan(&k.Key, &k.CreatedAt)
				l.Keys = append(l.Keys, k)
				return err
			},
		)
		if err != nil {
			return l, err
		}

		notes, err := s.Notes(ctx, []string{row.ID})
		l.Notes = notes[row.ID]
		return l, err
	})
}

// ImportLeads stores leads of another database in one transaction. It creates the
// unfinished deliveries of leads that are new here, and returns the numbers of new leads
// and of those with such deliveries. Leads that exist already stay as they are, but for an
// outcome that was said later.
func (s *Store) ImportLeads(
	ctx context.Context,
	leads []KeyedLead,
	unfinished []store.Delivery,
) (created, enqueued int, err error) {
	err = s.write(ctx, "importing submissions", func(ctx context.Context, tx Tx) error {
		created, enqueued = 0, 0
		var pending []store.Delivery

		for _, l := range leads {
			isNew, err := importLead(ctx, tx, l)
			if err != nil {
				return err
			}
			if !isNew {
				continue
			}

			created++
			before := len(pending)
			for _, d := range unfinished {
				if d.LeadID == l.Lead.ID {
					pending = append(pending, d)
				}
			}
			if len(pending) > before {
				enqueued++
			}
		}
		made, err := tx.Restore(ctx, pending)
		if err != nil {
			return err
		}
		return record(ctx, tx, made)
	})
	return created, enqueued, err
}

// imported separates a content key from the id of the lead that it was imported with.
const imported = "#"

const insertImported = `INSERT INTO submissions (` + leadColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT DO NOTHING`

// importLead stores a lead and reports whether it was new here. If the same
// content was submitted here as well, both leads stay, since both ids have been
// given out: the imported one gets a content key that no other lead can have.
func importLead(ctx context.Context, tx Tx, l KeyedLead) (created bool, err error) {
	row := l.Lead
	n, err := tx.Exec(ctx, insertImported, row.values()...)
	if err == nil && n == 0 {
		row.ContentKey += imported + row.ID
		n, err = tx.Exec(ctx, insertImported, row.values()...) // inserts nothing if the id exists
	}
	if err == nil && n == 1 {
		err = endListing(ctx, tx, row)
	}
	if err == nil {
		err = importOutcome(ctx, tx, row.ID, row.Outcome)
	}
	if err == nil {
		err = importWork(ctx, tx, l)
	}
	if err != nil {
		return false, fmt.Errorf("storing the submission: %w", err)
	}

	for _, k := range l.Keys {
		if _, err := tx.Exec(ctx, insertKey, k.Key, row.ID, k.CreatedAt); err != nil {
			return false, fmt.Errorf("storing an idempotency key: %w", err)
		}
	}
	return n == 1, nil
}
