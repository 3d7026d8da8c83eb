package operators

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
	"siteapi/resolvers/executor"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Entry returns the audit entry for an action of the caller, with the assistant that acts
// for the caller, if any. It refers to a lead if leadID is set. The detail is encoded as
// JSON and must not contain contact data.
func (r *Resolver) Entry(
	ctx context.Context, action schema.AuditAction, leadID string, detail map[string]any,
) store.AuditEntry {
	operator := request.CallerFrom(ctx).Operator
	if operator.Client != "" {
		detail = maps.Clone(detail)
		if detail == nil {
			detail = map[string]any{}
		}
		detail["client"] = operator.Client
	}
	text := []byte("{}")
	if len(detail) > 0 {
		text, _ = json.Marshal(detail) // strings, numbers and times
	}

	return store.AuditEntry{
		At:     time.Now(),
		Actor:  operator.Actor,
		Name:   operator.Name(),
		Action: string(action),
		Lead:   leadID,
		Detail: string(text),
	}
}

// Record stores the audit entry of an action before it happens. If storing fails, the
// operation fails, so every action has an entry. RecordShown records reads.
func (r *Resolver) Record(
	ctx context.Context, action schema.AuditAction, leadID string, detail map[string]any,
) error {
	return r.Store.Record(ctx, r.Entry(ctx, action, leadID, detail))
}

// repeatedReads is how long an operator may read a lead again without another entry,
// since the page of a lead reloads whenever one of its deliveries changes.
const repeatedReads = 15 * time.Minute

// RecordShown records that a lead, or a page of leads, was read, if the response contains
// personal data. A lead that the same operator read less than repeatedReads ago, by the same
// assistant or without one, gets no second entry. If the database cannot be written, for
// example because the disk is full, the read succeeds and the entry is only in the log.
func (r *Resolver) RecordShown(
	ctx context.Context, action schema.AuditAction, leadID string, detail map[string]any,
) error {
	if !showsPersonal(ctx) {
		return nil
	}

	entry := r.Entry(ctx, action, leadID, detail)
	if leadID != "" {
		latest, err := r.Store.AuditEntries(ctx,
			store.AuditFilter{Leads: []string{leadID}, Limit: schema.DefaultPage})
		if err != nil {
			return err
		}
		for _, e := range latest {
			if e.Actor == entry.Actor && e.Action == entry.Action && e.Detail == entry.Detail &&
				entry.At.Sub(e.At).Abs() < repeatedReads {
				return nil
			}
		}
	}

	err := r.Store.Record(ctx, entry)
	if !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	r.Log.Error().
		Err(err).
		Ctx(ctx).
		Time("at", entry.At).
		Str("actor", loggedActor(entry.Actor)).
		Str("action", entry.Action).
		Str("lead", lead.Reference(entry.Lead)).
		RawJSON("detail", []byte(entry.Detail)).
		Msg("cannot store an audit entry: it is in the log only")
	return nil
}

// loggedActor returns the actor of an audit entry for the log. The subject of an account, and
// an e-mail address, is replaced by the beginning of its SHA-256, which still distinguishes
// it from others.
func loggedActor(actor string) string {
	subject, isAccount := strings.CutPrefix(actor, request.AccountPrefix)
	if !isAccount && upstream.Redact(actor) == actor {
		return actor
	}
	sum := sha256.Sum256([]byte(subject))
	return request.AccountPrefix + "sha256-" + hex.EncodeToString(sum[:4])
}

// showsPersonal reports whether an operation selects a @personal field below the current
// one, or searches: the search text is contact data even if leads are only counted. It is
// false for viewers, who get null for @personal fields.
func showsPersonal(ctx context.Context) bool {
	if IsViewer(ctx) {
		return false
	}
	return arguments(ctx)["search"] != nil || executor.SelectsPersonal(ctx)
}

// ListDetail describes a listing of leads by the arguments of the field. It records only
// that others than these were given: they may have a name or an address.
func ListDetail(ctx context.Context, n int) map[string]any {
	detail := map[string]any{"count": n}

	for name, value := range arguments(ctx) {
		switch name {
		case "first", "after", "sort", "dryRun", "export": // they select no leads
		case "state", "status", "locale", "projectType", "consent", "currency", "amountFrom",
			"amountTo", "since", "until",
			"results", "answeredWithinDay", "due", "deletionRequested":
			detail[name] = value
		case "owner", "source", "campaign":
			if text, _ := value.(string); schema.Clean(text) == "" {
				detail[name] = "" // leads without one
			} else {
				detail["searched"] = true
			}
		default:
			detail["searched"] = true
		}
	}
	return detail
}

// arguments returns the arguments of the current field that are set, and the fields of its
// filter. An empty owner, source or campaign stands for leads without one.
func arguments(ctx context.Context) map[string]any {
	set := graphql.GetFieldContext(ctx).Field.ArgumentMap(graphql.GetOperationContext(ctx).Variables)
	filter, _ := set["filter"].(map[string]any)
	delete(set, "filter")
	maps.Copy(set, filter)

	maps.DeleteFunc(set, func(name string, value any) bool {
		text, isText := value.(string)
		isBlank := isText && schema.Clean(text) == "" &&
			!slices.Contains([]string{"owner", "source", "campaign"}, name)
		return value == nil || value == false || isBlank
	})
	return set
}

// AuditPage resolves the root field `audit`.
func (r *Resolver) AuditPage(
	ctx context.Context, f store.AuditFilter, first int, after string,
) (*schema.AuditConnection, error) {
	if f.Operator != "" {
		known, err := r.Store.Known(ctx, "operator")
		if err != nil {
			return nil, err
		}
		if !slices.Contains(known, f.Operator) {
			return nil, unknown("operator", known, "")
		}
	}
	var err error
	if f.Before, err = schema.CursorNumber(after); err != nil {
		return nil, err
	}
	f.Limit = first + 1
	entries, err := r.auditEntries(ctx, f)
	if err != nil {
		return nil, err
	}

	page := &schema.AuditConnection{Edges: []*schema.AuditEdge{}}
	var cursors []string
	for _, e := range entries[:min(first, len(entries))] {
		cursor := schema.NewCursor(e.ID)
		cursors = append(cursors, cursor)
		page.Edges = append(page.Edges, &schema.AuditEdge{Cursor: cursor, Node: e})
	}
	page.PageInfo = schema.NewPageInfo(cursors, len(entries) > first)
	return page, nil
}

// LeadAudit resolves the field `audit` of a lead.
func (r *Resolver) LeadAudit(ctx context.Context, l *schema.Lead) ([]*schema.AuditEntry, error) {
	return r.auditEntries(ctx, store.AuditFilter{Leads: []string{l.ID}, Limit: schema.DefaultPage})
}

// auditEntries returns entries of the audit in the schema's type.
func (r *Resolver) auditEntries(ctx context.Context, f store.AuditFilter) ([]*schema.AuditEntry, error) {
	entries, err := r.Store.AuditEntries(ctx, f)
	list := make([]*schema.AuditEntry, len(entries))
	for i, e := range entries {
		list[i] = &schema.AuditEntry{
			ID:     strconv.FormatInt(e.Seq, 10),
			At:     e.At,
			Actor:  e.Actor,
			Name:   e.Name,
			Action: schema.AuditAction(e.Action),
			Detail: json.RawMessage(e.Detail),
			Hash:   e.Hash,
			Lead:   schema.Optional(e.Lead),
		}
	}
	return list, err
}

// VerifyAudit resolves the root field `verifyAudit`.
func (r *Resolver) VerifyAudit(ctx context.Context, head *string) (*schema.AuditReport, error) {
	report, err := r.Store.VerifyAudit(ctx, schema.ValueOr(head, ""))
	if err != nil {
		return nil, err
	}
	return &schema.AuditReport{
		Entries: int(report.Entries),
		Head:    report.Head,
		Seq:     int(report.Seq),
		Problem: schema.Optional(report.Problem),
	}, nil
}
