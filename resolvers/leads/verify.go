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
	target lead.Target

	// key returns the key of a lead at the target; missing returns the keys that the
	// target lacks.
	key     func(l lead.Lead) string
	missing func(ctx context.Context, keys []string) ([]string, error)
}

// Verify resolves the root field `verifyDeliveries`. It looks up the leads submitted since
// a time in the CMS and the CRM, or in the target that only names; other targets cannot be
// searched. It counts leads that are under way without looking them up. With fix, it
// resends missing leads.
func (r *Resolver) Verify(
	ctx context.Context, since time.Time, only lead.Target, fix bool,
) (*schema.DeliveryVerification, error) {
	if only != "" && only != lead.CMS && only != lead.CRM {
		return nil, schema.BadInput(schema.NotAllowed("target", []string{
			string(schema.DeliveryTargetCms),
			string(schema.DeliveryTargetCrm),
		}))
	}

	targets := []verified{
		{
			VerifiedTarget: &schema.VerifiedTarget{Target: schema.DeliveryTargetCms},
			target:         lead.CMS,
			key:            func(l lead.Lead) string { return l.ID },
			missing:        r.CMS.Missing,
		},
		{
			VerifiedTarget: &schema.VerifiedTarget{Target: schema.DeliveryTargetCrm},
			target:         lead.CRM,
			key:            func(l lead.Lead) string { return crm.Address(l.Contact.Email) },
			missing:        r.CRM.Missing,
		},
	}
	targets = slices.DeleteFunc(targets, func(t verified) bool { return only != "" && t.target != only })

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
// target that stores nothing is not verified.
func (r *Resolver) compare(ctx context.Context, t verified, batch []lead.Lead, fix bool) error {
	if t.Error != nil || len(batch) == 0 {
		return nil
	}

	var keys []string
	for _, l := range batch {
		keys = append(keys, t.key(l))
	}
	absent, err := t.missing(ctx, unique(keys))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		t.Error = schema.Optional(err.Error())
		return nil
	}

	for i, l := range batch {
		if !slices.Contains(absent, keys[i]) {
			t.Present++
			continue
		}

		t.Missing++
		if !fix {
			continue
		}
		err := r.resend(ctx, l.ID, t.target, "")
		switch {
		case err == nil:
			t.Resent++
		case !errors.Is(err, store.ErrUnderWay) && !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	return nil
}
