package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
)

// sessionRow is what is read of a session.
type sessionRow struct {
	ID         string
	State      document[state]
	Hints      document[lead.Hints]
	Mailbox    string // key of the mailbox of their address; empty: none
	FirstTouch document[lead.Attribution]
	LastTouch  document[lead.Attribution]
	FirstSeen  time.Time
	LastSeen   time.Time
	Tracks     int64
}

// session returns the session of a row.
func (r *sessionRow) session() lead.Session {
	st := r.State.value
	return lead.Session{
		ID:         r.ID,
		Selections: st.Selections,
		Estimate:   st.Estimate,
		Hints:      r.Hints.value,
		Locale:     st.Locale,
		FirstTouch: r.FirstTouch.value,
		LastTouch:  r.LastTouch.value,
		FirstSeen:  r.FirstSeen,
		LastSeen:   r.LastSeen,
		Visits:     r.Tracks,
	}
}

// state is what a visitor has chosen so far.
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

	// trackSession keeps the stored state if the new one is up to a minute older, and
	// counts both. A greater difference means that the clock was set back: the new state
	// wins.
	trackSession = `INSERT INTO sessions (` + sessionColumns + `) ` +
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

	selectSession = `SELECT id, state, hints, mailbox, first_touch, last_touch, first_seen, last_seen, tracks
FROM sessions`

	// ofMailbox selects the sessions in which an address was typed, by their index.
	ofMailbox = ` WHERE mailbox = $1 AND mailbox <> ''`

	// eraseHints removes what was typed into the contact form, and where the visitor came
	// from. The choices stay, for the statistics.
	eraseHints = `UPDATE sessions SET hints = '', mailbox = '',
  first_touch = '', first_source = '', first_campaign = '', last_touch = '', last_source = '', last_campaign = ''`
)

// Track stores the latest state of a session and counts it.
func (s *Store) Track(ctx context.Context, v lead.Visit) error {
	st := state{Selections: v.Selections, Estimate: v.Estimate, Locale: v.Locale}
	text, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("encoding the state of a session: %w", err)
	}
	hints, err := optionalJSON(v.Hints)
	if err != nil {
		return fmt.Errorf("encoding contact hints: %w", err)
	}
	touch, err := optionalJSON(v.Attribution)
	if err != nil {
		return fmt.Errorf("encoding where a visitor came from: %w", err)
	}

	source, campaign := v.Attribution.Source, v.Attribution.Campaign
	_, err = s.exec(ctx, "tracking a session", trackSession,
		v.SessionID, string(text), hints, mailbox.Key(v.Hints.Email), choices(st, v.Hints), v.At, v.At, 1,
		touch, source, campaign, touch, source, campaign)
	return err
}

// Session returns the latest state of a session, or [store.ErrNotFound].
func (s *Store) Session(ctx context.Context, id string) (lead.Session, error) {
	r, err := one[sessionRow](ctx, s.db, "reading the session", selectSession+` WHERE id = $1`, id)
	return r.session(), err
}

// PruneSessions removes sessions last seen before a time, up to [pageSize] in each
// transaction.
func (s *Store) PruneSessions(ctx context.Context, before time.Time) (removed int64, err error) {
	for {
		n, err := s.exec(ctx, "removing old sessions", `DELETE FROM sessions WHERE last_seen < $1 AND id IN (
  SELECT id FROM sessions WHERE last_seen < $1 LIMIT $2)`, before, pageSize)
		removed += n
		if err != nil || n < pageSize {
			return removed, err
		}
	}
}

// SessionsOf implements [store.Persons].
func (s *Store) SessionsOf(ctx context.Context, email string) (list []lead.Session, err error) {
	key := mailbox.Key(email)
	rows, err := all[sessionRow](ctx, s.db, "reading a person's sessions", selectSession+` WHERE id IN (
  SELECT id FROM sessions`+ofMailbox+` UNION SELECT session_id FROM leads WHERE mailbox = $1)
ORDER BY first_seen, id`, key)

	for _, r := range rows {
		if r.Mailbox != key && r.Mailbox != "" {
			r.Hints.value = lead.Hints{}
		}
		list = append(list, r.session())
	}
	return list, err
}
