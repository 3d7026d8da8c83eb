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
	"siteapi/schema"
)

// verifyBatch is the number of leads that are looked up at once.
const verifyBatch = 100

// VerifyDeliveries resolves the root field `verifyDeliveries`. It looks up the leads submitted since
// a time in the CMS and the CRM, or only in one of them; other targets cannot be searched.
// It counts leads that are under way without looking them up. With fix, it resends missing
// leads.
func (r *Resolver) VerifyDeliveries(
	ctx context.Context, since *time.Time, target *lead.Target, fix bool,
) (*schema.DeliveryVerification, error) {
	sum := &schema.DeliveryVerification{}
	for _, searched := range []lead.Target{lead.CMS, lead.CRM} {
		if schema.ValueOr(target, searched) == searched {
			sum.Targets = append(sum.Targets, &schema.VerifiedTarget{Target: searched})
		}
	}
	if len(sum.Targets) == 0 {
		return nil, schema.BadInput(schema.NotAllowed("target", []string{"CMS", "CRM"}))
	}

	var batch []lead.Lead
	compare := func() error {
		for _, t := range sum.Targets {
			if err := r.compare(ctx, t, batch, fix); err != nil {
				return err
			}
		}
		batch = nil
		return ctx.Err()
	}

	for l, err := range r.Store.Leads(ctx, store.Filter{Since: schema.ValueOr(since, time.Time{})}) {
		if err != nil {
			return nil, fmt.Errorf("reading the leads: %w", err)
		}
		if !l.Released() {
			continue // it has no deliveries
		}

		sum.Leads++
		if l.State() == lead.StateUnderWay {
			sum.UnderWay++
			continue
		}
		if batch = append(batch, l); len(batch) == verifyBatch {
			if err := compare(); err != nil {
				return nil, err
			}
		}
	}
	if err := compare(); err != nil {
		return nil, err
	}

	for _, t := range sum.Targets {
		sum.Missing += t.Missing
		if t.Error != nil {
			sum.Failed++
		}
	}
	return sum, nil
}

// compare looks up a batch of leads at a target and, with fix, resends the missing ones.
// If the lookup fails, the result has the error and the target is skipped from then on. A
// target that stores nothing is not verified, and dismissed deliveries are not missed.
func (r *Resolver) compare(ctx context.Context, t *schema.VerifiedTarget, batch []lead.Lead, fix bool) error {
	if t.Error != nil || len(batch) == 0 {
		return nil
	}

	batch = slices.DeleteFunc(slices.Clone(batch), func(l lead.Lead) bool {
		return slices.ContainsFunc(l.Deliveries, func(d lead.Delivery) bool {
			return d.Target == t.Target && d.State == lead.Dismissed
		})
	})
	absent, err := r.missing(ctx, t.Target, batch)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		t.Error = schema.Optional(err.Error())
		return nil
	}

	for _, l := range batch {
		if !slices.Contains(absent, l.ID) {
			t.Present++
			continue
		}

		t.Missing++
		if !fix {
			continue
		}
		err := r.resend(ctx, l.ID, t.Target, "")
		switch {
		case err == nil:
			t.Resent++
		case !errors.Is(err, store.ErrUnderWay) && !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	return nil
}

// missing returns the ids of the leads that a target lacks: their document in the CMS, and
// their contact or, unless deals are off, their deal in the CRM.
func (r *Resolver) missing(
	ctx context.Context, target lead.Target, leads []lead.Lead,
) (missing []string, err error) {
	if target == lead.CMS {
		return r.CMS.Missing(ctx, idsOf(leads))
	}

	var emails []string
	for _, l := range leads {
		emails = append(emails, crm.Address(l.Contact.Email))
	}
	absent, err := r.CRM.Missing(ctx, unique(emails))
	if err != nil {
		return nil, err
	}

	deals, err := r.CRM.FindDeals(ctx, idsOf(leads))
	off := errors.Is(err, errors.ErrUnsupported)
	if err != nil && !off {
		return nil, err
	}
	for i, l := range leads {
		if slices.Contains(absent, emails[i]) || !off && !slices.Contains(deals, l.ID) {
			missing = append(missing, l.ID)
		}
	}
	return missing, nil
}
