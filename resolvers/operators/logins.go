package operators

import (
	"cmp"
	"context"
	"slices"
	"time"

	"siteapi/schema"
	"siteapi/schema/request"
)

// Logins resolves the root field `logins`.
func (r *Resolver) Logins(ctx context.Context) ([]*schema.Login, error) {
	stored, err := r.Store.ListLogins(ctx, time.Now())
	if err != nil {
		return nil, err
	}

	list := make([]*schema.Login, len(stored))
	for i, s := range stored {
		actor := request.AccountPrefix + s.Subject
		list[i] = &schema.Login{
			ID:        s.ID(),
			Actor:     actor,
			Name:      cmp.Or(s.Email, actor),
			Role:      schema.Role(s.Role),
			Client:    schema.Optional(s.Client),
			StartedAt: s.StartedAt,
			CheckAt:   s.CheckAt,
			ExpiresAt: s.ExpiresAt,
		}
	}
	return list, nil
}

// EndLogins resolves the root field `endLogins`.
func (r *Resolver) EndLogins(ctx context.Context, ids []string, all bool) (*schema.EndLoginsPayload, error) {
	logins, err := r.Logins(ctx)
	if err != nil {
		return nil, err
	}
	ended := []*schema.Login{}

	for _, l := range logins {
		if !all && !slices.Contains(ids, l.ID) {
			continue
		}
		detail := map[string]any{"login": l.ID, "of": l.Actor}
		if err := r.Record(ctx, schema.AuditActionLoginEnded, "", detail); err != nil {
			return nil, err
		}
		if _, err := r.Store.EndLogins(ctx, l.ID); err != nil {
			return nil, err
		}
		ended = append(ended, l)
	}

	if len(ended) == 0 && len(ids) > 0 {
		return nil, schema.NotFound("There is no such login, or it has ended.")
	}
	return &schema.EndLoginsPayload{Logins: ended}, nil
}
