package postgres

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
)

// SessionRows yields all sessions as they are stored, to be copied elsewhere.
func (s *Store) SessionRows(ctx context.Context) iter.Seq2[sqlstore.SessionRow, error] {
	return translated(sqlstore.SessionRows(ctx, s.pool, store.SessionFilter{}))
}

// Leads yields all submissions with what is stored beside them, to be copied elsewhere.
func (s *Store) Leads(ctx context.Context) iter.Seq2[sqlstore.Lead, error] {
	return translated(sqlstore.Leads(ctx, s.pool))
}

// ImportSessions stores sessions of another store; of two states the later one stays.
func (s *Store) ImportSessions(ctx context.Context, rows []sqlstore.SessionRow) error {
	return translate("importing sessions", s.storeSessions(ctx, sqlstore.ImportSessions, true, rows))
}

// ImportLeads stores leads of another store in one transaction, in which it creates
// the deliveries of those that are new here and that unfinished names. It returns the
// ids of the new ones.
func (s *Store) ImportLeads(ctx context.Context, leads []sqlstore.Lead, unfinished map[string]bool) (created []string, err error) {
	// Not repeated after a lost answer: a second try could not tell what was new.
	err = s.pool.transact(ctx, false, func(ctx context.Context, tx pgx.Tx, _ trial) error {
		created = nil
		var pending []string
		for _, l := range leads {
			isNew, err := sqlstore.ImportLead(ctx, executor{tx}, l)
			if err != nil {
				return err
			}
			if !isNew {
				continue
			}
			created = append(created, l.Submission.ID)
			if unfinished[l.Submission.ID] {
				pending = append(pending, l.Submission.ID)
			}
		}
		return s.enqueue(ctx, tx, pending...)
	})
	return created, translate("importing submissions", err)
}

// storeSessions runs a statement that takes session rows, no two with the same id,
// as five arrays.
func (s *Store) storeSessions(ctx context.Context, query string, repeatable bool, rows []sqlstore.SessionRow) error {
	n := len(rows)
	ids, states := make([]string, n), make([]string, n)
	first, last, visits := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, r := range rows {
		ids[i], states[i], first[i], last[i], visits[i] = r.ID, r.State, r.FirstSeen, r.LastSeen, r.Visits
	}
	return s.pool.run(ctx, repeatable, func(ctx context.Context, c *pgxpool.Conn, _ trial) error {
		_, err := c.Exec(ctx, query, ids, states, first, last, visits)
		return err
	})
}
