package operators

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// done returns the entry of the audit for what the caller of a field does with a lead, if
// there is one. The detail becomes JSON. It must hold no contact data.
func (r *Resolver) done(
	ctx context.Context, action schema.AuditAction, leadID string, detail map[string]any,
) store.AuditEntry {
	text := []byte("{}")
	if len(detail) > 0 {
		text, _ = json.Marshal(detail) // texts, numbers and times
	}

	operator := schema.CallerFrom(ctx).Operator
	return store.AuditEntry{
		At:     r.Now(),
		Actor:  operator.Actor,
		Name:   operator.Name(),
		Action: string(action),
		Lead:   leadID,
		Detail: string(text),
	}
}

// record stores what an operator does. Where that fails the operation fails: nothing is done
// without an entry. Reads are recorded by recordShown.
func (r *Resolver) record(ctx context.Context, entry store.AuditEntry) error {
	return r.Leads.Tables.Record(ctx, entry)
}

// openedAgain is how long a lead may be read again without another entry: its page asks anew
// whenever a delivery of it goes on.
const openedAgain = 15 * time.Minute

// recordShown stores that a lead, or a page of several, was read, if the answer shows personal
// data. A lead that the same operator read just before has its entry. Reading goes on while
// the database can't be written to, as on a full disk: the entry is in the log then.
func (r *Resolver) recordShown(
	ctx context.Context, action schema.AuditAction, leadID string, detail map[string]any,
) error {
	if !showsPersonal(ctx) {
		return nil
	}

	entry := r.done(ctx, action, leadID, detail)
	if leadID != "" {
		latest, err := r.Leads.Tables.AuditEntries(ctx, store.AuditFilter{Lead: leadID, Limit: DefaultPage})
		if err != nil {
			return err
		}
		for _, e := range latest {
			if e.Actor == entry.Actor && e.Action == entry.Action && entry.At.Sub(e.At).Abs() < openedAgain {
				return nil
			}
		}
	}

	err := r.Leads.Tables.Record(ctx, entry)
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
		Msg("an entry of the audit is in the log only")
	return nil
}

// loggedActor names an operator as the audit in the database does. A subject that may not be
// logged, such as an e-mail address, is replaced by the beginning of its SHA-256: the entry in
// the log tells it from others.
func loggedActor(actor string) string {
	if upstream.Redact(actor) == actor {
		return actor
	}
	subject := strings.TrimPrefix(actor, schema.AccountPrefix)
	sum := sha256.Sum256([]byte(subject))
	return schema.AccountPrefix + "sha256-" + hex.EncodeToString(sum[:4])
}

// listDetail describes a listing of leads by the arguments of the field. It says that something
// was searched for, and not what: that may be a name or an address.
func listDetail(ctx context.Context, n int) map[string]any {
	detail := map[string]any{"count": n}
	for name, argument := range graphql.GetFieldContext(ctx).Args {
		value := reflect.Indirect(reflect.ValueOf(argument))
		if !value.IsValid() || value.IsZero() {
			continue // null, or empty
		}

		switch name {
		case "first", "after", "sort", "dryRun":
		case "search", "email", "campaign", "owner", "source":
			detail["searched"] = true
		default:
			detail[name] = value.Interface()
		}
	}
	return detail
}

// AuditPage resolves the root field `audit`.
func (r *Resolver) AuditPage(
	ctx context.Context, leadID string, first int, after string,
) (*schema.AuditConnection, error) {
	f := store.AuditFilter{Lead: leadID, Limit: first + 1}
	var err error
	if f.Before, err = numberAt(after); err != nil {
		return nil, err
	}
	entries, err := r.Leads.Tables.AuditEntries(ctx, f)
	if err != nil {
		return nil, err
	}

	page := &schema.AuditConnection{Edges: []*schema.AuditEdge{}}
	var cursors []string
	for _, e := range entries[:min(first, len(entries))] {
		cursors = append(cursors, newCursor(strconv.FormatInt(e.Seq, 10)))
		page.Edges = append(page.Edges, &schema.AuditEdge{Cursor: cursors[len(cursors)-1], Node: newAuditEntry(e)})
	}
	page.PageInfo = pageInfo(cursors, len(entries) > first)
	return page, nil
}

// LeadAudit resolves the field `audit` of a lead.
func (r *Resolver) LeadAudit(ctx context.Context, l *schema.Lead) ([]*schema.AuditEntry, error) {
	entries, err := r.Leads.Tables.AuditEntries(ctx, store.AuditFilter{Lead: l.ID, Limit: DefaultPage})
	if err != nil {
		return nil, err
	}

	list := make([]*schema.AuditEntry, len(entries))
	for i, e := range entries {
		list[i] = newAuditEntry(e)
	}
	return list, nil
}

func newAuditEntry(e store.AuditEntry) *schema.AuditEntry {
	return &schema.AuditEntry{
		ID:     strconv.FormatInt(e.Seq, 10),
		At:     e.At,
		Actor:  e.Actor,
		Name:   e.Name,
		Action: schema.AuditAction(e.Action),
		Detail: e.Detail,
		Hash:   e.Hash,
		Lead:   schema.Optional(e.Lead),
	}
}

// VerifyAudit resolves the root field of that name.
func (r *Resolver) VerifyAudit(ctx context.Context, head string) (*schema.AuditReport, error) {
	report, err := r.Leads.Tables.VerifyAudit(ctx, head)
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
