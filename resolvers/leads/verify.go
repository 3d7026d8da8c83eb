package leads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

const (
	verifyBatch = 100             // leads per query
	settleTime  = 5 * time.Second // time until a CMS or CRM finds what it has just stored
)

// Resend sends a lead to a target again. An error ends the verification, except for
// [store.ErrUnderWay] and [store.ErrNotFound].
type Resend func(ctx context.Context, leadID string, target lead.Target) error

// verification compares stored leads with what the CMS and the CRM hold.
type verification struct {
	*Service
	leads   int
	targets []*verified
	resend  Resend // nil: nothing is sent again
}

// verified is a target, and what it has of the leads.
type verified struct {
	schema.VerifiedTarget
	target lead.Target

	// key names a lead at the target; missing returns the keys that the target lacks. It is
	// nil for a mailbox, which can't be asked, and for a system that keeps nothing: the
	// deliveries to them count.
	key     func(l lead.Lead) string
	missing func(ctx context.Context, keys []string) ([]string, error)
}

// Verify looks for the leads submitted since a time, at one target or, if only is empty,
// at all. It sends what the CMS or the CRM lacks again, unless resend is nil.
func (s *Service) Verify(
	ctx context.Context, since time.Time, only lead.Target, resend Resend,
) (*schema.DeliveryVerification, error) {
	v := &verification{Service: s, resend: resend, targets: []*verified{
		{target: lead.CMS, key: func(l lead.Lead) string { return l.ID }, missing: s.CMS.Missing},
		{target: lead.CRM, key: func(l lead.Lead) string { return crm.Address(l.Contact.Email) }, missing: s.CRM.Missing},
		{target: lead.VisitorMail},
		{target: lead.SalesMail},
	}}
	v.targets = slices.DeleteFunc(v.targets, func(t *verified) bool { return only != "" && t.target != only })

	var batch []lead.Lead
	for l, err := range s.Archive.Leads(ctx, store.Filter{Since: since}) {
		if err != nil {
			return nil, fmt.Errorf("reading the leads: %w", err)
		}
		if l.Released() { // else it has no deliveries
			batch = append(batch, l)
		}
		if len(batch) == verifyBatch {
			if err := v.compare(ctx, batch); err != nil {
				return nil, err
			}
			batch = nil
		}
	}
	if err := v.compare(ctx, batch); err != nil {
		return nil, err
	}
	return v.result(), ctx.Err()
}

// compare looks for a batch of leads at each target. If a target fails, the error is reported
// and the target is not asked again.
func (v *verification) compare(ctx context.Context, batch []lead.Lead) error {
	if len(batch) == 0 {
		return nil
	}
	asked := time.Now()
	deliveries, err := v.DeliveriesOf(ctx, batch)
	if err != nil {
		return err
	}

	for _, t := range v.targets {
		absent := t.ask(ctx, batch)
		if t.Error != nil {
			continue
		}
		for _, l := range batch {
			i := slices.IndexFunc(deliveries[l.ID], func(d lead.Delivery) bool { return d.Target == t.target })
			var d lead.Delivery // its state is empty if there is none
			if i >= 0 {
				d = deliveries[l.ID][i]
			}
			if err := v.count(ctx, t, l, d, absent, asked); err != nil {
				return err
			}
		}
	}
	v.leads += len(batch)
	return ctx.Err()
}

// ask returns the keys of the leads that a target lacks.
func (t *verified) ask(ctx context.Context, batch []lead.Lead) (absent []string) {
	if t.missing == nil || t.Error != nil {
		return nil
	}

	var keys []string
	for _, l := range batch {
		keys = append(keys, t.key(l))
	}
	absent, err := t.missing(ctx, unique(keys))
	if errors.Is(err, errors.ErrUnsupported) {
		t.missing = nil
	} else if err != nil {
		t.Error = schema.Optional(err.Error())
	}
	return absent
}

// count counts a lead at a target by its delivery and by what the target lacks.
func (v *verification) count(
	ctx context.Context, t *verified, l lead.Lead, d lead.Delivery, absent []string, asked time.Time,
) error {
	switch {
	case t.missing == nil && d.State == "": // it was not meant for the target
	case t.missing == nil && d.State == lead.Delivered,
		t.missing != nil && !slices.Contains(absent, t.key(l)):
		t.Present++
	case d.State == lead.NotSent:
		t.NotSent++
	case d.State != "" && !d.State.Ended(), d.State == lead.Delivered && asked.Sub(d.FinishedAt) < settleTime:
		t.UnderWay++
	default:
		t.Missing++
		if t.missing != nil && v.resend != nil {
			return v.send(ctx, t, l.ID)
		}
	}
	return nil
}

// send sends a lead again, unless that is done already or the lead was erased.
func (v *verification) send(ctx context.Context, t *verified, leadID string) error {
	err := v.resend(ctx, leadID, t.target)
	if errors.Is(err, store.ErrUnderWay) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		t.Resent++
	}
	return err
}

// result adds up what was counted.
func (v *verification) result() *schema.DeliveryVerification {
	sum := &schema.DeliveryVerification{Leads: v.leads}
	for _, t := range v.targets {
		if t.missing != nil {
			sum.Missing += t.Missing
		}
		if t.Error != nil {
			sum.Failed++
		}
		t.Target = schema.DeliveryTarget(strings.ToUpper(string(t.target)))
		sum.Targets = append(sum.Targets, &t.VerifiedTarget)
	}
	return sum
}
