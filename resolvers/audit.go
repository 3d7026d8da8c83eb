package resolvers

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/integrations/store"
	"siteapi/schema"
)

// done returns the entry of the audit for what the caller of a field does with a lead, if
// there is one. The detail becomes JSON.
func (r *Resolver) done(
	ctx context.Context, action schema.AuditAction, leadID string, detail map[string]any,
) store.AuditEntry {
	return AuditEntry(schema.CallerFrom(ctx).Operator.Actor, action, leadID, detail, r.Now())
}

// AuditEntry returns an entry of the audit. It must hold no contact data.
func AuditEntry(
	actor string, action schema.AuditAction, leadID string, detail map[string]any, at time.Time,
) store.AuditEntry {
	text := []byte("{}")
	if len(detail) > 0 {
		text, _ = json.Marshal(detail) // texts, numbers and times
	}

	return store.AuditEntry{
		At:     at,
		Actor:  actor,
		Action: string(action),
		Lead:   leadID,
		Detail: string(text),
	}
}

// record stores what an operator does. Where that fails the operation fails: nothing is
// shown or done without an entry.
func (r *Resolver) record(ctx context.Context, entries ...store.AuditEntry) error {
	if err := r.Audit.Record(ctx, entries...); err != nil {
		return operatorError(err)
	}
	return nil
}

// openedAgain is how long a lead may be read again without another entry: the page looks
// every few seconds while a delivery is under way.
const openedAgain = 15 * time.Minute

// recordOpened stores that a lead was read, unless the same operator read it just before.
func (r *Resolver) recordOpened(ctx context.Context, leadID string) error {
	entry := r.done(ctx, schema.AuditActionOpened, leadID, nil)
	last, err := r.Audit.AuditEntries(ctx, store.AuditFilter{Lead: leadID, Limit: 1})
	if err != nil {
		return operatorError(err)
	}
	if len(last) > 0 && last[0].Actor == entry.Actor && last[0].Action == entry.Action &&
		entry.At.Sub(last[0].At).Abs() < openedAgain {
		return nil
	}
	return r.record(ctx, entry)
}

// recordRetry stores that a delivery is tried by hand.
func (r *Resolver) recordRetry(ctx context.Context, d *schema.Delivery) error {
	leadID := ""
	if d.Lead != nil {
		leadID = d.Lead.ID
	}
	return r.record(ctx, r.done(ctx, schema.AuditActionRetried, leadID, map[string]any{"target": d.Target}))
}

// FilterDetail describes a listing of leads. It says that something was searched for, and
// not what: that may be a name or an address.
func FilterDetail(f store.Filter, state schema.LeadState, n int) map[string]any {
	detail := map[string]any{"count": n}

	if f.Search != "" || f.Email != "" {
		detail["searched"] = true
	}
	if state != "" {
		detail["state"] = state
	}
	if f.Locale != "" {
		detail["locale"] = f.Locale
	}
	if !f.Since.IsZero() {
		detail["since"] = f.Since
	}
	if !f.Until.IsZero() {
		detail["until"] = f.Until
	}

	return detail
}

// asksPersonal reports whether an operation selects a field below the current one that is
// not for viewers.
func asksPersonal(ctx context.Context) bool {
	op := graphql.GetOperationContext(ctx)
	var below func(set ast.SelectionSet) bool
	below = func(set ast.SelectionSet) bool {
		for _, f := range graphql.CollectFields(op, set, nil) {
			if f.Definition.Directives.ForName("auth") != nil || below(f.Selections) {
				return true
			}
		}
		return false
	}
	return below(graphql.GetFieldContext(ctx).Field.Selections)
}

// auditPage implements the root field `audit`.
func (r *Resolver) auditPage(
	ctx context.Context, leadID string, first int, after string,
) (*schema.AuditConnection, error) {
	f := store.AuditFilter{Lead: leadID, Limit: first + 1}
	if after != "" {
		var err error
		if f.Before, err = strconv.ParseInt(cursorText(after), 10, 64); err != nil || f.Before < 1 {
			return nil, badCursor()
		}
	}

	entries, err := r.Audit.AuditEntries(ctx, f)
	if err != nil {
		return nil, operatorError(err)
	}

	page := &schema.AuditConnection{Edges: []*schema.AuditEdge{}, PageInfo: &schema.PageInfo{}}
	page.PageInfo.HasNextPage = len(entries) > first
	for _, e := range entries[:min(first, len(entries))] {
		edge := &schema.AuditEdge{Cursor: newCursor(strconv.FormatInt(e.Seq, 10)), Node: newAuditEntry(e)}
		page.Edges = append(page.Edges, edge)
		page.PageInfo.EndCursor = &edge.Cursor
	}
	return page, nil
}

// leadAudit implements the field `audit` of a lead.
func (r *Resolver) leadAudit(ctx context.Context, lead *schema.Lead) ([]*schema.AuditEntry, error) {
	entries, err := r.Audit.AuditEntries(ctx, store.AuditFilter{Lead: lead.ID, Limit: defaultPage})
	if err != nil {
		return nil, operatorError(err)
	}

	list := make([]*schema.AuditEntry, len(entries))
	for i, e := range entries {
		list[i] = newAuditEntry(e)
	}
	return list, nil
}

func newAuditEntry(e store.AuditEntry) *schema.AuditEntry {
	entry := &schema.AuditEntry{
		ID:     strconv.FormatInt(e.Seq, 10),
		At:     e.At,
		Actor:  e.Actor,
		Action: schema.AuditAction(e.Action),
		Detail: e.Detail,
		Hash:   e.Hash,
	}
	if e.Lead != "" {
		entry.Lead = &e.Lead
	}
	return entry
}

// keepAudit removes old entries of the audit, and logs its head once a day: with the log
// elsewhere, a chain that was made anew is found out.
func (r *Resolver) keepAudit(ctx context.Context) {
	if r.AuditRetention > 0 {
		if _, err := r.Audit.PruneAudit(ctx, r.Now().Add(-r.AuditRetention)); err != nil && ctx.Err() == nil {
			r.Log.Error().Err(err).Msg("deleting old entries of the audit")
		}
	}

	if today := r.Now().UTC().Format(time.DateOnly); today != r.auditLogged {
		seq, hash, err := r.Audit.AuditHead(ctx)
		if err != nil {
			r.Log.Error().Err(err).Msg("reading the head of the audit")
			return
		}
		r.auditLogged = today
		r.Log.Log().
			Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).
			Int64("entry", seq).
			Str("hash", hash).
			Msg("audit head")
	}
}
