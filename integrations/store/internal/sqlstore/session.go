package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
)

// SessionRow is a session as it is stored.
type SessionRow struct {
	ID        string
	State     string // JSON of state
	FirstSeen int64  // milliseconds
	LastSeen  int64  // milliseconds
	Visits    int64

	First, Last touch

	// Saved is the mailbox of the address that the visitor agreed to its keeping, and SavedAt
	// when the visitor was last seen. They are empty and 0 without an agreement, and after a
	// lead.
	Saved   string
	SavedAt int64 // milliseconds

	// Choices repeats what is in the state, in the form in which a funnel counts it. It is
	// written, but not read with a session.
	Choices string
}

// touch is where a visitor came from.
type touch struct {
	Text     string // JSON of lead.Attribution, empty if the client did not say
	Source   string
	Campaign string
}

func newTouch(a lead.Attribution) (touch, error) {
	if a == (lead.Attribution{}) {
		return touch{}, nil
	}
	text, err := json.Marshal(a)
	return touch{string(text), a.Source, a.Campaign}, err
}

func (t touch) attribution() (a lead.Attribution, err error) {
	if t.Text != "" {
		err = json.Unmarshal([]byte(t.Text), &a)
	}
	return a, err
}

type state struct {
	Selections lead.Selections      `json:"selections,omitzero"`
	Estimate   lead.PartialEstimate `json:"estimate,omitzero"`
	Hints      lead.Hints           `json:"hints,omitzero"`
	Locale     string               `json:"locale,omitempty"`
}

const (
	sessionColumns = `id, state, first_seen, last_seen, visits, ` +
		`first_touch, first_source, first_campaign, last_touch, last_source, last_campaign, saved_email, saved_at`

	// The state that arrives is up to a minute older than the stored one.
	late = `excluded.last_seen BETWEEN sessions.last_seen - 60000 AND sessions.last_seen - 1`

	// An empty touch replaces nothing, and one without a source or that is late replaces
	// none with a source.
	keepFirst = `CASE WHEN excluded.first_touch = '' OR sessions.first_touch <> '' ` +
		`AND excluded.first_seen >= sessions.first_seen THEN sessions.`
	keepLast = `CASE WHEN excluded.last_touch = '' OR sessions.last_source <> '' ` +
		`AND (excluded.last_source = '' OR ` + late + `) THEN sessions.`

	// The state, and what a funnel counts of it, are those of counted_at.
	insertSession = `INSERT INTO sessions (` + sessionColumns + `, choices, counted_at) ` +
		`VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $4)
ON CONFLICT (id) DO UPDATE SET
  first_touch = ` + keepFirst + `first_touch ELSE excluded.first_touch END,
  first_source = ` + keepFirst + `first_source ELSE excluded.first_source END,
  first_campaign = ` + keepFirst + `first_campaign ELSE excluded.first_campaign END,
  last_touch = ` + keepLast + `last_touch ELSE excluded.last_touch END,
  last_source = ` + keepLast + `last_source ELSE excluded.last_source END,
  last_campaign = ` + keepLast + `last_campaign ELSE excluded.last_campaign END,
  first_seen = CASE WHEN excluded.first_seen < sessions.first_seen ` +
		`THEN excluded.first_seen ELSE sessions.first_seen END, `

	// TrackSession keeps the stored state if the new one is up to a minute older, and
	// counts both. A greater difference means that the clock was set back: the new state
	// wins.
	TrackSession = insertSession + `
  state = CASE WHEN ` + late + ` THEN sessions.state ELSE excluded.state END,
  choices = CASE WHEN ` + late + ` THEN sessions.choices ELSE excluded.choices END,
  counted_at = CASE WHEN ` + late + ` THEN sessions.counted_at ELSE excluded.counted_at END,
  saved_email = CASE WHEN ` + late + ` THEN sessions.saved_email ELSE excluded.saved_email END,
  saved_at = CASE WHEN ` + late + ` THEN sessions.saved_at ELSE excluded.saved_at END,
  last_seen = CASE WHEN ` + late + ` THEN sessions.last_seen ELSE excluded.last_seen END,
  visits = sessions.visits + 1`

	// importSession keeps the later one of two states.
	importSession = insertSession + `
  state = excluded.state, choices = excluded.choices, counted_at = excluded.counted_at,
  saved_email = excluded.saved_email, saved_at = excluded.saved_at,
  last_seen = excluded.last_seen, visits = excluded.visits
WHERE excluded.last_seen > sessions.last_seen
  OR excluded.last_seen = sessions.last_seen AND excluded.visits > sessions.visits`

	selectSession = `SELECT ` + sessionColumns + ` FROM sessions`
)

// Track stores the latest state of a session and counts it.
func (s *Store) Track(ctx context.Context, v lead.Visit) error {
	st := state{Selections: v.Selections, Estimate: v.Estimate, Hints: v.Hints, Locale: v.Locale}
	text, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("encoding the visit: %w", err)
	}
	from, err := newTouch(v.Attribution)
	if err != nil {
		return fmt.Errorf("encoding the attribution: %w", err)
	}

	at := v.At.UnixMilli()
	row := SessionRow{
		ID:        v.SessionID,
		State:     string(text),
		FirstSeen: at,
		LastSeen:  at,
		Visits:    1,
		First:     from,
		Last:      from,
		Choices:   st.choices(),
	}
	if row.Saved = st.saved(); row.Saved != "" {
		row.SavedAt = at
	}
	if err := row.unlessLead(ctx, s.db); err != nil {
		return fmt.Errorf("tracking a session: %w", err)
	}
	if _, err := s.db.Exec(ctx, TrackSession, row.values()...); err != nil {
		return fmt.Errorf("tracking a session: %w", err)
	}
	return nil
}

// Session returns the latest state of a session, or [store.ErrNotFound].
func (s *Store) Session(ctx context.Context, id string) (lead.Session, error) {
	var r SessionRow
	if err := one(ctx, s.db, selectSession+` WHERE id = $1`, []any{id}, r.columns()...); err != nil {
		return lead.Session{}, fmt.Errorf("reading the session: %w", err)
	}
	return r.session()
}

// Sessions yields the latest state of each session, in the order of their ids.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[lead.Session, error] {
	return decoded(s.SessionRows(ctx), SessionRow.session)
}

// SessionRows yields all sessions as they are stored.
func (s *Store) SessionRows(ctx context.Context) iter.Seq2[SessionRow, error] {
	return pages(func(after *SessionRow) (page []SessionRow, err error) {
		if after == nil {
			after = &SessionRow{}
		}

		err = s.db.Query(ctx,
			selectSession+` WHERE id > $1 ORDER BY id LIMIT $2`,
			[]any{after.ID, pageSize},
			func(scan Scan) error {
				var r SessionRow
				err := scan(r.columns()...)
				page = append(page, r)
				return err
			},
		)
		if err != nil {
			return nil, fmt.Errorf("listing the sessions: %w", err)
		}
		return page, nil
	})
}

// PruneSessions removes sessions last seen before a time, up to [pageSize] in each
// transaction.
func (s *Store) PruneSessions(ctx context.Context, before time.Time) (removed int64, err error) {
	for {
		n, err := s.db.Exec(ctx, `DELETE FROM sessions WHERE last_seen < $1 AND id IN (
  SELECT id FROM sessions WHERE last_seen < $1 LIMIT $2)`, before.UnixMilli(), pageSize)
		if err != nil {
			return removed, fmt.Errorf("removing old sessions: %w", err)
		}

		if removed += n; n < pageSize {
			return removed, nil
		}
	}
}

// CountHints returns the number of sessions in which an e-mail address was typed.
func (s *Store) CountHints(ctx context.Context, email string) (n int64, err error) {
	for _, err := range s.withHint(ctx, email) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// EraseHints removes the contact form entries from the sessions in which an e-mail
// address was typed, each in a transaction of its own. The first one has the audit.
func (s *Store) EraseHints(
	ctx context.Context, email string, audit ...store.AuditEntry,
) (erased int64, err error) {
	for session, err := range s.withHint(ctx, email) {
		if err != nil {
			return erased, err
		}

		var done bool
		err := s.write(ctx, "erasing contact hints", func(ctx context.Context, tx Tx) (err error) {
			if done, err = eraseHints(ctx, tx, session.ID, email); done {
				err = appendAudit(ctx, tx, audit)
			}
			return err
		})
		if err != nil {
			return erased, err
		}
		if done {
			erased, audit = erased+1, nil
		}
	}
	return erased, nil
}

// withHint yields the sessions in which an e-mail address was typed, in any spelling.
func (s *Store) withHint(ctx context.Context, email string) iter.Seq2[lead.Session, error] {
	return func(yield func(lead.Session, error) bool) {
		for session, err := range s.Sessions(ctx) {
			if (err != nil || typed(session.Hints, email)) && !yield(session, err) {
				return
			}
		}
	}
}

// typed reports whether the hints have this e-mail address; it is false for hints without
// one.
func typed(h lead.Hints, email string) bool {
	return h.Email != "" && mailbox.Key(h.Email) == mailbox.Key(email)
}

// eraseHints removes the contact form entries from a session, and where its visitor came
// from. It reports whether there were any entries. If email is not empty, it erases them
// only if that address was typed.
func eraseHints(ctx context.Context, tx Tx, id, email string) (bool, error) {
	// The update locks the row before it is read, since the visitor may still be typing.
	var text string
	err := one(ctx, tx, `UPDATE sessions SET visits = visits WHERE id = $1 RETURNING state`, []any{id}, &text)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}

	var st state
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		return false, fmt.Errorf("decoding session %q: %w", id, err)
	}
	if email != "" && !typed(st.Hints, email) {
		return false, nil
	}

	some := st.Hints != (lead.Hints{})
	st.Hints = lead.Hints{}
	changed, err := json.Marshal(st)
	if err != nil {
		return false, fmt.Errorf("encoding the session: %w", err)
	}

	_, err = tx.Exec(ctx, `UPDATE sessions SET state = $1, choices = $2, counted_at = last_seen,
  saved_email = '', saved_at = 0,
  first_touch = '', first_source = '', first_campaign = '', last_touch = '', last_source = '', last_campaign = ''
WHERE id = $3`, string(changed), st.choices(), id)
	return some, err
}

func (r *SessionRow) columns() []any {
	return []any{
		&r.ID, &r.State, &r.FirstSeen, &r.LastSeen, &r.Visits,
		&r.First.Text, &r.First.Source, &r.First.Campaign,
		&r.Last.Text, &r.Last.Source, &r.Last.Campaign,
		&r.Saved, &r.SavedAt,
	}
}

func (r *SessionRow) values() []any {
	return []any{
		r.ID, r.State, r.FirstSeen, r.LastSeen, r.Visits,
		r.First.Text, r.First.Source, r.First.Campaign,
		r.Last.Text, r.Last.Source, r.Last.Campaign,
		r.Saved, r.SavedAt, r.Choices,
	}
}

func (r *SessionRow) state() (st state, err error) {
	if err := json.Unmarshal([]byte(r.State), &st); err != nil {
		return st, fmt.Errorf("decoding session %q: %w", r.ID, err)
	}
	return st, nil
}

func (r SessionRow) session() (lead.Session, error) {
	st, err := r.state()
	if err != nil {
		return lead.Session{}, err
	}
	first, errFirst := r.First.attribution()
	last, errLast := r.Last.attribution()
	if err := errors.Join(errFirst, errLast); err != nil {
		return lead.Session{}, fmt.Errorf("decoding where session %q came from: %w", r.ID, err)
	}

	return lead.Session{
		ID:         r.ID,
		Selections: st.Selections,
		Estimate:   st.Estimate,
		Hints:      st.Hints,
		Locale:     st.Locale,
		FirstTouch: first,
		LastTouch:  last,
		FirstSeen:  time.UnixMilli(r.FirstSeen).UTC(),
		LastSeen:   time.UnixMilli(r.LastSeen).UTC(),
		Visits:     r.Visits,
	}, nil
}
