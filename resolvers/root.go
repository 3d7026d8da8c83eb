package resolvers

import (
	"context"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/exec"
)

// Root returns the resolvers of all types of the schema.
func (r *Resolver) Root() exec.ResolverRoot { return root{r} }

type root struct{ r *Resolver }

func (t root) Query() exec.QueryResolver                           { return t.r }
func (t root) Mutation() exec.MutationResolver                     { return t.r }
func (t root) Subscription() exec.SubscriptionResolver             { return t.r }
func (t root) Lead() exec.LeadResolver                             { return leadResolver{t.r} }
func (t root) SiteSettings() exec.SiteSettingsResolver             { return phoneResolver{} }
func (t root) ContactPhoneNumber() exec.ContactPhoneNumberResolver { return phoneResolver{} }

// Audit resolves the root field `audit`.
func (r *Resolver) Audit(
	ctx context.Context, name *string, action *schema.AuditAction, operator *string, since, until *time.Time,
	first *int, after *string,
) (*schema.AuditConnection, error) {
	ids, err := r.Audited(ctx, schema.ValueOr(name, ""))
	if err != nil {
		return nil, err
	}
	return r.AuditPage(ctx, store.AuditFilter{
		Leads:    ids,
		Action:   string(schema.ValueOr(action, "")),
		Operator: schema.ValueOr(operator, ""),
		Since:    schema.ValueOr(since, time.Time{}),
		Until:    schema.ValueOr(until, time.Time{}),
	}, schema.ValueOr(first, schema.DefaultPage), schema.ValueOr(after, ""))
}

// Funnel resolves the root field `funnel`.
func (r *Resolver) Funnel(
	ctx context.Context, since, until *time.Time, locale *schema.Locale, source, campaign *string,
	touch schema.FunnelTouch,
) (_ *schema.Funnel, err error) {
	f := store.FunnelFilter{
		Since:      schema.ValueOr(since, time.Time{}),
		Until:      schema.ValueOr(until, time.Time{}),
		Locale:     string(schema.ValueOr(locale, "")),
		FirstTouch: touch == schema.FunnelTouchFirst,
	}
	if f.Sources, f.Campaigns, err = r.Origins(ctx, source, campaign); err != nil {
		return nil, err
	}
	return r.FunnelResolver.Funnel(ctx, f)
}

// leadResolver resolves the fields of Lead that are read only if they are selected.
type leadResolver struct{ *Resolver }

func (r leadResolver) Audit(ctx context.Context, l *schema.Lead) ([]*schema.AuditEntry, error) {
	return r.LeadAudit(ctx, l)
}

// phoneResolver resolves the links of telephone numbers.
type phoneResolver struct{}

func (phoneResolver) Link(_ context.Context, p *schema.ContactPhoneNumber) (*string, error) {
	return schema.Optional(lead.TelephoneLink(p.Number)), nil
}

func (phoneResolver) ContactPhoneLink(_ context.Context, s *schema.SiteSettings) (*string, error) {
	return schema.Optional(lead.TelephoneLink(schema.ValueOr(s.ContactPhone, ""))), nil
}
