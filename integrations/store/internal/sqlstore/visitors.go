package sqlstore

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
)

// saved returns the key of the mailbox of a state's e-mail address if the visitor agreed to
// its being kept, or else an empty text.
func (st *state) saved() string {
	if !st.Hints.Agreed {
		return ""
	}
	return mailbox.Key(st.Hints.Email)
}

// VisitorsWhoLeft reads sessions in the order of the index sessions_saved, and leaves out those
// that a lead came from. There are few: the listing of a visitor ends with the lead.
func (s *Store) VisitorsWhoLeft(
	ctx context.Context, f store.VisitorFilter,
) (visitors []lead.Session, err error) {
	for {
		page, err := s.savedSessions(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("listing visitors who left: %w", err)
		}
		came, err := withLead(ctx, s.db, page...)
		if err != nil {
			return nil, err
		}

		for _, r := range page {
			if came[r.ID] {
				continue
			}
			v, err := r.session()
			if err != nil {
				return nil, err
			}
			if visitors = append(visitors, v); len(visitors) == f.Limit {
				return visitors, nil
			}
		}

		if len(page) < chunk {
			return visitors, nil
		}
		last := page[len(page)-1]
		f.After = &store.VisitorPosition{LastSeen: time.UnixMilli(last.SavedAt), SessionID: last.ID}
	}
}

// savedSessions returns up to a hundred sessions of visitors who agreed.
func (s *Store) savedSessions(ctx context.Context, f store.VisitorFilter) (page []SessionRow, err error) {
	var c conditions
	c.add("saved_at > 0")
	c.add("saved_at <= ?", f.Before.UnixMilli())
	if f.After != nil {
		c.add("(saved_at, id) < (?, ?)", f.After.LastSeen.UnixMilli(), f.After.SessionID)
	}

	query := fmt.Sprintf("%s%s ORDER BY saved_at DESC, id DESC LIMIT %d", selectSession, c.where(), chunk)
	err = s.db.Query(ctx, query, c.args, func(scan Scan) error {
		var r SessionRow
		err := scan(r.columns()...)
		page = append(page, r)
		return err
	})
	return page, err
}

// withLead returns from which of some sessions, by their ids, a lead came, or from their
// address since they were last seen.
func withLead(ctx context.Context, db DB, sessions ...SessionRow) (map[string]bool, error) {
	var ids, emails []string
	for _, r := range sessions {
		ids, emails = append(ids, r.ID), append(emails, r.Saved)
	}
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // an empty map
	}

	var bySession conditions
	bySession.in("session_id", ids)
	byEmail := conditions{args: bySession.args}
	byEmail.in("email", emails)

	came := map[string]bool{}
	latest := map[string]int64{} // times by address
	err := db.Query(ctx,
		`SELECT session_id, '', submitted_at FROM submissions`+bySession.where()+
			` UNION ALL SELECT '', email, submitted_at FROM submissions`+byEmail.where(),
		byEmail.args,
		func(scan Scan) error {
			var id, email string
			var at int64
			err := scan(&id, &email, &at)
			came[id], latest[email] = true, max(latest[email], at)
			return err
		},
	)
	if err != nil {
		return nil, fmt.Errorf("looking for leads of visitors: %w", err)
	}

	for _, r := range sessions {
		if at, found := latest[r.Saved]; found && at >= r.LastSeen {
			came[r.ID] = true
		}
	}
	return came, nil
}

// unlessLead takes an agreement back that a lead came after, so that a visitor who goes on is
// not listed.
func (r *SessionRow) unlessLead(ctx context.Context, db DB) error {
	if r.Saved == "" {
		return nil
	}
	came, err := withLead(ctx, db, *r)
	if came[r.ID] {
		r.Saved, r.SavedAt = "", 0
	}
	return err
}

// endListing ends the listing of the visitor whom a lead came from.
func endListing(ctx context.Context, tx Tx, row LeadRow) error {
	_, err := tx.Exec(ctx, `UPDATE sessions SET saved_email = '', saved_at = 0 WHERE id IN (
  SELECT id FROM sessions WHERE id = $1 AND saved_at > 0
  UNION ALL SELECT id FROM sessions WHERE saved_email = $2 AND saved_at > 0 AND last_seen <= $3)`,
		row.SessionID, row.Email, row.SubmittedAt)
	if err != nil {
		return fmt.Errorf("ending the listing of the visitor: %w", err)
	}
	return nil
}
