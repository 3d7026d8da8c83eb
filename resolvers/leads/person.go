package leads

import (
	"context"
	"errors"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

// maxPersonLeads is how many leads of one address are shown.
const maxPersonLeads = 500

// Person resolves the root field `person`.
func (r *Resolver) Person(ctx context.Context, email string) (*schema.Person, error) {
	email = crm.Address(schema.CleanEmail(email))
	found, _, err := r.list(ctx, store.Filter{Email: email, Newest: true, Limit: maxPersonLeads})
	if err != nil {
		return nil, err
	}
	consents, err := r.Store.KeptConsents(ctx, email)
	if err != nil {
		return nil, err
	}
	sessions, err := r.Store.SessionsOf(ctx, email)
	if err != nil {
		return nil, err
	}

	detail := operators.ListDetail(ctx, len(found))
	detail["consents"], detail["sessions"] = len(consents), len(sessions)
	if err := r.Operators.Record(ctx, schema.AuditActionListed, "", detail); err != nil {
		return nil, err
	}

	person := &schema.Person{
		Email:    email,
		Leads:    newLeads(found),
		Consents: make([]*schema.PersonConsent, len(consents)),
		Sessions: make([]*schema.PersonSession, len(sessions)),
	}
	for i, c := range consents {
		person.Consents[i] = &schema.PersonConsent{
			At:      c.At,
			Locale:  schema.Optional(schema.Locale(c.Locale)),
			Consent: &c.Consent,
		}
	}
	for i, s := range sessions {
		person.Sessions[i] = newPersonSession(s)
	}
	return person, nil
}

func newPersonSession(s lead.Session) *schema.PersonSession {
	shown := &schema.PersonSession{
		ID:               s.ID,
		FirstSeen:        s.FirstSeen,
		LastSeen:         s.LastSeen,
		Count:            int(s.Visits),
		Locale:           schema.Optional(schema.Locale(s.Locale)),
		FirstName:        schema.Optional(s.Hints.FirstName),
		Email:            schema.Optional(s.Hints.Email),
		Selections:       &s.Selections,
		Min:              s.Estimate.Min,
		Max:              s.Estimate.Max,
		Currency:         schema.Optional(s.Estimate.Currency),
		Attribution:      newAttribution(s.LastTouch),
		FirstAttribution: newAttribution(s.FirstTouch),
	}

	if s.Hints.Agreed {
		shown.Consent = &lead.Consent{Purpose: lead.SaveProgress, Given: true, Text: s.Hints.Consent}
	}
	return shown
}

// WithdrawConsent resolves the root field `withdrawConsent`.
func (r *Resolver) WithdrawConsent(ctx context.Context, name, purpose string) (*schema.Withdrawal, error) {
	email, named := name, ""
	if !crm.Addressable(name) {
		l, err := r.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		email, named = l.Address(), l.ID
	}

	entry := r.Operators.Entry(ctx, schema.AuditActionWithdrawn, "", map[string]any{"purpose": purpose})
	w, err := r.Store.WithdrawConsent(ctx, crm.Address(email), purpose, entry.At, entry)
	if errors.Is(err, store.ErrNotFound) {
		err = schema.BadRequest("This consent was not given for the address, or has been withdrawn.")
	}
	if err != nil {
		return nil, err
	}

	withdrawn := &schema.Withdrawal{Leads: w.Leads, DeletedLeads: w.Deleted, Sessions: w.Sessions}
	if named != "" && executor.Selects(ctx, "lead") {
		withdrawn.Lead, err = r.Lead(ctx, named)
	}
	return withdrawn, err
}
