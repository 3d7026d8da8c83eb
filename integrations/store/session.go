package store

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
)

const (
	// late means that the arriving state is up to a minute older than the stored one.
	late = `excluded.last_seen BETWEEN sessions.last_seen - 60000 AND sessions.last_seen - 1`

	// An empty touch replaces nothing. Only an earlier touch replaces the first one, and
	// a last touch with a source is not replaced by one without a source or one that is
	// late.
	keepFirst = `CASE WHEN excluded.first_touch = '' OR sessions.first_touch <> '' ` +
		`AND excluded.first_seen >= sessions.first_seen THEN sessions.`
	keepLast = `CASE WHEN excluded.last_touch = '' OR sessions.last_source <> '' ` +
		`AND (excluded.last_source = '' OR ` + late + `) THEN sessions.`

	// trackSession keeps the stored state if the new one is up to a minute older, and
	// counts both. A greater difference means that the clock was set back: the new state
	// wins.
	trackSession = `INSERT INTO sessions (id, selections, step, estimate, locale, hints, mailbox,
  first_seen, last_seen, visits, first_touch, first_source, first_campaign,
  last_touch, last_source, last_campaign)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, 1, $9, $10, $11, $9, $10, $11)
ON CONFLICT (id) DO UPDATE SET
  first_touch = ` + keepFirst + `first_touch ELSE excluded.first_touch END,
  first_source = ` + keepFirst + `first_source ELSE excluded.first_source END,
  first_campaign = ` + keepFirst + `first_campaign ELSE excluded.first_campaign END,
  last_touch = ` + keepLast + `last_touch ELSE excluded.last_touch END,
  last_source = ` + keepLast + `last_source ELSE excluded.last_source END,
  last_campaign = ` + keepLast + `last_campaign ELSE excluded.last_campaign END,
  first_seen = CASE WHEN excluded.first_seen < sessions.first_seen ` +
		`THEN excluded.first_seen ELSE sessions.first_seen END,
  selections = CASE WHEN ` + late + ` THEN sessions.selections ELSE excluded.selections END,
  step = CASE WHEN ` + late + ` THEN sessions.step ELSE excluded.step END,
  estimate = CASE WHEN ` + late + ` THEN sessions.estimate ELSE excluded.estimate END,
  locale = CASE WHEN ` + late + ` THEN sessions.locale ELSE excluded.locale END,
  hints = CASE WHEN ` + late + ` THEN sessions.hints ELSE excluded.hints END,
  mailbox = CASE WHEN ` + late + ` THEN sessions.mailbox ELSE excluded.mailbox END,
  last_seen = CASE WHEN ` + late + ` THEN sessions.last_seen ELSE excluded.last_seen END,
  visits = sessions.visits + 1`

	sessionColumns = `id, selections, estimate, locale,
  first_touch, last_touch, first_seen, last_seen, visits`

	// ofMailbox selects the sessions in which an address was typed, using their index.
	ofMailbox = ` WHERE mailbox = $1 AND mailbox <> ''`

	// eraseHints removes the contact form entries and the touches. The selections stay
	// for statistics.
	eraseHints = `UPDATE sessions SET hints = '', mailbox = '',
  first_touch = '', first_source = '', first_campaign = '',
  last_touch = '', last_source = '', last_campaign = ''`
)

// Track stores the latest state of a session and counts it.
func (s *Store) Track(ctx context.Context, v lead.Visit) error {
	step := Visited
	switch {
	case v.Hints != lead.Hints{}:
		step = Typed
	case v.Estimate.Min != nil || v.Estimate.Max != nil:
		step = Estimated
	case v.Selections.ProjectType != "":
		step = Chose
	}

	_, err := s.exec(ctx, "tracking a session", trackSession,
		v.SessionID, v.Selections, int(step), v.Estimate, v.Locale, v.Hints, mailbox.Key(v.Hints.Email), v.At,
		v.Attribution, v.Attribution.Source, v.Attribution.Campaign)
	return err
}

// Session returns the latest state of a session, or [ErrNotFound].
func (s *Store) Session(ctx context.Context, id string) (lead.Session, error) {
	return one[lead.Session](ctx, s.db, "reading the session",
		`SELECT `+sessionColumns+`, hints FROM sessions WHERE id = $1`, id)
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

// SessionsOf returns the sessions in which an address was typed and the sessions of its
// leads, in the order in which they began. If another address was typed in a lead's
// session, that address and the name are left out.
func (s *Store) SessionsOf(ctx context.Context, email string) ([]lead.Session, error) {
	return all[lead.Session](ctx, s.db, "reading a person's sessions", `WITH theirs AS (
  SELECT session_id, mailbox FROM leads WHERE id IN (`+leadsOf("$1")+`)
) SELECT `+sessionColumns+`,
CASE WHEN mailbox IN ($1, '') OR mailbox IN (SELECT mailbox FROM theirs) THEN hints ELSE '' END AS hints
FROM sessions WHERE id IN (SELECT id FROM sessions`+ofMailbox+` UNION SELECT session_id FROM theirs)
ORDER BY first_seen, id`, mailbox.Key(email))
}

// SessionPosition is the position of a session in the listing of [Store.Unfinished].
type SessionPosition struct {
	LastSeen time.Time // zero: the beginning
	ID       string
}

// Unfinished returns sessions with the consent to storing what was typed and an address, up to
// a limit, newest first. Those whose session, or whose address since their beginning, has a
// lead are left out. Within JSON, the quotation marks of a typed text are escaped, so the
// condition matches only the consent.
func (s *Store) Unfinished(ctx context.Context, after SessionPosition, limit int) ([]lead.Session, error) {
	c := conditions{}
	c.add(`mailbox <> '' AND hints LIKE '%"agreed":true%'`)
	c.add(`NOT EXISTS (SELECT 1 FROM leads WHERE leads.session_id = sessions.id
OR leads.mailbox = sessions.mailbox AND submitted_at >= first_seen)`)
	if !after.LastSeen.IsZero() {
		c.add("(last_seen, id) < (?, ?)", after.LastSeen, after.ID)
	}
	return all[lead.Session](ctx, s.db, "listing unfinished quotes", fmt.Sprintf(
		`SELECT %s, hints FROM sessions%s ORDER BY last_seen DESC, id DESC LIMIT %d`,
		sessionColumns, c.where(), limit), c.args...)
}
