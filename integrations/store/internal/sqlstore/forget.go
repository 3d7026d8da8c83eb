package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// hintTries is how often the hints of one session are removed again because the
// visitor went on meanwhile. Only PostgreSQL lets that happen inside a transaction.
const hintTries = 100

// forgetHints removes what the visitor typed of the contact form from a session. With
// an address only if that is what was typed; it reports whether it was.
func forgetHints(ctx context.Context, db DB, id, email string) (bool, error) {
	for range hintTries {
		var old string
		err := one(ctx, db, `SELECT state FROM sessions WHERE id = $1`, []any{id}, &old)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading the session: %w", err)
		}
		var s state
		if err := json.Unmarshal([]byte(old), &s); err != nil {
			return false, fmt.Errorf("decoding session %q: %w", id, err)
		}
		if s.Hints == (quote.Hints{}) || email != "" && !sameAddress(s.Hints.Email, email) {
			return false, nil
		}
		b, err := json.Marshal(state{Selections: s.Selections, Estimate: s.Estimate})
		if err != nil {
			return false, fmt.Errorf("encoding the session: %w", err)
		}
		n, err := db.Exec(ctx, `UPDATE sessions SET state = $1 WHERE id = $2 AND state = $3`, string(b), id, old)
		if err != nil {
			return false, fmt.Errorf("removing the contact hints: %w", err)
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, fmt.Errorf("removing the contact hints: %w: the session keeps changing", store.ErrUnavailable)
}

// sameAddress compares as [SubmissionRow.Email] is looked up. Nothing is no address.
func sameAddress(typed, email string) bool { return typed != "" && strings.EqualFold(typed, email) }

// EraseLimit is how many rows are erased in one transaction.
const EraseLimit = 100

// InChunks hands rows to do, up to EraseLimit at a time.
func InChunks[T any](rows iter.Seq2[T, error], do func([]T) error) error {
	var some []T
	for row, err := range rows {
		if err != nil {
			return err
		}
		if some = append(some, row); len(some) == EraseLimit {
			if err := do(some); err != nil {
				return err
			}
			some = nil
		}
	}
	if len(some) == 0 {
		return nil
	}
	return do(some)
}

// Hinted yields the ids of the sessions in whose state an address was typed.
func Hinted(ctx context.Context, db DB, email string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for r, err := range SessionRows(ctx, db, store.SessionFilter{}) {
			if err != nil {
				yield("", err)
				return
			}
			var s struct {
				Hints quote.Hints `json:"hints"`
			}
			if err := json.Unmarshal([]byte(r.State), &s); err != nil {
				yield("", fmt.Errorf("decoding session %q: %w", r.ID, err))
				return
			}
			if sameAddress(s.Hints.Email, email) && !yield(r.ID, nil) {
				return
			}
		}
	}
}

// CountHints returns the number of sessions in whose state an address was typed.
func CountHints(ctx context.Context, db DB, email string) (n int64, err error) {
	for _, err := range Hinted(ctx, db, email) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// EraseHints removes what the visitors of some sessions typed of the contact form,
// where it is still this address, inside the transaction db.
func EraseHints(ctx context.Context, db DB, email string, sessions []string) (n int64, err error) {
	for _, id := range sessions {
		done, err := forgetHints(ctx, db, id, email)
		if err != nil {
			return n, err
		}
		if done {
			n++
		}
	}
	return n, nil
}

// OldSubmissions returns the ids of some submissions made before a time and not in review, oldest first
// beginning after a place in that order, and the place of the last of them. The zero
// place is the beginning.
func OldSubmissions(ctx context.Context, db DB, after Place, before time.Time) (ids []string, last Place, err error) {
	err = db.Query(ctx, `SELECT id, submitted_at FROM submissions
WHERE (submitted_at, id) > ($1, $2) AND submitted_at < $3 AND held = 0 ORDER BY submitted_at, id LIMIT `+pageSize,
		[]any{after.SubmittedAt, after.ID, before.UnixMilli()}, func(scan Scan) error {
			err := scan(&last.ID, &last.SubmittedAt)
			ids = append(ids, last.ID)
			return err
		})
	if err != nil {
		return nil, Place{}, fmt.Errorf("finding old submissions: %w", err)
	}
	return ids, last, nil
}

// Place is one in the order of submissions.
type Place struct {
	SubmittedAt int64 // milliseconds
	ID          string
}

// Hooks are how erasing reaches the queue of deliveries, in the same transaction.
type Hooks struct {
	// UnderWay returns those of some submissions whose deliveries aren't finished. nil: none.
	UnderWay func(ids []string) ([]string, error)
	// Cancel removes the deliveries of a submission. nil: there are none.
	Cancel func(id string) error
}

// Prune erases some submissions inside the transaction db, but for those with
// deliveries under way, and returns the number of those it erased.
func Prune(ctx context.Context, db DB, ids []string, h Hooks) (removed int64, err error) {
	var busy []string
	if h.UnderWay != nil {
		if busy, err = h.UnderWay(ids); err != nil {
			return 0, fmt.Errorf("asking for deliveries under way: %w", err)
		}
	}
	for _, id := range ids {
		if slices.Contains(busy, id) {
			continue
		}
		switch err := Erase(ctx, db, id, h); {
		case errors.Is(err, store.ErrNotFound): // somebody else was quicker
		case err != nil:
			return removed, err
		default:
			removed++
		}
	}
	return removed, nil
}
