package leads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

const (
	verifyBatch = 100             // leads per query
	settleTime  = 5 * time.Second // time until a CMS or CRM finds what it has just stored
)

// Verification compares stored leads with what the CMS and the CRM hold.
type Verification struct {
	Leads   int               `json:"leads"` // number of leads compared
	Targets []*VerifiedTarget `json:"targets"`

	rules *Service
	fix   Fix
}

// Fix is called before a lead is sent to a target again. An error ends the comparison.
type Fix func(ctx context.Context, leadID string, target lead.Target) error

// VerifiedTarget counts the leads of one target. A mailbox can't be asked, nor can a system
// that keeps nothing, so that for them the deliveries count: a failed one is missing.
type VerifiedTarget struct {
	Target   lead.Target `json:"target"`
	Present  int         `json:"present"`
	UnderWay int         `json:"underWay"` // absent, and under way or just delivered
	Missing  int         `json:"missing"`  // absent, and not under way
	Resent   int         `json:"resent"`   // missing leads that were sent again
	NotSent  int         `json:"notSent"`  // mails that are not sent, for a reason that the delivery names
	Error    string      `json:"error,omitempty"`

	// key names a lead at the target; missing returns the keys that the target lacks. It
	// is nil for a target that can't be asked.
	key     func(s lead.Lead) string
	missing func(ctx context.Context, keys []string) ([]string, error)
}

// Verify looks for the leads submitted since a time, at one target or, if only is empty,
// at both. With fix, it sends the missing ones again; nil: it does not.
func (s *Service) Verify(
	ctx context.Context, since time.Time, only lead.Target, fix Fix,
) (*Verification, error) {
	v := &Verification{
		rules: s,
		fix:   fix,
		Targets: []*VerifiedTarget{
			{
				Target:  lead.CMS,
				key:     func(s lead.Lead) string { return s.ID },
				missing: s.CMS.Missing,
			},
			{
				Target:  lead.CRM,
				key:     func(s lead.Lead) string { return crm.Address(s.Contact.Email) },
				missing: s.CRM.Missing,
			},
			{Target: lead.VisitorMail},
			{Target: lead.SalesMail},
		},
	}
	v.Targets = slices.DeleteFunc(v.Targets, func(t *VerifiedTarget) bool {
		return only != "" && t.Target != only
	})

	var batch []lead.Lead
	compare := func() error {
		for _, t := range v.Targets {
			if err := v.compare(ctx, t, batch); err != nil {
				return err
			}
		}

		v.Leads += len(batch)
		batch = batch[:0]
		return ctx.Err()
	}

	for l, err := range s.Archive.Leads(ctx, store.Filter{Since: since}) {
		if err != nil {
			return nil, fmt.Errorf("reading the leads: %w", err)
		}
		if l.InReview || l.Rejected {
			continue // it has no deliveries until it is released
		}

		if batch = append(batch, l); len(batch) == verifyBatch {
			if err := compare(); err != nil {
				return nil, err
			}
		}
	}

	return v, compare()
}

// compare looks for a batch of leads at one target. If the target fails, the error is
// reported and the target is not queried again.
func (v *Verification) compare(ctx context.Context, t *VerifiedTarget, batch []lead.Lead) error {
	if t.Error != "" || len(batch) == 0 {
		return nil
	}
	if t.missing == nil {
		return v.countDeliveries(ctx, t, batch)
	}

	asked, keys := time.Now(), make([]string, len(batch))
	for i, s := range batch {
		keys[i] = t.key(s)
	}

	absent, err := t.missing(ctx, slices.Compact(slices.Sorted(slices.Values(keys))))
	if errors.Is(err, errors.ErrUnsupported) {
		t.missing = nil
		return v.countDeliveries(ctx, t, batch)
	}
	if err != nil {
		t.Error = err.Error()
		return nil //nolint:nilerr // reported, and the other target is still queried
	}

	for i, s := range batch {
		if !slices.Contains(absent, keys[i]) {
			t.Present++
		} else if err := v.absent(ctx, t, s.ID, asked); err != nil {
			return err
		}
	}
	return nil
}

// Asked reports whether the target says itself what it has. Only then can a lead be sent
// again with --fix.
func (t *VerifiedTarget) Asked() bool { return t.missing != nil }

// countDeliveries counts the deliveries of a batch, and sends none again.
func (v *Verification) countDeliveries(ctx context.Context, t *VerifiedTarget, batch []lead.Lead) error {
	f := store.DeliveryFilter{Target: t.Target}
	for _, s := range batch {
		f.Leads = append(f.Leads, s.ID)
	}

	list, err := v.rules.Deliveries.ListDeliveries(ctx, f)
	for _, d := range list {
		switch d.State {
		case lead.Delivered:
			t.Present++
		case lead.NotSent:
			t.NotSent++
		case lead.Failed:
			t.Missing++
		default:
			t.UnderWay++
		}
	}
	return err
}

// absent decides what to do about a lead that a target does not have. A lead with a
// delivery under way is left alone.
func (v *Verification) absent(
	ctx context.Context, t *VerifiedTarget, leadID string, asked time.Time,
) error {
	list, err := v.rules.Deliveries.ListDeliveries(ctx, store.DeliveryFilter{
		Leads:  []string{leadID},
		Target: t.Target,
	})
	if err != nil {
		return err
	}

	var failed int64
	for _, d := range list {
		switch {
		case d.State == lead.Failed:
			failed = d.ID
		case d.State != lead.Delivered, asked.Sub(d.FinishedAt) < settleTime:
			t.UnderWay++
			return nil
		}
	}

	t.Missing++
	if v.fix == nil {
		return nil
	}
	if err := v.fix(ctx, leadID, t.Target); err != nil {
		return err
	}

	if failed != 0 {
		err = v.rules.Deliveries.RetryDelivery(ctx, failed)
	} else {
		err = v.rules.Deliveries.ResendLead(ctx, leadID, t.Target, "")
	}

	switch {
	case errors.Is(err, store.ErrUnderWay), errors.Is(err, store.ErrNotFound):
		return nil // resent by another command, or erased
	case err == nil:
		t.Resent++
	}
	return err
}
