package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// clockTolerance is how far, in milliseconds, a state may be older than the stored
// one and still be taken for a late arrival. One that is older still means that the
// clock was set back: then what arrived last is the latest.
const clockTolerance = 60_000

// state is the JSON of a session's row.
type state struct {
	Selections quote.Selections      `json:"selections,omitzero"`
	Estimate   quote.PartialEstimate `json:"estimate,omitzero"`
	Hints      quote.Hints           `json:"hints,omitzero"`
}

// SessionRow is a session as it is stored.
type SessionRow struct {
	ID        string
	State     string // JSON
	FirstSeen int64  // milliseconds
	LastSeen  int64  // milliseconds
	Visits    int64
}

// NewSessionRow turns a visit into the row of a session seen once. It does the work
// that needn't wait for the writer's turn.
func NewSessionRow(v quote.Visit) (SessionRow, error) {
	b, err := json.Marshal(state{Selections: v.Selections, Estimate: v.Estimate, Hints: v.Hints})
	if err != nil {
		return SessionRow{}, fmt.Errorf("encoding the visit: %w", err)
	}
	at := v.At.UnixMilli()
	return SessionRow{ID: v.SessionID, State: string(b), FirstSeen: at, LastSeen: at, Visits: 1}, nil
}

// Add merges a later arrival into r by the same rule as the statement [Upsert].
func (r *SessionRow) Add(next SessionRow) {
	if next.LastSeen >= r.LastSeen || next.LastSeen < r.LastSeen-clockTolerance {
		r.State, r.LastSeen = next.State, next.LastSeen
	}
	r.FirstSeen = min(r.FirstSeen, next.FirstSeen)
	r.Visits += next.Visits
}

// onConflict is what a tracked state does to a session that is there already. The
// 60000 is clockTolerance.
const onConflict = `
ON CONFLICT (id) DO UPDATE SET
  state = CASE WHEN excluded.last_seen >= sessions.last_seen OR excluded.last_seen < sessions.last_seen - 60000
    THEN excluded.state ELSE sessions.state END,
  last_seen = CASE WHEN excluded.last_seen >= sessions.last_seen OR excluded.last_seen < sessions.last_seen - 60000
    THEN excluded.last_seen ELSE sessions.last_seen END,
  first_seen = CASE WHEN excluded.first_seen < sessions.first_seen
    THEN excluded.first_seen ELSE sessions.first_seen END,
  visits = sessions.visits + excluded.visits`

// Upsert stores one session row. Its arguments are the fields of [SessionRow]. The
// unnumbered marks are SQLite's fastest.
const Upsert = `INSERT INTO sessions (id, state, first_seen, last_seen, visits) VALUES (?, ?, ?, ?, ?)` + onConflict

// UpsertMany stores session rows given as five arrays, of which no two have the same
// id. PostgreSQL only.
const UpsertMany = `INSERT INTO sessions (id, state, first_seen, last_seen, visits)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])` + onConflict

// session decodes a row.
func (r SessionRow) session() (quote.Session, error) {
	var s state
	if err := json.Unmarshal([]byte(r.State), &s); err != nil {
		return quote.Session{}, fmt.Errorf("decoding session %q: %w", r.ID, err)
	}
	return quote.Session{
		ID: r.ID, Selections: s.Selections, Estimate: s.Estimate, Hints: s.Hints,
		FirstSeen: time.UnixMilli(r.FirstSeen).UTC(), LastSeen: time.UnixMilli(r.LastSeen).UTC(), Visits: r.Visits,
	}, nil
}

// Session returns the latest state of a session, or [store.ErrNotFound].
func Session(ctx context.Context, db DB, id string) (quote.Session, error) {
	r := SessionRow{ID: id}
	err := one(ctx, db, `SELECT state, first_seen, last_seen, visits FROM sessions WHERE id = $1`, []any{id},
		&r.State, &r.FirstSeen, &r.LastSeen, &r.Visits)
	if err != nil {
		return quote.Session{}, fmt.Errorf("reading the session: %w", err)
	}
	return r.session()
}

// Sessions yields sessions in the order of their ids, read page by page.
func Sessions(ctx context.Context, db DB, f store.SessionFilter) iter.Seq2[quote.Session, error] {
	return func(yield func(quote.Session, error) bool) {
		for r, err := range SessionRows(ctx, db, f) {
			var s quote.Session
			if err == nil {
				s, err = r.session()
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// SessionRows is [Sessions] without decoding. The filter is applied here rather than
// in the statement: without an index each page is read in a bounded time this way.
func SessionRows(ctx context.Context, db DB, f store.SessionFilter) iter.Seq2[SessionRow, error] {
	return func(yield func(SessionRow, error) bool) {
		for after := ""; ; {
			var page []SessionRow
			err := db.Query(ctx, `SELECT id, state, first_seen, last_seen, visits FROM sessions
WHERE id > $1 ORDER BY id LIMIT `+pageSize, []any{after}, func(scan Scan) error {
				page = append(page, SessionRow{})
				r := &page[len(page)-1]
				return scan(&r.ID, &r.State, &r.FirstSeen, &r.LastSeen, &r.Visits)
			})
			if err != nil {
				yield(SessionRow{}, fmt.Errorf("listing the sessions: %w", err))
				return
			}
			for _, r := range page {
				if seen(r, f) && !yield(r, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			after = page[len(page)-1].ID
		}
	}
}

// seen reports whether a session was last seen in the filter's time.
func seen(r SessionRow, f store.SessionFilter) bool {
	return (f.Since.IsZero() || r.LastSeen >= f.Since.UnixMilli()) && (f.Until.IsZero() || r.LastSeen < f.Until.UnixMilli())
}

// StaleSessions looks at a bounded number of sessions after the given id and returns
// the ids of those last seen before a time, and the last id it looked at, which is
// empty when there are no more.
func StaleSessions(ctx context.Context, db DB, after string, before time.Time) (ids []string, last string, err error) {
	err = db.Query(ctx, `SELECT id, last_seen FROM sessions WHERE id > $1 ORDER BY id LIMIT `+pageSize, []any{after},
		func(scan Scan) error {
			var seen int64
			if err := scan(&last, &seen); err != nil {
				return err
			}
			if seen < before.UnixMilli() {
				ids = append(ids, last)
			}
			return nil
		})
	if err != nil {
		return nil, "", fmt.Errorf("finding old sessions: %w", err)
	}
	return ids, last, nil
}
