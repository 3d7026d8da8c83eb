package operators

import (
	"context"
	"slices"

	"siteapi/integrations/store"
	"siteapi/schema"
)

// Logins resolves the root field of that name.
func (r *Resolver) Logins(ctx context.Context) ([]*schema.Login, error) {
	stored, err := r.Deps.Logins.ListLogins(ctx, r.Now())
	if err != nil {
		return nil, coded(err)
	}

	list := make([]*schema.Login, len(stored))
	for i, s := range stored {
		list[i] = newLogin(s)
	}
	return list, nil
}

// EndLogin resolves the root field of that name.
func (r *Resolver) EndLogin(ctx context.Context, id string) (*schema.Login, error) {
	stored, err := r.Deps.Logins.ListLogins(ctx, r.Now())
	if err != nil {
		return nil, coded(err)
	}

	i := slices.IndexFunc(stored, func(s store.Login) bool { return s.ID() == id })
	if i < 0 {
		return nil, schema.NotFound("There is no such login, or it has ended.")
	}

	ended := newLogin(stored[i])
	detail := map[string]any{"login": ended.ID, "of": ended.Actor}
	if err := r.record(ctx, r.done(ctx, schema.AuditActionLoginEnded, "", detail)); err != nil {
		return nil, err
	}
	if _, err := r.Deps.Logins.EndLogins(ctx, stored[i].Hash); err != nil {
		return nil, coded(err)
	}
	return ended, nil
}

// EndLogins resolves the root field of that name.
func (r *Resolver) EndLogins(ctx context.Context, ids []string, all bool) (int, error) {
	for i, id := range ids {
		if _, err := r.EndLogin(ctx, id); err != nil {
			return i, err
		}
	}
	if !all {
		return len(ids), nil
	}

	entry := r.done(ctx, schema.AuditActionLoginEnded, "", map[string]any{"login": "all"})
	if err := r.record(ctx, entry); err != nil {
		return 0, err
	}
	n, err := r.Deps.Logins.EndLogins(ctx, "")
	return int(n), coded(err)
}

func newLogin(s store.Login) *schema.Login {
	return &schema.Login{
		ID:        s.ID(),
		Actor:     schema.AccountPrefix + s.Subject,
		Role:      schema.Role(s.Role),
		StartedAt: s.StartedAt,
		CheckAt:   s.CheckAt,
		ExpiresAt: s.ExpiresAt,
	}
}
