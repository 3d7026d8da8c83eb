package operators

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/integrations/lead"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/schema"
)

// idForm is the form of a lead's id.
var idForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// isViewer reports whether a field is answered for a viewer, who must not learn the id of a
// lead: it opens the PDF.
func isViewer(ctx context.Context) bool {
	return schema.CallerFrom(ctx).Operator.Role == schema.RoleViewer
}

// LeadPage resolves the root field of that name.
func (r *Resolver) LeadPage(
	ctx context.Context, f store.Filter, state lead.State, after string,
) (*schema.LeadConnection, error) {
	position, began := r.openCursor(ctx, f, state, after)
	if after != "" {
		var err error
		if f.After, err = parsePosition(f, position); err != nil {
			return nil, err
		}
	}

	// A viewer finds leads by the reference alone. More of the id could be guessed letter by
	// letter.
	if isViewer(ctx) {
		f.Reference, f.Search = strings.TrimSpace(f.Search), ""
		if len(f.Reference) > lead.ReferenceLength {
			return &schema.LeadConnection{
				Edges:    []*schema.LeadEdge{},
				PageInfo: &schema.PageInfo{},
				Counts:   newLeadCounts(nil),
			}, nil
		}
	}

	found, more, err := r.Operators.Leads(ctx, f, state)
	if err != nil {
		return nil, operatorError(err)
	}
	list, err := r.shownLeads(ctx, found...)
	if err != nil {
		return nil, err
	}

	edges := make([]*schema.LeadEdge, len(list))
	for i, l := range list {
		edges[i] = &schema.LeadEdge{Cursor: newCursor(positionText(f, found[i])), Node: l}
	}

	// A page whose aliases make it too large ends early.
	n := executor.Fitting(ctx, edges)
	r.audit(ctx, "leads", leadIDs(found[:n])...)
	if began, err = r.recordLeads(ctx, f, state, began); err != nil {
		return nil, err
	}

	page := &schema.LeadConnection{
		Edges:    edges[:n],
		PageInfo: &schema.PageInfo{HasNextPage: more || n < len(edges)},
	}
	if n > 0 {
		page.PageInfo.EndCursor = &edges[n-1].Cursor
	}
	if asks(ctx, "counts") {
		counts, err := r.Operators.Count(ctx, f, state)
		if err != nil {
			return nil, operatorError(err)
		}
		page.Counts = newLeadCounts(counts)
	}
	if asks(ctx, "csv") {
		page.CSV = table(found[:n], after == "")
	}
	if n > 0 && began != 0 {
		sealed := newCursor(newExport(ctx, f, state, began).seal(r.ExportKey, positionText(f, found[n-1])))
		page.PageInfo.EndCursor = &sealed
	}
	return page, nil
}

// DeliveryPage resolves the root field `deliveries`.
func (r *Resolver) DeliveryPage(
	ctx context.Context, f queue.Filter, after string,
) (*schema.DeliveryConnection, error) {
	f.Newest = true
	if after != "" {
		var err error
		if f.After, err = strconv.ParseInt(cursorText(after), 10, 64); err != nil || f.After < 1 {
			return nil, badCursor()
		}
	}

	list, more, err := r.deliveries(ctx, f)
	if err != nil {
		return nil, err
	}

	edges := make([]*schema.DeliveryEdge, len(list))
	for i, d := range list {
		edges[i] = &schema.DeliveryEdge{Cursor: newCursor(d.ID), Node: d}
	}

	n := executor.Fitting(ctx, edges)
	r.audit(ctx, "deliveries", leadsOf(list[:n])...)
	if showsPersonal(ctx) {
		err := r.recordListed(ctx, []any{"deliveries", f.States, f.Target}, func() (map[string]any, error) {
			return map[string]any{"count": n, "of": "deliveries"}, nil
		})
		if err != nil {
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

// deliveries returns deliveries with their leads as operators see them, and whether there
// are more.
func (r *Resolver) deliveries(
	ctx context.Context, f queue.Filter,
) (list []*schema.Delivery, more bool, err error) {
	found, of, more, err := r.Operators.DeliveryPage(ctx, f)
	if err != nil {
		return nil, false, operatorError(err)
	}
	shown, err := r.shownLeads(ctx, of...)
	if err != nil {
		return nil, false, err
	}

	byID := map[string]*schema.Lead{} // leads that were erased are missing
	for _, l := range shown {
		byID[l.ID] = l
	}
	for _, d := range found {
		list = append(list, newDelivery(d, byID[d.LeadID]))
	}
	return list, more, nil
}

// shortID returns as much of an id as the reference shows.
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

// Lead resolves the root field of that name.
func (r *Resolver) Lead(ctx context.Context, id string) (*schema.Lead, error) {
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

	shown, err := r.shownLeads(ctx, found)
	if err != nil {
		return nil, err
	}
	r.audit(ctx, "lead", found.ID)
	if err := r.recordOpened(ctx, found.ID); err != nil {
		return nil, err
	}
	return shown[0], nil
}

// changeLead changes a lead and returns it as it is afterwards. It shows the lead even where
// there is nothing to change, so that it counts as opened, too.
func (r *Resolver) changeLead(
	ctx context.Context, field, id string, change func(lead.Lead) error,
) (*schema.Lead, error) {
	l, err := r.Operators.Find(ctx, id)
	if err == nil {
		r.audit(ctx, field, l.ID)
		err = r.recordOpened(ctx, l.ID)
	}
	if err == nil {
		err = change(l)
	}

	if err == nil {
		l, err = r.Operators.Find(ctx, l.ID)
	}
	if err != nil {
		return nil, operatorError(err)
	}

	shown, err := r.shownLeads(ctx, l)
	if err != nil {
		return nil, err
	}
	return shown[0], nil
}

// RetryDelivery resolves the root field of that name.
func (r *Resolver) RetryDelivery(ctx context.Context, id string) (*schema.Delivery, error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, schema.NotFound("There is no such delivery.")
	}

	one := queue.Filter{ID: number, Limit: 1}
	list, _, err := r.deliveries(ctx, one)
	if err == nil && len(list) > 0 {
		err = r.recordRetry(ctx, list[0])
	}
	if err == nil {
		err = r.Operators.Deliveries.Retry(ctx, number)
	}
	if err == nil {
		list, _, err = r.deliveries(ctx, one)
	}

	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && len(list) == 0:
		return nil, schema.NotFound("There is no such delivery.")
	case err != nil:
		return nil, operatorError(err)
	}

	r.audit(ctx, "retryDelivery", leadsOf(list)...)
	return list[0], nil
}

// EraseLeads resolves the root field of that name.
func (r *Resolver) EraseLeads(
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
	r.audit(ctx, field, leadIDs(found)...)

	entry := r.done(ctx, schema.AuditActionErased, "", nil)
	receipt, err := r.Operators.Erase(ctx, email, dryRun, r.Audit, entry)
	if err != nil {
		return nil, operatorError(err)
	}
	return NewReceipt(receipt), nil
}

// audit logs that an operator read or changed something, whatever LOG_LEVEL is. It names
// the operator as the audit in the database does, and the leads by their references, which
// are not personal data.
func (r *Resolver) audit(ctx context.Context, field string, ids ...string) {
	references := zerolog.Arr()
	for _, id := range ids {
		references.Str(lead.Reference(id))
	}

	r.Log.Log().
		Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).
		Ctx(ctx).
		Str("actor", schema.CallerFrom(ctx).Operator.Actor).
		Str("field", field).
		Array("leads", references).
		Msg("audit")
}

// leadIDs returns the ids of leads.
func leadIDs(list []lead.Lead) []string {
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.ID
	}
	return ids
}

// leadsOf returns the ids of the leads of deliveries, without those that were erased.
func leadsOf(list []*schema.Delivery) (ids []string) {
	for _, d := range list {
		if d.Lead != nil {
			ids = append(ids, d.Lead.ID)
		}
	}
	return ids
}
