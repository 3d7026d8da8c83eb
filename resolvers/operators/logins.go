package operators

import (
	"cmp"
	"context"
	"slices"

	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Logins resolves the root field `logins`.
func (r *Resolver) Logins(ctx context.Context) ([]*schema.Login, error) {
	stored, err := r.Store.ListLogins(ctx, r.Now())
	if err != nil {
		return nil, err
	}

	list := make([]*schema.Login, len(stored))
	for i, s := range stored {
		list[i] = newLogin(s)
	}
	return list, nil
}

// EndLogins resolves the root field `endLogins`.
func (r *Resolver) EndLogins(ctx context.Context, ids []string, all bool) (n int, err error) {
	stored, err := r.Store.ListLogins(ctx, r.Now())
	if err != nil {
		return 0, err
	}

	for _, s := range stored {
		if !all && !slices.Contains(ids, s.ID()) {
			continue
		}
		detail := map[string]any{"login": s.ID(), "of": request.AccountPrefix + s.Subject}
		if err := r.Record(ctx, schema.AuditActionLoginEnded, "", detail); err != nil {
			return n, err
		}
		if _, err := r.Store.EndLogins(ctx, s.Hash); err != nil {
			return n, err
		}
		n++
	}
	if n == 0 && len(ids) > 0 {
		return 0, schema.NotFound("There is no such login, or it has ended.")
	}
	return n, nil
}

func newLogin(s store.Login) *schema.Login {
	return &schema.Login{
		ID:        s.ID(),
		Actor:     request.AccountPrefix + s.Subject,
		Name:      cmp.Or(s.Email, request.AccountPrefix+s.Subject),
		Role:      schema.Role(s.Role),
		StartedAt: s.StartedAt,
		CheckAt:   s.CheckAt,
		ExpiresAt: s.ExpiresAt,
	}
}
