package resolvers

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// leads is the rule of the root field of that name.
func (r *Resolver) leads(ctx context.Context, f store.Filter, state schema.LeadState, after string) (*schema.LeadConnection, error) {
	f.Newest = true
	if after != "" {
		at, id, _ := strings.Cut(cursorText(after), " ")
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil || id == "" {
			return nil, badCursor()
		}
		f.After = &store.Position{SubmittedAt: time.UnixMilli(ms), ID: id}
	}
	leads, more, err := r.Operators.Leads(ctx, f, state)
	if err == nil && asks(ctx, "edges", "node", "deliveries") {
		err = r.Operators.AddDeliveries(ctx, leads...)
	}
	if err != nil {
		return nil, err
	}
	page := &schema.LeadConnection{Edges: make([]*schema.LeadEdge, len(leads)), PageInfo: &schema.PageInfo{HasNextPage: more}}
	for i, lead := range leads {
		cursor := newCursor(fmt.Sprint(lead.SubmittedAt.UnixMilli(), " ", lead.ID))
		page.Edges[i], page.PageInfo.EndCursor = &schema.LeadEdge{Cursor: cursor, Node: lead}, &cursor
	}
	return page, nil
}

// deliveryPage is the rule of the root field deliveries.
func (r *Resolver) deliveryPage(ctx context.Context, f queue.Filter, after string) (*schema.DeliveryConnection, error) {
	f.Newest = true
	if after != "" {
		var err error
		if f.After, err = strconv.ParseInt(cursorText(after), 10, 64); err != nil || f.After < 1 {
			return nil, badCursor()
		}
	}
	list, more, err := r.Operators.DeliveryPage(ctx, f)
	if err != nil {
		return nil, err
	}
	page := &schema.DeliveryConnection{Edges: make([]*schema.DeliveryEdge, len(list)), PageInfo: &schema.PageInfo{HasNextPage: more}}
	for i, d := range list {
		cursor := newCursor(d.ID)
		page.Edges[i], page.PageInfo.EndCursor = &schema.DeliveryEdge{Cursor: cursor, Node: d}, &cursor
	}
	return page, nil
}

func newCursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// cursorText returns what a cursor was made of, or nothing.
func cursorText(cursor string) string {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return ""
	}
	return string(text)
}

func badCursor() error {
	return badInput(schema.FieldError{Field: "after", Code: schema.FieldCodeUnreadable, Message: "must be the endCursor of an earlier page"})
}

// asks reports whether an operation asks for a field, by its path below the field that is being resolved.
func asks(ctx context.Context, path ...string) bool {
	op := graphql.GetOperationContext(ctx)
	sets := []ast.SelectionSet{graphql.GetFieldContext(ctx).Field.Selections}
	for _, name := range path {
		var below []ast.SelectionSet
		for _, set := range sets {
			for _, field := range graphql.CollectFields(op, set, nil) {
				if field.Name == name {
					below = append(below, field.Selections)
				}
			}
		}
		if sets = below; len(sets) == 0 {
			return false
		}
	}
	return true
}

// lead is the rule of the root field of that name.
func (r *Resolver) lead(ctx context.Context, id string) (*schema.Lead, error) {
	lead, err := r.Operators.Find(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // null is the answer
	}
	if err == nil {
		r.audit(ctx, "lead", lead.Reference)
	}
	return lead, err
}

// audit logs that an operator read or changed something. References tell nothing of a person.
func (r *Resolver) audit(ctx context.Context, field string, references ...string) {
	r.Log.Info().Ctx(ctx).Str("request_id", schema.CallerFrom(ctx).RequestID).Str("actor", "operator").Str("field", field).
		Strs("leads", references).Msg("audit")
}

// defaultPage is how many entries a page has if an argument is null.
const defaultPage = 50

// value returns an optional argument.
func value[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

var errNotYet = notFound("This field is not answered yet.")
