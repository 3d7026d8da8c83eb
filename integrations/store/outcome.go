package store

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/lead"
)

// The SQL expression for the result of a released lead, and the condition that a person
// answered it within 24 hours.
const (
	result         = "CASE outcome WHEN 'WON' THEN 'WON' WHEN 'LOST' THEN 'LOST' ELSE 'OPEN' END"
	answeredInTime = "answered_at > 0 AND answered_at <= submitted_at + 24 * 60 * 60 * 1000"
)

// ReportedLead is a released lead, as reports count it.
type ReportedLead struct {
	SubmittedAt    time.Time
	AnsweredAt     time.Time // zero: not yet
	Source         string    // where the visitor most recently came from
	Campaign       string
	Owner          string
	Result         lead.Result
	WonAmount      float64
	WonCurrency    string // empty: it was not won, or its amount is unknown
	AnsweredInTime bool
}

// Report calls each for all released leads that were submitted in a period; zero times do
// not bound it.
func (s *Store) Report(ctx context.Context, since, until time.Time, each func(ReportedLead)) error {
	var c conditions
	c.add("review = 0")
	c.given("submitted_at >= ?", since)
	c.given("submitted_at < ?", until)

	err := s.db.Query(ctx, "SELECT submitted_at, answered_at, last_source AS source, "+
		"last_campaign AS campaign, owner, "+
		result+" AS result, coalesce(won_amount, 0) AS won_amount, won_currency, "+
		"("+answeredInTime+") AS answered_in_time FROM leads"+c.where(), c.args, func(scan Scan) error {
		var l ReportedLead
		err := scan(&l)
		each(l)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the leads of a report: %w", err)
	}
	return nil
}

const setOutcome = `UPDATE leads
SET outcome = $2, won_amount = $3, won_currency = $4, outcome_at = $5, outcome_by = $6,
lost_reason = $7, lost_note = $8`

// SetOutcome stores the outcome that an operator recorded, in place of any earlier one,
// or returns ErrNotFound. An outcome without a value clears it. A cleared outcome keeps
// its time, so that older outcomes of the CRM are still ignored.
func (s *Store) SetOutcome(
	ctx context.Context, id string, o lead.Outcome, audit ...AuditEntry,
) error {
	_, err := s.change(ctx, "storing an outcome", id, audit, outcomeChanged(id, o),
		setOutcome+` WHERE id = $1`,
		outcomeColumns(o)...)
	return err
}

// outcomeColumns returns the arguments of [setOutcome] after the id.
func outcomeColumns(o lead.Outcome) []any {
	if o.Value == "" {
		o = lead.Outcome{At: o.At}
	}
	return []any{o.Value, o.Amount, o.Currency, o.At, o.By, o.LossReason, o.LossNote}
}

// outcomeChanged returns a function that notifies the targets of an outcome.
func outcomeChanged(id string, o lead.Outcome) func(context.Context, Tx) error {
	return func(ctx context.Context, tx Tx) error {
		return notify(ctx, tx, id, lead.OutcomeChanged,
			lead.EventDetail{Outcome: o.Value, Amount: o.Amount, Currency: o.Currency})
	}
}

// SetCRMOutcome stores the outcome of a lead's deal in the CRM; one without a value clears
// an earlier one. It returns ErrNotFound if there is no such lead, it is in review or
// rejected, or the outcome does not apply: it must be later than the lead and any earlier
// outcome, and no operator's outcome may be set.
func (s *Store) SetCRMOutcome(ctx context.Context, id string, o lead.Outcome) error {
	return s.write(ctx, "storing an outcome of the CRM", func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, setOutcome+` WHERE id = $1 AND review = 0 AND submitted_at < $5
AND outcome_at < $5 AND outcome_by = '' AND (outcome <> '' OR $2 <> '')`,
			append([]any{id}, outcomeColumns(o)...)...)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		return outcomeChanged(id, o)(ctx, tx)
	})
}
