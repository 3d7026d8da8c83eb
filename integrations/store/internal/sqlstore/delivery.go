package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/store"
)

// The column progress of a delivery. Of two that have not ended, the lower one needs more
// attention. Triggers keep the column of that name of a lead up to date.
const (
	progressEnded = iota // delivered or, with a reason, not sent
	progressFailed
	progressRetrying
	progressPending
)

// progressOf returns the column of a state.
func progressOf(s lead.DeliveryState) int64 {
	switch s {
	case lead.Failed:
		return progressFailed
	case lead.Retrying:
		return progressRetrying
	case lead.Pending:
		return progressPending
	}
	return progressEnded
}

// stateOf returns the state of a column.
func stateOf(progress int64) lead.DeliveryState {
	return []lead.DeliveryState{lead.Delivered, lead.Failed, lead.Retrying, lead.Pending}[progress]
}

// deliveryRow is what is read of a delivery.
type deliveryRow struct {
	ID          int64
	LeadID      string
	Target      lead.Target
	Job         int64
	Progress    int64
	Attempts    int
	MaxAttempts int
	CreatedAt   time.Time
	NextAt      time.Time // zero: at once, whether its target is paused or not
	StartedAt   time.Time // zero: no attempt is running
	FinishedAt  time.Time
	Reason      string // why it was not sent or, as long as it has not ended, why it waits
	Errors      document[[]lead.Attempt]
	Sending     int64
	Arrived     string // parts, with blanks between them
	Recipient   string // empty: the lead's address
}

const (
	deliveryColumns = `id, lead_id, target, job, progress, attempts, max_attempts,
created_at, next_at, started_at, finished_at, reason, errors, sending, arrived, recipient`

	newColumns = `lead_id, target, job, max_attempts, created_at, next_at, progress, finished_at, reason`

	// A delivery that has ended begins anew, with its next sending.
	renewDeliveries = ` ON CONFLICT (lead_id, target) DO UPDATE SET
job = excluded.job, max_attempts = excluded.max_attempts, next_at = 0, finished_at = 0, reason = '',
progress = CASE WHEN deliveries.progress > 1 THEN deliveries.progress ELSE 3 END,
attempts = CASE WHEN deliveries.progress > 1 THEN deliveries.attempts ELSE 0 END,
sending = CASE WHEN deliveries.progress > 1 THEN deliveries.sending ELSE deliveries.sending + 1 END,
arrived = CASE WHEN deliveries.progress > 1 THEN deliveries.arrived ELSE '' END`
)

// lost returns the time before which an attempt has begun that is over although it never
// reported back.
func lost() time.Time { return time.Now().Add(-store.AttemptLost) }

// delivery returns the delivery of a row.
func (r *deliveryRow) delivery() lead.Delivery {
	d := lead.Delivery{
		ID:          r.ID,
		LeadID:      r.LeadID,
		Target:      r.Target,
		State:       stateOf(r.Progress),
		Job:         r.Job,
		Attempts:    r.Attempts,
		MaxAttempts: r.MaxAttempts,
		CreatedAt:   r.CreatedAt,
		Errors:      r.Errors.value,
		Sending:     r.Sending,
		Arrived:     strings.Fields(r.Arrived),
		Recipient:   r.Recipient,
	}
	if d.Errors == nil {
		d.Errors = []lead.Attempt{}
	}

	switch {
	case d.State.Ended():
		d.FinishedAt, d.Reason = r.FinishedAt, r.Reason
		if d.State == lead.Delivered && r.Reason != "" {
			d.State = lead.NotSent
		}
	case r.StartedAt.After(lost()):
		d.State = lead.Running
	case !r.NextAt.IsZero():
		d.NextAt, d.Paused = r.NextAt, r.Reason
	}
	return d
}

// enqueue creates the deliveries of leads, and those to some targets again if there are
// any.
func enqueue(ctx context.Context, tx Tx, leadIDs []string, targets ...lead.Target) error {
	if len(leadIDs) == 0 {
		return nil
	}
	list, err := tx.Enqueue(ctx, leadIDs, targets...)
	if err != nil {
		return err
	}

	for len(list) > 0 { // those of a lead each time, by statements of few lengths
		var values []any
		id := list[0].LeadID
		for len(list) > 0 && list[0].LeadID == id {
			d := list[0]
			values = append(values, d.LeadID, string(d.Target), d.Job, d.MaxAttempts, d.CreatedAt, d.CreatedAt,
				progressOf(d.State), d.FinishedAt, d.Reason)
			list = list[1:]
		}
		if err := insertRows(ctx, tx, "deliveries", newColumns, values, renewDeliveries); err != nil {
			return fmt.Errorf("storing the deliveries of a lead: %w", err)
		}
	}
	return nil
}

// ListDeliveries implements [store.Deliveries].
func (s *Store) ListDeliveries(ctx context.Context, f store.DeliveryFilter) ([]lead.Delivery, error) {
	return readDeliveries(ctx, s.db, f)
}

func readDeliveries(ctx context.Context, db DB, f store.DeliveryFilter) (list []lead.Delivery, err error) {
	var c conditions
	if f.ID != 0 {
		c.add("id = ?", f.ID)
	}
	if len(f.Leads) > 0 {
		c.in("lead_id", f.Leads)
	}
	if f.Target != "" {
		c.add("target = ?", string(f.Target))
	}
	if len(f.States) > 0 {
		c.inStates(f.States)
	}

	order := " ORDER BY id"
	switch {
	case f.Newest && f.After != 0:
		c.add("id < ?", f.After)
	case f.After != 0:
		c.add("id > ?", f.After)
	}
	if f.Newest {
		order += " DESC"
	}
	if f.Limit > 0 {
		order += " LIMIT " + strconv.Itoa(f.Limit)
	}

	rows, err := all[deliveryRow](ctx, db, "listing deliveries",
		"SELECT "+deliveryColumns+" FROM deliveries"+c.where()+order, c.args...)
	for _, r := range rows {
		list = append(list, r.delivery())
	}
	return list, err
}

// inStates adds the condition that a delivery is in one of some states.
func (c *conditions) inStates(states []lead.DeliveryState) {
	var any []string
	for _, s := range states {
		term := fmt.Sprintf("progress = %d", progressOf(s))
		switch s {
		case lead.Delivered:
			term += " AND reason = ''"
		case lead.NotSent:
			term += " AND reason <> ''"
		case lead.Running:
			term = fmt.Sprintf("progress > 1 AND started_at > %d", lost().UnixMilli())
		case lead.Pending, lead.Retrying:
			term += fmt.Sprintf(" AND started_at <= %d", lost().UnixMilli())
		}

		any = append(any, term)
	}
	c.add("(" + strings.Join(any, " OR ") + ")")
}

// CountDeliveries implements [store.Deliveries].
func (s *Store) CountDeliveries(ctx context.Context) (counts []store.DeliveryCount, err error) {
	for _, target := range lead.Targets() {
		for _, state := range []lead.DeliveryState{lead.Pending, lead.Retrying, lead.Failed} {
			counts = append(counts, store.DeliveryCount{Target: target, State: state})
		}
	}

	type row struct {
		Target           lead.Target
		Progress, Number int64
		Oldest           time.Time
	}
	rows, err := all[row](ctx, s.db, "counting deliveries",
		`SELECT target, progress, count(*) AS number, min(created_at) AS oldest FROM deliveries
WHERE progress > 0 GROUP BY progress, target`)
	for _, r := range rows {
		for i := range counts {
			if c := &counts[i]; c.Target == r.Target && c.State == stateOf(r.Progress) {
				c.Number, c.Oldest = r.Number, r.Oldest
			}
		}
	}
	return counts, err
}

// RetryDelivery implements [store.Deliveries].
func (s *Store) RetryDelivery(ctx context.Context, id int64) error {
	return s.write(ctx, fmt.Sprintf("retrying delivery %d", id), func(ctx context.Context, tx Tx) error {
		list, err := readDeliveries(ctx, tx, store.DeliveryFilter{ID: id})
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return store.ErrNotFound
		case list[0].State == lead.Running:
			return nil
		}
		return enqueue(ctx, tx, []string{list[0].LeadID}, list[0].Target)
	})
}

// ResendLead implements [store.Deliveries].
func (s *Store) ResendLead(ctx context.Context, leadID string, target lead.Target, corrected string) error {
	underWay := false
	err := s.write(ctx, "resending a lead", func(ctx context.Context, tx Tx) error {
		list, err := readDeliveries(ctx, tx, store.DeliveryFilter{Leads: []string{leadID}, Target: target})
		if err != nil {
			return err
		}
		if underWay = len(list) > 0 && !list[0].State.Ended(); underWay {
			return nil
		}

		if _, err := one[string](ctx, tx, "looking for it", `SELECT id FROM leads WHERE id = $1`, leadID); err != nil {
			return err
		}
		if err := enqueue(ctx, tx, []string{leadID}, target); err != nil || corrected == "" {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE deliveries SET recipient = $1 WHERE lead_id = $2 AND target = $3`,
			mailbox.Key(corrected), leadID, string(target))
		return err
	})
	if err == nil && underWay {
		return store.ErrUnderWay
	}
	return err
}

// RemoveDeliveries implements [store.Deliveries].
func (s *Store) RemoveDeliveries(
	ctx context.Context, leadIDs []string,
) (removed, running int, err error) {
	err = s.write(ctx, "removing deliveries", func(ctx context.Context, tx Tx) error {
		var c conditions
		c.in("lead_id", leadIDs)
		c.add("(progress < 2 OR started_at <= ?)", lost())
		n, err := tx.Exec(ctx, "DELETE FROM deliveries"+c.where(), c.args...)
		if err != nil {
			return err
		}

		left, err := readDeliveries(ctx, tx, store.DeliveryFilter{Leads: leadIDs})
		removed, running = int(n), len(left)
		return err
	})
	return removed, running, err
}

// BeginAttempt implements [store.Attempts].
func (s *Store) BeginAttempt(
	ctx context.Context, leadID string, target lead.Target, job int64,
) (l lead.Lead, d lead.Delivery, err error) {
	err = s.write(ctx, "beginning an attempt", func(ctx context.Context, tx Tx) error {
		columns := strings.Replace(deliveryColumns, "started_at", "0 AS started_at", 1) // the state before the attempt
		r, err := one[deliveryRow](ctx, tx, "marking it", `UPDATE deliveries SET started_at = $4, attempts = attempts + 1
WHERE lead_id = $1 AND target = $2 AND job = $3 AND progress > 1 AND started_at <= $5 RETURNING `+columns,
			leadID, string(target), job, time.Now(), lost())
		d = r.delivery()
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return l, d, s.whyNot(ctx, leadID, target, job)
	}
	if err != nil {
		return l, d, err
	}

	l, err = s.Lead(ctx, leadID)
	return l, d, err
}

// whyNot returns why an attempt did not begin.
func (s *Store) whyNot(ctx context.Context, leadID string, target lead.Target, job int64) error {
	list, err := s.ListDeliveries(ctx, store.DeliveryFilter{Leads: []string{leadID}, Target: target})
	switch {
	case err != nil:
		return err
	case len(list) > 0 && list[0].Job == job && !list[0].State.Ended():
		return store.ErrUnderWay
	}
	return store.ErrNotFound
}

// NoteArrived implements [store.Attempts].
func (s *Store) NoteArrived(ctx context.Context, d lead.Delivery) error {
	_, err := s.exec(ctx, "noting what has arrived", `UPDATE deliveries SET arrived = $1 WHERE id = $2 AND job = $3`,
		strings.Join(d.Arrived, " "), d.ID, d.Job)
	return err
}

// EndAttempt implements [store.Attempts].
func (s *Store) EndAttempt(ctx context.Context, d lead.Delivery) error {
	failures, err := json.Marshal(d.Errors)
	if err != nil {
		return fmt.Errorf("encoding the failures of a delivery: %w", err)
	}

	reason := d.Paused
	if d.State.Ended() {
		reason = d.Reason
	}
	return s.write(ctx, "storing what became of an attempt", func(inner context.Context, tx Tx) error {
		n, err := tx.Exec(inner, `UPDATE deliveries SET started_at = 0, progress = $4, attempts = $5, next_at = $6,
finished_at = $7, reason = $8, errors = $9 WHERE lead_id = $1 AND target = $2 AND job = $3`,
			d.LeadID, string(d.Target), d.Job, progressOf(d.State), d.Attempts, d.NextAt, d.FinishedAt, reason,
			string(failures))
		switch {
		case err != nil:
			return err
		case n == 0: // The next job need not wait any longer.
			_, err = tx.Exec(inner, `UPDATE deliveries SET started_at = 0 WHERE id = $1`, d.ID)
			return err
		case !d.State.Ended():
			return nil
		}
		return tx.Complete(ctx, d.Job)
	})
}
