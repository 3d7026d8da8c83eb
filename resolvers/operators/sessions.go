package operators

import (
	"context"
	"slices"

	"siteapi/integrations/store"
	"siteapi/schema"
)

// OperatorSessions resolves the root field of that name.
func (r *Resolver) OperatorSessions(ctx context.Context) ([]*schema.OperatorSession, error) {
	stored, err := r.Sessions.ListLogins(ctx, r.Now())
	if err != nil {
		return nil, coded(err)
	}

	list := make([]*schema.OperatorSession, len(stored))
	for i, s := range stored {
		list[i] = newOperatorSession(s)
	}
	return list, nil
}

// EndOperatorSession resolves the root field of that name.
func (r *Resolver) EndOperatorSession(ctx context.Context, id string) (*schema.OperatorSession, error) {
	stored, err := r.Sessions.ListLogins(ctx, r.Now())
	if err != nil {
		return nil, coded(err)
	}

	i := slices.IndexFunc(stored, func(s store.Login) bool { return s.ID() == id })
	if i < 0 {
		return nil, schema.NotFound("There is no such session, or it has ended.")
	}

	ended := newOperatorSession(stored[i])
	detail := map[string]any{"session": ended.ID, "of": ended.Actor}
	if err := r.record(ctx, r.done(ctx, schema.AuditActionSessionEnded, "", detail)); err != nil {
		return nil, err
	}
	if _, err := r.Sessions.EndLogins(ctx, stored[i].Hash); err != nil {
		return nil, coded(err)
	}
	return ended, nil
}

// EndOperatorSessions resolves the root field of that name.
func (r *Resolver) EndOperatorSessions(ctx context.Context, ids []string, all bool) (int, error) {
	for i, id := range ids {
		if _, err := r.EndOperatorSession(ctx, id); err != nil {
			return i, err
		}
	}
	if !all {
		return len(ids), nil
	}

	entry := r.done(ctx, schema.AuditActionSessionEnded, "", map[string]any{"session": "all"})
	if err := r.record(ctx, entry); err != nil {
		return 0, err
	}
	n, err := r.Sessions.EndLogins(ctx, "")
	return int(n), coded(err)
}

func newOperatorSession(s store.Login) *schema.OperatorSession {
	return &schema.OperatorSession{
		ID:        s.ID(),
		Actor:     schema.AccountPrefix + s.Subject,
		Role:      schema.Role(s.Role),
		StartedAt: s.StartedAt,
		CheckAt:   s.CheckAt,
		ExpiresAt: s.ExpiresAt,
	}
}
