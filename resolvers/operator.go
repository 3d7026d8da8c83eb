package resolvers

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// idForm is the form of a lead's id.
var idForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// isViewer reports whether a field is answered for a viewer, who must not learn the id of a
// lead: it opens the PDF.
func isViewer(ctx context.Context) bool {
	return schema.CallerFrom(ctx).Operator.Role == schema.RoleViewer
}

// leads implements the root field of that name.
func (r *Resolver) leads(
	ctx context.Context, f store.Filter, state schema.LeadState, after string,
) (*schema.LeadConnection, error) {
	f.Newest = true
	if after != "" {
		at, id, _ := strings.Cut(cursorText(after), " ")
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil || !idForm.MatchString(id) {
			return nil, badCursor()
		}
		f.After = &store.Position{SubmittedAt: time.UnixMilli(ms), ID: shortID(id)}
	}

	// A viewer finds leads by the reference alone. More of the id could be guessed letter by
	// letter.
	if isViewer(ctx) {
		f.Reference, f.Search = strings.TrimSpace(f.Search), ""
		if len(f.Reference) > lead.ReferenceLength {
			return &schema.LeadConnection{Edges: []*schema.LeadEdge{}, PageInfo: &schema.PageInfo{}}, nil
		}
	}

	found, more, err := r.Operators.Leads(ctx, f, state)
	if err == nil && asksDeliveries(ctx) {
		err = r.Operators.AddDeliveries(ctx, found...)
	}
	if err != nil {
		return nil, operatorError(err)
	}

	edges := make([]*schema.LeadEdge, len(found))
	for i, l := range found {
		cursor := newCursor(fmt.Sprint(l.SubmittedAt.UnixMilli(), " ", shortID(l.ID)))
		edges[i] = &schema.LeadEdge{Cursor: cursor, Node: l}
	}

	// A page whose aliases make it too large ends early.
	n := executor.Fitting(ctx, edges)
	r.audit(ctx, "leads", found[:n]...)
	if asksPersonal(ctx) {
		action := schema.AuditActionListed
		if asks(ctx, "csv") {
			action = schema.AuditActionExported
		}
		if err := r.record(ctx, r.done(ctx, action, "", FilterDetail(f, state, n))); err != nil {
			return nil, err
		}
	}

	page := &schema.LeadConnection{
		Edges:    edges[:n],
		PageInfo: &schema.PageInfo{HasNextPage: more || n < len(edges)},
	}
	if n > 0 {
		page.PageInfo.EndCursor = &edges[n-1].Cursor
	}
	if asks(ctx, "csv") {
		text := table(found[:n], after == "")
		page.CSV = &text
	}
	return page, nil
}

// table returns leads as CSV.
func table(list []*schema.Lead, heading bool) string {
	var text strings.Builder
	write := leads.CSV(&text, heading)
	for _, lead := range list {
		_ = write(lead) // a Builder takes everything
	}
	return text.String()
}

// deliveryPage implements the root field `deliveries`.
func (r *Resolver) deliveryPage(
	ctx context.Context, f queue.Filter, after string,
) (*schema.DeliveryConnection, error) {
	f.Newest = true
	if after != "" {
		var err error
		if f.After, err = strconv.ParseInt(cursorText(after), 10, 64); err != nil || f.After < 1 {
			return nil, badCursor()
		}
	}

	list, more, err := r.Operators.DeliveryPage(ctx, f)
	if err != nil {
		return nil, operatorError(err)
	}

	edges := make([]*schema.DeliveryEdge, len(list))
	read := make([]*schema.Lead, len(list))
	for i, d := range list {
		edges[i], read[i] = &schema.DeliveryEdge{Cursor: newCursor(d.ID), Node: d}, d.Lead
	}

	if asksDeliveries(ctx) {
		if err := r.Operators.AddDeliveries(ctx, read...); err != nil {
			return nil, operatorError(err)
		}
	}

	n := executor.Fitting(ctx, edges)
	r.audit(ctx, "deliveries", read[:n]...)
	if asksPersonal(ctx) {
		detail := map[string]any{"count": n, "of": "deliveries"}
		if err := r.record(ctx, r.done(ctx, schema.AuditActionListed, "", detail)); err != nil {
			return nil, err
		}
	}

	page := &schema.DeliveryConnection{
		Edges:    edges[:n],
		PageInfo: &schema.PageInfo{HasNextPage: more || n < len(edges)},
	}
	if n > 0 {
		page.PageInfo.EndCursor = &edges[n-1].Cursor
	}
	return page, nil
}

// shortID returns as much of an id as the reference shows. A cursor holds no more, and none
// that comes in is used beyond that: a position between two ids would tell which is smaller.
func shortID(id string) string { return id[:min(lead.ReferenceLength, len(id))] }

// asksDeliveries reports whether an operation selects deliveries below the current field,
// or what follows from them.
func asksDeliveries(ctx context.Context) bool {
	return asks(ctx, "deliveries") || asks(ctx, "noMailReason")
}

// asks reports whether an operation selects a field of that name below the current one.
func asks(ctx context.Context, name string) bool {
	return selects(graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field.Selections, name)
}

func selects(op *graphql.OperationContext, set ast.SelectionSet, name string) bool {
	return slices.ContainsFunc(graphql.CollectFields(op, set, nil), func(f graphql.CollectedField) bool {
		return f.Name == name || selects(op, f.Selections, name)
	})
}

// lead implements the root field of that name.
func (r *Resolver) lead(ctx context.Context, id string) (*schema.Lead, error) {
	if isViewer(ctx) && len(id) > lead.ReferenceLength {
		return nil, nil //nolint:nilnil // null is the answer
	}

	found, err := r.Operators.Find(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // null is the answer
	}
	if err != nil {
		return nil, operatorError(err)
	}
	r.audit(ctx, "lead", found)
	if asksPersonal(ctx) {
		err = r.recordOpened(ctx, found.ID)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// changeLead changes a lead and returns it as it is afterwards.
func (r *Resolver) changeLead(
	ctx context.Context, field, id string, change func(*schema.Lead) error,
) (*schema.Lead, error) {
	lead, err := r.Operators.Find(ctx, id)
	if err == nil {
		r.audit(ctx, field, lead)
		err = change(lead)
	}

	if err == nil {
		lead, err = r.Operators.Find(ctx, lead.ID)
	}
	if err != nil {
		return nil, operatorError(err)
	}
	return lead, nil
}

// retryDelivery implements the root field of that name.
func (r *Resolver) retryDelivery(ctx context.Context, id string) (*schema.Delivery, error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, notFound("There is no such delivery.")
	}

	one := queue.Filter{ID: number, Limit: 1}
	list, _, err := r.Operators.DeliveryPage(ctx, one)
	if err == nil && len(list) > 0 {
		err = r.recordRetry(ctx, list[0])
	}
	if err == nil {
		err = r.Operators.Deliveries.Retry(ctx, number)
	}
	if err == nil {
		list, _, err = r.Operators.DeliveryPage(ctx, one)
	}
	if err == nil && len(list) > 0 && asksDeliveries(ctx) {
		err = r.Operators.AddDeliveries(ctx, list[0].Lead)
	}

	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && len(list) == 0:
		return nil, notFound("There is no such delivery.")
	case err != nil:
		return nil, operatorError(err)
	}

	r.audit(ctx, "retryDelivery", list[0].Lead)
	return list[0], nil
}

// eraseLeads implements the root field of that name.
func (r *Resolver) eraseLeads(
	ctx context.Context, email string, dryRun bool,
) (*schema.ErasureReceipt, error) {
	found, _, err := r.Operators.Leads(ctx, store.Filter{Email: strings.TrimSpace(email)}, "")
	if err != nil {
		return nil, operatorError(err)
	}

	// A preview erases nothing, and reads what `leads` would show.
	field := "eraseLeads"
	if dryRun {
		field = "leads"
		detail := FilterDetail(store.Filter{Email: email}, "", len(found))
		err = r.record(ctx, r.done(ctx, schema.AuditActionListed, "", detail))
	}
	if err != nil {
		return nil, err
	}
	r.audit(ctx, field, found...)

	entry := r.done(ctx, schema.AuditActionErased, "", nil)
	receipt, err := r.Operators.Erase(ctx, email, dryRun, r.Audit, entry)
	if err != nil {
		return nil, operatorError(err)
	}
	return receipt, nil
}

// serviceHealth implements the root field of that name.
func (r *Resolver) serviceHealth(ctx context.Context) *schema.ServiceHealth {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()

	checks := health.Dependencies{
		Database: func(context.Context) (store.Quotes, *leads.Service, error) {
			return r.Quotes, r.Operators, nil
		},
		Cache:        func(context.Context) (cache.Cache, error) { return r.Cache, nil },
		CMS:          func() (cms.Content, cms.Eraser, error) { return r.Content.CMS, r.Operators.CMS, nil },
		CRM:          func() (crm.Lookup, error) { return r.Operators.CRM, nil },
		Leases:       func(context.Context) (store.Leases, error) { return r.Content.Leases, nil },
		Mail:         r.Mail.Sender,
		Networks:     r.Mail.Claims.MailNetworks,
		ContentTypes: r.Content.Types,
	}.Checks()

	return &schema.ServiceHealth{
		Checks:  health.Examine(ctx, slices.Concat(r.Checks, checks)),
		Cache:   r.cacheStats(ctx).Stats,
		Content: r.Content.Health(),
		Version: r.Version,
	}
}

// audit logs that an operator read or changed something, whatever LOG_LEVEL is. It names
// the leads by their references, which are not personal data.
func (r *Resolver) audit(ctx context.Context, field string, leads ...*schema.Lead) {
	references := zerolog.Arr()
	for _, lead := range leads {
		if lead != nil { // nil if it was erased
			references.Str(lead.Reference)
		}
	}

	r.Log.Log().
		Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).
		Ctx(ctx).
		Str("actor", "operator").
		Str("field", field).
		Array("leads", references).
		Msg("audit")
}

// examineTime limits the checks of serviceHealth. An operation may take longer.
const examineTime = 8 * time.Second

func targetOf(t schema.DeliveryTarget) queue.Target { return queue.Target(strings.ToLower(string(t))) }
