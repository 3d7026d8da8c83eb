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
	"iter"

	"siteapi/integrations/store/internal/sqlstore"
)

// Store is a driver that can be copied from and to.
type Store interface {
	// SessionRows yields all sessions as they are stored.
	SessionRows(ctx context.Context) iter.Seq2[sqlstore.SessionRow, error]
	// Leads yields all submissions with what is stored beside them, oldest first.
	Leads(ctx context.Context) iter.Seq2[sqlstore.Lead, error]
	// ImportSessions stores sessions; of two states the later one stays.
	ImportSessions(ctx context.Context, rows []sqlstore.SessionRow) error
	// ImportLeads stores leads in one transaction, in which it creates the deliveries of
	// those that were not there yet and that unfinished names. It returns the ids of the new ones.
	ImportLeads(ctx context.Context, leads []sqlstore.Lead, unfinished map[string]bool) (created []string, err error)
}

// Options say how to copy.
type Options struct {
	// Unfinished returns which of some submissions have deliveries that were not finished.
	// They are created anew; the far ends take a repeated delivery for what it is. nil:
	// all of them, since a delivery too many does less harm than one that is missing.
	Unfinished func(ctx context.Context, submissionIDs []string) ([]string, error)
	// Progress is called after each batch. nil: nobody is told.
	Progress func(Report)
}

// Report counts what was copied.
type Report struct {
	Sessions    int64 // read from the old store
	Submissions int64 // read from the old store
	Created     int64 // of them new in the new store
	Enqueued    int64 // of them with deliveries created anew
}

const (
	sessionBatch = 500
	leadBatch    = 100
)

// Copy copies everything in from to the store to. It returns what it got done also
// when it ends with an error.
func Copy(ctx context.Context, from, to Store, o Options) (Report, error) {
	var r Report
	if o.Progress == nil {
		o.Progress = func(Report) {}
	}
	// Leads first: should the copy be cut short, they are what matters.
	err := batches(from.Leads(ctx), leadBatch, func(leads []sqlstore.Lead) error {
		ids := make([]string, 0, len(leads))
		for _, l := range leads {
			if l.Submission.Held == 0 { // one that is held has no deliveries until it is released
				ids = append(ids, l.Submission.ID)
			}
		}
		unfinished, err := unfinished(ctx, o, ids)
		if err != nil {
			return err
		}
		created, err := to.ImportLeads(ctx, leads, unfinished)
		if err != nil {
			return err
		}
		r.Submissions += int64(len(leads))
		r.Created += int64(len(created))
		for _, id := range created {
			if unfinished[id] {
				r.Enqueued++
			}
		}
		o.Progress(r)
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("copying the submissions: %w", err)
	}
	err = batches(from.SessionRows(ctx), sessionBatch, func(rows []sqlstore.SessionRow) error {
		if err := to.ImportSessions(ctx, rows); err != nil {
			return err
		}
		r.Sessions += int64(len(rows))
		o.Progress(r)
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("copying the sessions: %w", err)
	}
	return r, nil
}

// unfinished returns which of ids need their deliveries created anew.
func unfinished(ctx context.Context, o Options, ids []string) (map[string]bool, error) {
	if o.Unfinished != nil {
		some, err := o.Unfinished(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("asking for unfinished deliveries: %w", err)
		}
		ids = some
	}
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set, nil
}

// batches hands rows to do, up to size at a time.
func batches[T any](rows iter.Seq2[T, error], size int, do func([]T) error) error {
	var batch []T
	for row, err := range rows {
		if err != nil {
			return err
		}
		if batch = append(batch, row); len(batch) == size {
			if err := do(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return do(batch)
}
