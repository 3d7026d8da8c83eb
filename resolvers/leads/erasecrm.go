package leads

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// person describes the erasure to the CRM.
func (e *erasure) person(dryRun bool) crm.Erasure {
	person := crm.Erasure{
		Emails: e.spellings,
		Typed:  e.typed,
		Leads:  map[string]lead.Records{},
		DryRun: dryRun,
		IsStored: func(ctx context.Context, id string) (bool, error) {
			_, err := e.Store.Lead(ctx, id)
			if errors.Is(err, store.ErrNotFound) {
				return false, nil
			}
			return err == nil, err
		},
	}

	for _, id := range e.known {
		person.Leads[id] = lead.Records{}
	}
	for _, l := range e.leads {
		person.Leads[l.ID] = l.Records()
	}
	return person
}

// deals returns the place of the deals in the CRM. They are erased before the contacts
// that they are associated with.
func (e *erasure) deals() *place {
	p := newPlace(schema.ErasurePlaceNameCrm, "deals", nil, nil)
	run := func(dryRun bool) counting {
		return func(ctx context.Context) (int, error) {
			all, err := e.CRM.EraseDeals(ctx, e.person(dryRun))
			if errors.Is(err, errors.ErrUnsupported) {
				return 0, nil
			}

			var moved, copies, others []string
			for _, d := range all {
				switch {
				case d.Fate == crm.Foreign:
					others = append(others, lead.Reference(d.LeadID))
				case d.LeadID == "":
					copies = append(copies, d.ID)
				case d.Fate == crm.Cleared:
					moved = append(moved, lead.Reference(d.LeadID))
				}
			}
			p.remains = append(sentence(keptCopies, copies), sentence(otherDeals, others)...)
			for _, text := range sentence(keptDeals, moved) {
				p.Detail = &text
			}
			return len(all) - len(others), err
		}
	}
	p.find, p.erase = run(true), run(false)
	return p
}

// contacts returns the place of the contacts in the CRM.
func (e *erasure) contacts() *place {
	p := newPlace(schema.ErasurePlaceNameCrm, "contacts", nil, nil)
	run := func(dryRun bool) counting {
		return func(ctx context.Context) (n int, err error) {
			all, err := e.CRM.EraseContacts(ctx, e.person(dryRun))
			var kept []string
			for _, c := range all {
				if c.Fate != crm.Deleted {
					kept = append(kept, c.ID)
				}
				if c.Fate != crm.Left {
					n++
				}
			}
			p.remains = sentence(keptContacts, kept)

			if err != nil || dryRun {
				return n, err
			}
			return n, e.writeAgain(ctx, all)
		}
	}
	p.find, p.erase = run(true), run(false)
	return p
}

// writeAgain delivers the newest lead of others who typed an address of an erased contact to
// the CRM again, since the contact has lost its quote, too, perhaps in an erasure that failed.
// The address of the erased person stays away.
func (e *erasure) writeAgain(ctx context.Context, contacts []crm.Erased) error {
	for _, c := range contacts {
		var newest lead.Lead
		for _, email := range c.Emails {
			if !crm.Addressable(email) || slices.Contains(e.spellings, email) {
				continue
			}
			found, _, err := e.list(ctx, store.Filter{Typed: email})
			if err != nil {
				return fmt.Errorf("looking for other leads: %w", err)
			}
			for _, l := range found {
				if l.Released() && !slices.Contains(e.known, l.ID) &&
					!l.SubmittedAt.Before(newest.SubmittedAt) {
					newest = l
				}
			}
		}

		if newest.ID == "" {
			continue
		}
		if err := e.resend(ctx, newest.ID, lead.CRM, ""); err != nil && !errors.Is(err, store.ErrUnderWay) {
			return fmt.Errorf("delivering another lead of the contact again: %w", err)
		}
	}
	return nil
}
