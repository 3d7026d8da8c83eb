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

// verified is a target to verify, the CMS or the CRM, and its result.
type verified struct {
	*schema.VerifiedTarget

	// missing returns the ids of those leads that the target lacks.
	missing func(ctx context.Context, leads []lead.Lead) ([]string, error)
}

// Verify resolves the root field `verifyDeliveries`. It looks up the leads submitted since
// a time in the CMS and the CRM, or only in one of them; other targets cannot be searched.
// It counts leads that are under way without looking them up. With fix, it resends missing
// leads.
func (r *Resolver) Verify(
	ctx context.Context, since time.Time, only lead.Target, fix bool,
) (*schema.DeliveryVerification, error) {
	if only != "" && only != lead.CMS && only != lead.CRM {
		return nil, schema.BadInput(schema.NotAllowed("target", []string{"CMS", "CRM"}))
	}

	targets := []verified{
		{
			VerifiedTarget: &schema.VerifiedTarget{Target: lead.CMS},
			missing: func(ctx context.Context, leads []lead.Lead) ([]string, error) {
				return r.CMS.Missing(ctx, idsOf(leads))
			},
		},
		{
			VerifiedTarget: &schema.VerifiedTarget{Target: lead.CRM},
			missing:        r.missingInCRM,
		},
	}
	targets = slices.DeleteFunc(targets, func(t verified) bool { return only != "" && t.Target != only })

	sum := &schema.DeliveryVerification{}
	var batch []lead.Lead
	compare := func() error {
		for _, t := range targets {
			if err := r.compare(ctx, t, batch, fix); err != nil {
				return err
			}
		}
		batch = nil
		return ctx.Err()
	}

	for l, err := range r.Store.Leads(ctx, store.Filter{Since: since}) {
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

	for _, t := range targets {
		sum.Missing += t.Missing
		if t.Error != nil {
			sum.Failed++
		}
		sum.Targets = append(sum.Targets, t.VerifiedTarget)
	}
	return sum, nil
}

// compare looks up a batch of leads at a target and, with fix, resends the missing ones.
// If the lookup fails, the result has the error and the target is skipped from then on. A
// target that stores nothing is not verified, and dismissed deliveries are not missed.
func (r *Resolver) compare(ctx context.Context, t verified, batch []lead.Lead, fix bool) error {
	if t.Error != nil || len(batch) == 0 {
		return nil
	}

	batch = slices.DeleteFunc(slices.Clone(batch), func(l lead.Lead) bool {
		return slices.ContainsFunc(l.Deliveries, func(d lead.Delivery) bool {
			return d.Target == t.Target && d.State == lead.Dismissed
		})
	})
	absent, err := t.missing(ctx, batch)
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

// missingInCRM returns the ids of the leads that lack their contact or, unless deals are
// off, their deal.
func (r *Resolver) missingInCRM(ctx context.Context, leads []lead.Lead) (missing []string, err error) {
	var emails []string
	for _, l := range leads {
		emails = append(emails, crm.Address(l.Contact.Email))
	}
	absent, err := r.CRM.Missing(ctx, unique(emails))
	if err != nil {
		return nil, err
	}

	deals, err := r.CRM.FindDeals(ctx, idsOf(leads), nil)
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
