package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail/mailbox"
)

// ErrUnderWay means that a delivery has not ended, or that an attempt at it is running.
var ErrUnderWay = errors.New("a delivery of this lead to this target is under way")

// DeliveryFilter narrows a listing of deliveries. Zero fields are ignored.
type DeliveryFilter struct {
	States []lead.DeliveryState
	Target lead.Target
	Event  lead.Event
	Code   lead.NoMailReason
	Leads  []string
	Newest bool  // newest first, else oldest first
	After  int64 // only deliveries after the one with this ID; 0: from the first
	Limit  int   // 0: all
}

// DeliveryCount is the number of deliveries to a target in a state.
type DeliveryCount struct {
	Target lead.Target
	State  lead.DeliveryState // Pending, Retrying or Failed
	Number int64

	// Oldest is since when the oldest of them waits for its target ([lead.Delivery.DueAt]).
	// It is zero if there are none, and in the future if our own wait has not ended.
	Oldest time.Time
}

// Jobs is the queue within a transaction of the store.
type Jobs interface {
	// Enqueue inserts a job for each delivery of the leads and returns the deliveries.
	// Without targets, these are the deliveries of new leads, including those that end
	// immediately as [lead.NotSent] and have no job.
	Enqueue(ctx context.Context, leadIDs []string, targets ...lead.Target) ([]lead.Delivery, error)

	// TargetsOf returns the targets that are notified of an event. Some are only notified if
	// the lead was announced to the webhook.
	TargetsOf(event lead.Event, announced bool) []lead.Target

	// NotifyOwner inserts the job of a mail to the owner of leads, a hash of the address.
	NotifyOwner(ctx context.Context, owner string, leadIDs []string) error

	// IsDue reports whether a job is in the queue, waiting for nothing but its turn.
	IsDue(ctx context.Context, job int64) (bool, error)

	// Complete marks a running job as completed. ctx must be the job's context.
	Complete(ctx context.Context, job int64) error
}

// Queue binds the queue to a transaction of the store. TX is the driver's transaction
// type.
type Queue[TX any] func(tx TX) Jobs

const (
	// deliveryState is the SQL expression for the state of a delivery. It is running during
	// an attempt, for at most [lead.Target.AttemptTime].
	deliveryState = `CASE WHEN progress > 1 AND running_until > (SELECT now FROM clock)
THEN 'running' ELSE state END`

	selectDeliveries = `SELECT id, lead_id, target, event, number, detail, job, attempts, max_attempts,
created_at, due_at, finished_at, reason, errors, sending, arrived, handed_over, records, recipient,
` + deliveryState + ` AS state,
CASE ` + deliveryState + ` WHEN state THEN next_at ELSE 0 END AS next_at,
CASE ` + deliveryState + ` WHEN state THEN paused ELSE '' END AS paused,
CASE ` + deliveryState + ` WHEN state THEN code ELSE '' END AS code FROM deliveries`

	// nextNumber is the SQL expression for the number after those of all deliveries of a lead
	// to a target that have the same event.
	nextNumber = ` (SELECT max(d.number + d.sending) + 1 FROM deliveries AS d
WHERE d.lead_id = deliveries.lead_id AND d.target = deliveries.target AND d.event = deliveries.event)`

	newColumns = `lead_id, target, job, max_attempts, created_at, due_at, next_at, state, finished_at, code`

	renewDeliveries = ` ON CONFLICT (lead_id, target, event, number) DO UPDATE SET
job = excluded.job, max_attempts = excluded.max_attempts` + renewed

	// renewed restarts a delivery that has ended, as its next sending.
	renewed = `, next_at = 0, finished_at = 0, reason = '', paused = '', code = '',
due_at = CASE WHEN deliveries.progress > 0 AND deliveries.due_at < (SELECT now FROM clock)
  THEN deliveries.due_at ELSE (SELECT now FROM clock) END,
state = CASE WHEN deliveries.progress > 1 THEN deliveries.state ELSE 'pending' END,
attempts = CASE WHEN deliveries.progress > 1 THEN deliveries.attempts ELSE 0 END,
sending = CASE WHEN deliveries.progress > 1 THEN deliveries.sending ELSE` +
		nextNumber + ` - deliveries.number END,
arrived = CASE WHEN deliveries.progress > 1 THEN deliveries.arrived ELSE '' END,
handed_over = CASE WHEN deliveries.progress > 1 THEN deliveries.handed_over ELSE '{}' END`
)

// enqueue creates the deliveries of leads. With targets, it creates or restarts the
// deliveries to these targets.
func enqueue(ctx context.Context, tx Tx, leadIDs []string, targets ...lead.Target) error {
	if len(leadIDs) == 0 {
		return nil
	}
	list, err := tx.Enqueue(ctx, leadIDs, targets...)
	if err != nil {
		return err
	}

	var values []any
	for _, d := range list {
		if !d.State.Ended() {
			d.NextAt = d.CreatedAt
		}
		values = append(values, d.LeadID, d.Target, d.Job, d.MaxAttempts, d.CreatedAt, d.CreatedAt,
			d.NextAt, d.State, d.FinishedAt, d.Code)
	}
	return insertRows(ctx, tx, "deliveries", newColumns, values, renewDeliveries)
}

// ListDeliveries returns the deliveries that match a filter, ordered by id.
func (s *Store) ListDeliveries(ctx context.Context, f DeliveryFilter) ([]lead.Delivery, error) {
	return readDeliveries(ctx, s.db, f)
}

// Delivery returns the delivery with an id, or [ErrNotFound].
func (s *Store) Delivery(ctx context.Context, id int64) (lead.Delivery, error) {
	return readDelivery(ctx, s.db, id)
}

func readDelivery(ctx context.Context, db DB, id int64) (lead.Delivery, error) {
	return one[lead.Delivery](ctx, db, "reading a delivery", selectDeliveries+" WHERE id = $1", id)
}

func readDeliveries(ctx context.Context, db DB, f DeliveryFilter) ([]lead.Delivery, error) {
	var c conditions
	givenIn(&c, "lead_id", f.Leads)
	c.given("target = ?", f.Target)
	c.given("event = ?", f.Event)
	c.given("code = ?", f.Code)
	givenIn(&c, deliveryState, f.States)
	if !slices.ContainsFunc(f.States, lead.DeliveryState.Settled) && len(f.States) > 0 {
		c.add("progress > 0") // these are few and have their own index
	}

	order, after := " ORDER BY id", "id > ?"
	if f.Newest {
		order, after = " ORDER BY id DESC", "id < ?"
	}
	c.given(after, f.After)
	if f.Limit > 0 {
		order += " LIMIT " + strconv.Itoa(f.Limit)
	}
	return all[lead.Delivery](ctx, db, "listing deliveries", selectDeliveries+c.where()+order, c.args...)
}

// CountDeliveries counts the deliveries that have not arrived, by target and state, in
// the order of [lead.Targets]. A running delivery counts under its previous state.
func (s *Store) CountDeliveries(ctx context.Context) (counts []DeliveryCount, err error) {
	found, err := all[DeliveryCount](ctx, s.db, "counting deliveries",
		`SELECT target, state, count(*) AS number, min(due_at) AS oldest FROM deliveries
WHERE progress > 0 GROUP BY state, target`)

	for _, target := range lead.Targets() {
		for _, state := range []lead.DeliveryState{lead.Pending, lead.Retrying, lead.Failed} {
			c := DeliveryCount{Target: target, State: state}
			for _, f := range found {
				if f.Target == target && f.State == state {
					c = f
				}
			}
			counts = append(counts, c)
		}
	}
	return counts, err
}

// RetryDelivery makes a delivery due now; one that has ended is sent again. It leaves a
// running delivery alone and returns ErrNotFound if the id is unknown.
func (s *Store) RetryDelivery(ctx context.Context, id int64) error {
	return s.write(ctx, fmt.Sprintf("retrying delivery %d", id), func(ctx context.Context, tx Tx) error {
		d, err := readDelivery(ctx, tx, id)
		if err != nil || d.State == lead.Running {
			return err
		}
		return restart(ctx, tx, d)
	})
}

// restart makes a delivery due now, as its next sending if it has ended. One that is due
// keeps its job: with a new one, each of repeated retries would send it to the end of the queue.
// What was handed over is repeated by a new job only.
func restart(ctx context.Context, tx Tx, d lead.Delivery) error {
	if !d.State.Ended() && len(d.HandedOver) == 0 {
		isDue, err := tx.IsDue(ctx, d.Job)
		if err == nil && isDue {
			_, err = tx.Exec(ctx, `UPDATE deliveries SET job = job`+renewed+` WHERE id = $1`, d.ID)
		}
		if err != nil || isDue {
			return err
		}
	}

	list, err := tx.Enqueue(ctx, []string{d.LeadID}, d.Target)
	if err != nil || len(list) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE deliveries SET job = $2, max_attempts = $3`+renewed+` WHERE id = $1`,
		d.ID, list[0].Job, list[0].MaxAttempts)
	return err
}

// DismissDelivery ends a failed delivery with a reason, and reports whether it was failed.
func (s *Store) DismissDelivery(
	ctx context.Context, d lead.Delivery, reason string, audit ...AuditEntry,
) (bool, error) {
	return s.change(ctx, "dismissing a delivery", d.LeadID, audit, nil,
		`UPDATE deliveries SET state = 'dismissed', reason = $3
WHERE lead_id = $1 AND id = $2 AND state = 'failed'`,
		d.ID, reason)
}

// ResendLead delivers a stored lead to a target again. It returns ErrUnderWay if a
// delivery to the target has not ended, and ErrNotFound if the lead is unknown. A
// corrected address, if it is not empty, becomes the recipient of the delivery from now on.
// The audit gets its entries only if the lead is resent.
func (s *Store) ResendLead(
	ctx context.Context, leadID string, target lead.Target, corrected string, audit ...AuditEntry,
) error {
	return s.write(ctx, "resending a lead", func(ctx context.Context, tx Tx) error {
		of := DeliveryFilter{Leads: []string{leadID}, Target: target, Event: lead.Created}
		list, err := readDeliveries(ctx, tx, of)
		if err != nil {
			return err
		}
		if len(list) > 0 && !list[0].State.Ended() {
			return ErrUnderWay
		}

		if err := exists(ctx, tx, leadID); err != nil {
			return err
		}
		if err := enqueue(ctx, tx, []string{leadID}, target); err != nil {
			return err
		}
		if err := appendAudit(ctx, tx, audit); err != nil || corrected == "" {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE deliveries SET recipient = $3, mailbox = $4
WHERE lead_id = $1 AND target = $2 AND event = 'created'`, leadID, target, corrected, mailbox.Key(corrected))
		if err != nil {
			return err
		}

		if _, err := tx.Exec(ctx, `DELETE FROM search_terms WHERE lead_id = $1`, leadID); err != nil {
			return err
		}
		r, err := one[leadRow](ctx, tx, "reading the lead", selectLead+` WHERE id = $1`, leadID)
		if err != nil {
			return err
		}
		if err := addTerms(ctx, tx, r.lead(), corrected); err != nil {
			return err
		}
		return correctAddress(ctx, tx, leadID, corrected)
	})
}

// EndDeliveries ends the deliveries of leads that are about to be erased, except for
// running ones and those that outlive the lead: their jobs have nothing to do any more. It
// counts both. The deliveries stay until their leads are erased, since an erasure needs their records.
func (s *Store) EndDeliveries(
	ctx context.Context, leadIDs []string,
) (ended, running int, err error) {
	err = s.write(ctx, "ending deliveries", func(ctx context.Context, tx Tx) error {
		var c conditions
		addIn(&c, "lead_id", leadIDs)
		c.add("job <> 0 AND NOT " + outlivesLead())
		open := c
		open.add(deliveryState + " <> 'running'")
		n, err := tx.Exec(ctx, `UPDATE deliveries SET job = 0, next_at = 0, paused = '',
reason = CASE WHEN progress > 0 THEN 'the lead is being erased' ELSE reason END,
code = CASE WHEN progress > 0 THEN '' ELSE code END,
state = CASE WHEN progress > 0 THEN 'dismissed' ELSE state END`+open.where(), open.args...)
		if err != nil {
			return err
		}

		left, err := one[int](ctx, tx, "counting those that run",
			"SELECT count(*) FROM deliveries"+c.where(), c.args...)
		ended, running = int(n), left
		return err
	})
	return ended, running, err
}

// BeginAttempt starts an attempt and returns the lead and its delivery, with the state from
// before the attempt and the attempt counted. It returns ErrNotFound if the job has
// nothing to do: the delivery has ended or belongs to another job, or the lead was erased.
// It returns ErrUnderWay if another attempt is running. A delivery that outlives its lead has
// only the id of an erased one.
func (s *Store) BeginAttempt(
	ctx context.Context, leadID string, target lead.Target, job int64,
) (l lead.Lead, d lead.Delivery, err error) {
	err = s.write(ctx, "beginning an attempt", func(ctx context.Context, tx Tx) error {
		list, err := readDeliveries(ctx, tx, DeliveryFilter{Leads: []string{leadID}, Target: target})
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(d lead.Delivery) bool { return d.Job != job || d.State.Ended() })
		if len(list) == 0 {
			return ErrNotFound
		}

		d = list[0]
		d.Attempts++
		begun, err := tx.Exec(ctx, `UPDATE deliveries
SET running_until = (SELECT now FROM clock) + $4, attempts = $1
WHERE id = $2 AND job = $3 AND `+deliveryState+` <> 'running'`,
			d.Attempts, d.ID, job, target.AttemptTime().Milliseconds())
		if err == nil && begun == 0 {
			return ErrUnderWay
		}
		return err
	})
	if err != nil {
		return l, d, err
	}

	l, err = s.Lead(ctx, leadID)
	if errors.Is(err, ErrNotFound) && d.OutlivesLead() {
		return lead.Lead{ID: leadID}, d, nil
	}
	return l, d, err
}

// NoteParts stores, during an attempt, which parts of a delivery were handed over and
// which have arrived.
func (s *Store) NoteParts(ctx context.Context, d lead.Delivery) error {
	_, err := s.exec(ctx, "storing the parts of a delivery",
		`UPDATE deliveries SET arrived = $1, handed_over = $2 WHERE id = $3 AND job = $4`,
		d.Arrived, d.HandedOver, d.ID, d.Job)
	return err
}

// EndAttempt stores the result of an attempt. If the delivery has ended, its job is
// completed in the same transaction; ctx must be the job's context. If the delivery
// belongs to another job by now, nothing is stored.
func (s *Store) EndAttempt(ctx context.Context, d lead.Delivery) error {
	if d.State.Ended() {
		d.NextAt, d.Paused = time.Time{}, ""
	}

	return s.write(ctx, "storing the result of an attempt", func(inner context.Context, tx Tx) error {
		n, err := tx.Exec(inner, `UPDATE deliveries SET running_until = 0, state = $4, attempts = $5,
next_at = $6, finished_at = $7, code = $8, paused = $9, errors = $10, due_at = $11,
records = $12
WHERE lead_id = $1 AND target = $2 AND job = $3`,
			d.LeadID, d.Target, d.Job, d.State, d.Attempts,
			d.NextAt, d.FinishedAt, d.Code, d.Paused, d.Errors, d.DueAt, d.Records)

		switch {
		case err != nil:
			return err
		case n == 0: // The delivery's new job need not wait any longer.
			_, err = tx.Exec(inner, `UPDATE deliveries SET running_until = 0 WHERE id = $1`, d.ID)
			return err
		case !d.State.Ended():
			return nil
		}
		return tx.Complete(ctx, d.Job)
	})
}
