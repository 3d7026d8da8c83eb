// Package storecopy moves the contents of one store into another: sessions,
// submissions with their idempotency keys, and the deliveries that were not finished.
//
// Stop the service before the last copy: what is written to the old store afterwards
// is not seen. A copy may be interrupted and repeated; what is there already stays,
// and a second one brings what has come since. What was erased from the old store
// after it was copied has to be erased from the new one as well.
package storecopy

import (
	"context"
	"fmt"

	"siteapi/integrations/store/internal/sqlstore"
)

// Store is what the store of every driver is.
type Store = sqlstore.Store

// Report counts what was copied.
type Report struct {
	Sessions    int64 // read from the old store
	Submissions int64 // read from the old store
	Created     int64 // of them new in the new store
	Enqueued    int64 // of them with deliveries created again
}

// Copy copies everything in from to the store to. unfinished returns those of some
// submissions that have unfinished deliveries, which are created again. Copy returns
// what it did even if it ends with an error.
func Copy(
	ctx context.Context,
	from, to *Store,
	unfinished func(ctx context.Context, submissionIDs []string) ([]string, error),
) (r Report, err error) {
	// Leads first: they matter most if the copy is interrupted.
	err = sqlstore.InChunks(from.Leads(ctx), func(leads []sqlstore.Lead) error {
		var ids []string
		for _, l := range leads {
			if l.Submission.Review == 0 { // one in review has no deliveries until it is released
				ids = append(ids, l.Submission.ID)
			}
		}
		pending, err := unfinished(ctx, ids)
		if err != nil {
			return fmt.Errorf("looking for unfinished deliveries: %w", err)
		}
		created, enqueued, err := to.ImportLeads(ctx, leads, pending)
		if err != nil {
			return err
		}
		r.Submissions += int64(len(leads))
		r.Created += int64(created)
		r.Enqueued += int64(enqueued)
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("copying the submissions: %w", err)
	}
	err = sqlstore.InChunks(from.SessionRows(ctx), func(rows []sqlstore.SessionRow) error {
		if err := to.ImportSessions(ctx, rows); err != nil {
			return err
		}
		r.Sessions += int64(len(rows))
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("copying the sessions: %w", err)
	}
	return r, nil
}
