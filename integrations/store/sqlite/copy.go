package sqlite

import (
	"context"
	"fmt"
	"iter"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// SessionRows yields all sessions as they are stored, to be copied elsewhere.
func (s *Store) SessionRows(ctx context.Context) iter.Seq2[sqlstore.SessionRow, error] {
	return translated(sqlstore.SessionRows(ctx, s.read, store.SessionFilter{}))
}

// Leads yields all submissions with what is stored beside them, to be copied elsewhere.
func (s *Store) Leads(ctx context.Context) iter.Seq2[sqlstore.Lead, error] {
	return translated(sqlstore.Leads(ctx, s.read))
}

// ImportSessions stores sessions of another store; of two states the later one stays.
func (s *Store) ImportSessions(ctx context.Context, rows []sqlstore.SessionRow) error {
	return named("importing sessions", s.group.Do(ctx, &importSessionsOp{rows: rows}))
}

// ImportLeads stores leads of another store in one transaction, in which it creates
// the deliveries of those that are new here and that unfinished names. It returns the
// ids of the new ones.
func (s *Store) ImportLeads(ctx context.Context, leads []sqlstore.Lead, unfinished map[string]bool) ([]string, error) {
	o := &importLeadsOp{leads: leads, unfinished: unfinished}
	if err := s.group.Do(ctx, o); err != nil {
		return nil, named("importing submissions", err)
	}
	return o.created, nil
}

type importSessionsOp struct{ rows []sqlstore.SessionRow }

func (o *importSessionsOp) apply(ctx context.Context, b *batch) error {
	if err := b.flush(ctx); err != nil {
		return err
	}
	for _, r := range o.rows {
		_, err := b.w.db.Exec(ctx, sqlstore.ImportSession, r.ID, r.State, r.FirstSeen, r.LastSeen, r.Visits)
		if err != nil {
			return fmt.Errorf("storing a session: %w", err)
		}
	}
	return nil
}

type importLeadsOp struct {
	leads      []sqlstore.Lead
	unfinished map[string]bool

	created []string
}

func (o *importLeadsOp) apply(ctx context.Context, b *batch) error {
	o.created = nil
	for _, l := range o.leads {
		created, err := sqlstore.ImportLead(ctx, b.w.db, l)
		if err != nil {
			return err
		}
		if !created {
			continue
		}
		o.created = append(o.created, l.Submission.ID)
		if o.unfinished[l.Submission.ID] {
			b.created = append(b.created, l.Submission.ID)
		}
	}
	return nil
}
