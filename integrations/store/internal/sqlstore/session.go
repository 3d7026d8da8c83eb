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
)

// SessionRow is a session as it is stored.
type SessionRow struct {
	ID        string
	State     string // JSON of state
	Hints     string // JSON of lead.Hints; empty: none
	Mailbox   string // key of the mailbox of their address; empty: none
	Choices   string // what a funnel counts of the state
	FirstSeen int64  // milliseconds
	LastSeen  int64  // milliseconds
	Tracks    int64

	First, Last touch
}

// touch is where a visitor came from.
type touch struct {
	Text     string // JSON of lead.Attribution, empty if the client did not say
	Source   string
	Campaign string
}

func newTouch(a lead.Attribution) (touch, error) {
	text, err := optionalJSON(a)
	return touch{text, a.Source, a.Campaign}, err
}

// optionalJSON encodes a value, or returns an empty text for a zero one.
func optionalJSON[T comparable](value T) (string, error) {
	var zero T
	if value == zero {
		return "", nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// readOptionalJSON decodes what optionalJSON returned.
func readOptionalJSON(text string, into any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), into)
}

type state struct {
	Selections lead.Selections      `json:"selections,omitzero"`
	Estimate   lead.PartialEstimate `json:"estimate,omitzero"`
	Locale     string               `json:"locale,omitempty"`
}

const (
	sessionColumns = `id, state, hints, mailbox, choices, first_seen, last_seen, tracks, ` +
		`first_touch, first_source, first_campaign, last_touch, last_source, last_campaign`

	// The state that arrives is up to a minute older than the stored one.
	late = `excluded.last_seen BETWEEN sessions.last_seen - 60000 AND sessions.last_seen - 1`

	// An empty touch replaces nothing, and one without a source or that is late replaces
	// none with a source.
	keepFirst = `CASE WHEN excluded.first_touch = '' OR sessions.first_touch <> '' ` +
		`AND excluded.first_seen >= sessions.first_seen THEN sessions.`
	keepLast = `CASE WHEN excluded.last_touch = '' OR sessions.last_source <> '' ` +
		`AND (excluded.last_source = '' OR ` + late + `) THEN sessions.`

	// TrackSession keeps the stored state if the new one is up to a minute older, and
	// counts both. A greater difference means that the clock was set back: the new state
	// wins.
	TrackSession = `INSERT INTO sessions (` + sessionColumns + `) ` +
		`VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT (id) DO UPDATE SET
  first_touch = ` + keepFirst + `first_touch ELSE excluded.first_touch END,
  first_source = ` + keepFirst + `first_source ELSE excluded.first_source END,
  first_campaign = ` + keepFirst + `first_campaign ELSE excluded.first_campaign END,
  last_touch = ` + keepLast + `last_touch ELSE excluded.last_touch END,
  last_source = ` + keepLast + `last_source ELSE excluded.last_source END,
  last_campaign = ` + keepLast + `last_campaign ELSE excluded.last_campaign END,
  first_seen = CASE WHEN excluded.first_seen < sessions.first_seen ` +
		`THEN excluded.first_seen ELSE sessions.first_seen END,
  state = CASE WHEN ` + late + ` THEN sessions.state ELSE excluded.state END,
  hints = CASE WHEN ` + late + ` THEN sessions.hints ELSE excluded.hints END,
  mailbox = CASE WHEN ` + late + ` THEN sessions.mailbox ELSE excluded.mailbox END,
  choices = CASE WHEN ` + late + ` THEN sessions.choices ELSE excluded.choices END,
  last_seen = CASE WHEN ` + late + ` THEN sessions.last_seen ELSE excluded.last_seen END,
  tracks = sessions.tracks + 1`

	selectSession = `SELECT ` + sessionColumns + ` FROM sessions`

	// ofMailbox selects the sessions in which an address was typed, by their index.
	ofMailbox = ` WHERE mailbox = $1 AND mailbox <> ''`

	// eraseHints removes what was typed into the contact form, and where the visitor came
	// from. The choices stay, for the statistics.
	eraseHints = `UPDATE sessions SET hints = '', mailbox = '',
  first_touch = '', first_source = '', first_campaign = '', last_touch = '', last_source = '', last_campaign = ''`
)

// Track stores the latest state of a session and counts it.
func (s *Store) Track(ctx context.Context, v lead.Visit) error {
	row, err := newSessionRow(v)
	if err != nil {
		return fmt.Errorf("encoding the state of a session: %w", err)
	}
	if _, err := s.db.Exec(ctx, TrackSession, row.values()...); err != nil {
		return fmt.Errorf("tracking a session: %w", err)
	}
	return nil
}

func newSessionRow(v lead.Visit) (SessionRow, error) {
	st := state{Selections: v.Selections, Estimate: v.Estimate, Locale: v.Locale}
	text, err := json.Marshal(st)
	if err != nil {
		return SessionRow{}, err
	}
	hints, err := optionalJSON(v.Hints)
	if err != nil {
		return SessionRow{}, err
	}
	from, err := newTouch(v.Attribution)
	if err != nil {
		return SessionRow{}, err
	}

	at := v.At.UnixMilli()
	return SessionRow{
		ID:        v.SessionID,
		State:     string(text),
		Hints:     hints,
		Mailbox:   mailbox.Key(v.Hints.Email),
		Choices:   choices(st, v.Hints),
		FirstSeen: at,
		LastSeen:  at,
		Tracks:    1,
		First:     from,
		Last:      from,
	}, nil
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
		return s.readSessions(ctx, ` WHERE id > $1 ORDER BY id LIMIT $2`, after.ID, pageSize)
	})
}

func (s *Store) readSessions(ctx context.Context, which string, args ...any) (list []SessionRow, err error) {
	err = s.db.Query(ctx, selectSession+which, args, func(scan Scan) error {
		var r SessionRow
		err := scan(r.columns()...)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the sessions: %w", err)
	}
	return list, nil
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
	err = one(ctx, s.db, `SELECT count(*) FROM sessions`+ofMailbox,
		[]any{mailbox.Key(email)}, &n)
	return n, err
}

// EraseHints removes the contact form entries from the sessions in which an e-mail
// address was typed.
func (s *Store) EraseHints(ctx context.Context, email string) (int64, error) {
	n, err := s.db.Exec(ctx, eraseHints+ofMailbox, mailbox.Key(email))
	if err != nil {
		return 0, fmt.Errorf("erasing contact hints: %w", err)
	}
	return n, nil
}

// SessionsOf implements [store.Persons].
func (s *Store) SessionsOf(ctx context.Context, email string) (list []lead.Session, err error) {
	key := mailbox.Key(email)
	rows, err := s.readSessions(ctx, ` WHERE id IN (
  SELECT id FROM sessions`+ofMailbox+` UNION SELECT session_id FROM leads WHERE mailbox = $1)
ORDER BY first_seen, id`, key)
	if err != nil {
		return nil, err
	}

	for _, r := range rows {
		if r.Mailbox != key && r.Mailbox != "" {
			r.Hints = ""
		}
		session, err := r.session()
		if err != nil {
			return nil, err
		}
		list = append(list, session)
	}
	return list, nil
}

func (r *SessionRow) columns() []any {
	return []any{
		&r.ID, &r.State, &r.Hints, &r.Mailbox, &r.Choices, &r.FirstSeen, &r.LastSeen, &r.Tracks,
		&r.First.Text, &r.First.Source, &r.First.Campaign,
		&r.Last.Text, &r.Last.Source, &r.Last.Campaign,
	}
}

func (r *SessionRow) values() []any {
	return []any{
		r.ID, r.State, r.Hints, r.Mailbox, r.Choices, r.FirstSeen, r.LastSeen, r.Tracks,
		r.First.Text, r.First.Source, r.First.Campaign,
		r.Last.Text, r.Last.Source, r.Last.Campaign,
	}
}

func (r SessionRow) session() (lead.Session, error) {
	var st state
	s := lead.Session{
		ID:        r.ID,
		FirstSeen: time.UnixMilli(r.FirstSeen).UTC(),
		LastSeen:  time.UnixMilli(r.LastSeen).UTC(),
		Visits:    r.Tracks,
	}
	err := errors.Join(
		readOptionalJSON(r.State, &st),
		readOptionalJSON(r.Hints, &s.Hints),
		readOptionalJSON(r.First.Text, &s.FirstTouch),
		readOptionalJSON(r.Last.Text, &s.LastTouch),
	)
	if err != nil {
		return lead.Session{}, fmt.Errorf("decoding session %q: %w", r.ID, err)
	}

	s.Selections, s.Estimate, s.Locale = st.Selections, st.Estimate, st.Locale
	return s, nil
}
