package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
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

const (
	deliveryColumns = `id, lead_id, target, job, progress, attempts, max_attempts,
created_at, next_at, started_at, finished_at, reason, errors, sending, arrived`

	// A delivery that has ended begins anew, with its next sending. A next_at of 0 stands for
	// a try that does not wait for the end of its target's pause.
	newDeliveries = `INSERT INTO deliveries
(lead_id, target, job, max_attempts, created_at, next_at, progress, finished_at, reason) VALUES `
	renewDeliveries = ` ON CONFLICT (lead_id, target) DO UPDATE SET
job = excluded.job, max_attempts = excluded.max_attempts, next_at = 0, finished_at = 0, reason = '',
progress = CASE WHEN deliveries.progress > 1 THEN deliveries.progress ELSE 3 END,
attempts = CASE WHEN deliveries.progress > 1 THEN deliveries.attempts ELSE 0 END,
sending = CASE WHEN deliveries.progress > 1 THEN deliveries.sending ELSE deliveries.sending + 1 END,
arrived = CASE WHEN deliveries.progress > 1 THEN deliveries.arrived ELSE '' END`

	beginAttempt = `UPDATE deliveries SET started_at = $4, attempts = attempts + 1
WHERE lead_id = $1 AND target = $2 AND job = $3 AND progress > 1 AND started_at <= $5
RETURNING `

	endAttempt = `UPDATE deliveries SET started_at = 0, progress = $4, attempts = $5, next_at = $6,
finished_at = $7, reason = $8, errors = $9 WHERE lead_id = $1 AND target = $2 AND job = $3`
)

// lost returns the time, in milliseconds, before which an attempt has begun that is over
// although it never reported back.
func lost(now time.Time) int64 { return now.Add(-store.AttemptLost).UnixMilli() }

// scanDelivery reads the columns of a delivery.
func scanDelivery(scan Scan) (d lead.Delivery, err error) {
	var progress, createdAt, nextAt, startedAt, finishedAt int64
	var reason, failures, arrived string
	err = scan(&d.ID, &d.LeadID, &d.Target, &d.Job, &progress, &d.Attempts, &d.MaxAttempts,
		&createdAt, &nextAt, &startedAt, &finishedAt, &reason, &failures, &d.Sending, &arrived)
	if err != nil {
		return d, err
	}

	d.State, d.CreatedAt = stateOf(progress), time.UnixMilli(createdAt).UTC()
	d.Arrived = strings.Fields(arrived)
	d.Errors = []lead.Attempt{}
	if failures != "" {
		err = json.Unmarshal([]byte(failures), &d.Errors)
	}

	switch {
	case d.State.Ended():
		d.FinishedAt, d.Reason = time.UnixMilli(finishedAt).UTC(), reason
		if d.State == lead.Delivered && reason != "" {
			d.State = lead.NotSent
		}
	case startedAt > lost(time.Now()):
		d.State = lead.Running
	case nextAt > 0:
		d.NextAt, d.Paused = time.UnixMilli(nextAt).UTC(), reason
	}
	return d, err
}

// enqueue creates the deliveries of leads, and those to some targets again if there are
// any.
func enqueue(ctx context.Context, tx Tx, leadIDs []string, targets ...lead.Target) error {
	list, err := tx.Enqueue(ctx, leadIDs, targets...)
	if err != nil || len(list) == 0 {
		return err
	}

	for len(list) > 0 { // those of a lead each time, by statements of few lengths
		n := 1
		for n < len(list) && list[n].LeadID == list[0].LeadID {
			n++
		}
		if err := insertDeliveries(ctx, tx, list[:n]); err != nil {
			return fmt.Errorf("storing the deliveries of a lead: %w", err)
		}
		list = list[n:]
	}
	return nil
}

func insertDeliveries(ctx context.Context, tx Tx, list []lead.Delivery) error {
	var rows []string
	var args []any
	for _, d := range list {
		n := len(args)
		rows = append(rows, fmt.Sprintf("($%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d)",
			n+1, n+2, n+3, n+4, n+5, n+6, n+7, n+8, n+9))
		args = append(args, d.LeadID, string(d.Target), d.Job, d.MaxAttempts, d.CreatedAt.UnixMilli(),
			d.CreatedAt.UnixMilli(), progressOf(d.State), milliseconds(d.FinishedAt), d.Reason)
	}
	_, err := tx.Exec(ctx, newDeliveries+strings.Join(rows, ", ")+renewDeliveries, args...)
	return err
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

	err = db.Query(ctx, "SELECT "+deliveryColumns+" FROM deliveries"+c.where()+order, c.args,
		func(scan Scan) error {
			d, err := scanDelivery(scan)
			list = append(list, d)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("listing deliveries: %w", err)
	}
	return list, nil
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
			term = fmt.Sprintf("progress > 1 AND started_at > %d", lost(time.Now()))
		case lead.Pending, lead.Retrying:
			term += fmt.Sprintf(" AND started_at <= %d", lost(time.Now()))
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

	err = s.db.Query(ctx,
		`SELECT target, progress, count(*), min(created_at) FROM deliveries WHERE progress > 0
GROUP BY progress, target`, nil,
		func(scan Scan) error {
			var target lead.Target
			var progress, number, oldest int64
			err := scan(&target, &progress, &number, &oldest)
			for i := range counts {
				if c := &counts[i]; c.Target == target && c.State == stateOf(progress) {
					c.Number, c.Oldest = number, time.UnixMilli(oldest).UTC()
				}
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("counting deliveries: %w", err)
	}
	return counts, nil
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
func (s *Store) ResendLead(ctx context.Context, leadID string, target lead.Target) error {
	underWay := false
	err := s.write(ctx, "resending a lead", func(ctx context.Context, tx Tx) error {
		list, err := readDeliveries(ctx, tx, store.DeliveryFilter{Leads: []string{leadID}, Target: target})
		if underWay = len(list) > 0 && !list[0].State.Ended(); err != nil || underWay {
			return err
		}
		if err := one(ctx, tx, `SELECT id FROM leads WHERE id = $1`, []any{leadID}, new(string)); err != nil {
			return err
		}
		return enqueue(ctx, tx, []string{leadID}, target)
	})
	if err == nil && underWay {
		return store.ErrUnderWay
	}
	return err
}

// enqueueChanged delivers leads that have changed to the CMS and the CRM again. Where an
// attempt is running, which may have read the lead as it was, the new job waits for its
// end.
func enqueueChanged(ctx context.Context, tx Tx, leadIDs []string) error {
	if len(leadIDs) == 0 {
		return nil
	}
	return enqueue(ctx, tx, leadIDs, lead.CMS, lead.CRM)
}

// RemoveDeliveries implements [store.Deliveries].
func (s *Store) RemoveDeliveries(
	ctx context.Context, leadIDs []string,
) (removed, running int, err error) {
	err = s.write(ctx, "removing deliveries", func(ctx context.Context, tx Tx) error {
		var c conditions
		c.in("lead_id", leadIDs)
		c.add("(progress < 2 OR started_at <= ?)", lost(time.Now()))
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
	now := time.Now()
	err = s.db.Write(ctx, func(ctx context.Context, tx Tx) error {
		found := false
		columns := strings.Replace(deliveryColumns, "started_at", "0", 1) // the state before the attempt
		args := []any{leadID, string(target), job, now.UnixMilli(), lost(now)}
		err := tx.Query(ctx, beginAttempt+columns, args, func(scan Scan) (err error) {
			found = true
			d, err = scanDelivery(scan)
			return err
		})
		if err == nil && !found {
			err = store.ErrNotFound
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		list, err := s.ListDeliveries(ctx, store.DeliveryFilter{Leads: []string{leadID}, Target: target})
		mine := len(list) > 0 && list[0].Job == job && !list[0].State.Ended()
		if err == nil && mine {
			err = store.ErrUnderWay
		} else if err == nil {
			err = store.ErrNotFound
		}
		return l, d, err
	}
	if err != nil {
		return l, d, fmt.Errorf("beginning an attempt: %w", err)
	}

	l, err = s.Lead(ctx, leadID)
	return l, d, err
}

// NoteArrived implements [store.Attempts].
func (s *Store) NoteArrived(ctx context.Context, d lead.Delivery) error {
	_, err := s.db.Exec(ctx, `UPDATE deliveries SET arrived = $1 WHERE id = $2 AND job = $3`,
		strings.Join(d.Arrived, " "), d.ID, d.Job)
	if err != nil {
		return fmt.Errorf("noting what has arrived: %w", err)
	}
	return nil
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
		n, err := tx.Exec(inner, endAttempt, d.LeadID, string(d.Target), d.Job, progressOf(d.State),
			d.Attempts, milliseconds(d.NextAt), milliseconds(d.FinishedAt), reason, string(failures))
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

// milliseconds returns a time as it is stored.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// in adds the condition that a column is one of some values.
func (c *conditions) in(column string, values []string) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	c.add(column+" IN ("+strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ")+")", args...)
}

// inProgress adds the condition that the Progress of a released lead is one of some values.
func (c *conditions) inProgress(of []lead.DeliveryState) {
	var values []string
	for _, s := range of {
		values = append(values, strconv.FormatInt(progressOf(s), 10))
	}
	c.add("review = 0 AND progress IN (" + strings.Join(values, ", ") + ")")

	if !slices.Contains(of, lead.Delivered) {
		c.add("progress > 0") // there are few, which an index of their own finds
	}
}
