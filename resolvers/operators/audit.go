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
	"github.com/rs/zerolog"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// logAudit logs that an operator read or changed something, whatever LOG_LEVEL is. It names
// the operator as [loggedActor] does, and the leads by their references, which are not
// personal data.
func (r *Resolver) logAudit(ctx context.Context, field string, ids ...string) {
	references := zerolog.Arr()
	for _, id := range ids {
		references.Str(lead.Reference(id))
	}

	r.Log.Log().
		Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).
		Ctx(ctx).
		Str("actor", loggedActor(schema.CallerFrom(ctx).Operator.Actor)).
		Str("field", field).
		Array("leads", references).
		Msg("audit")
}

// loggedActor names an operator as the audit in the database does. A subject that may not be
// logged, such as an e-mail address, is replaced by the beginning of its SHA-256.
func loggedActor(actor string) string {
	if upstream.Redact(actor) == actor {
		return actor
	}
	subject := strings.TrimPrefix(actor, schema.AccountPrefix)
	sum := sha256.Sum256([]byte(subject))
	return schema.AccountPrefix + "sha256-" + hex.EncodeToString(sum[:4])
}

// done returns the entry of the audit for what the caller of a field does with a lead, if
// there is one. The detail becomes JSON.
func (r *Resolver) done(
	ctx context.Context, action schema.AuditAction, leadID string, detail map[string]any,
) store.AuditEntry {
	operator := schema.CallerFrom(ctx).Operator
	entry := AuditEntry(operator.Actor, action, leadID, detail, r.Now())
	entry.Name = operator.Name()
	return entry
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
		return coded(err)
	}
	return nil
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
		latest, err := r.Audit.AuditEntries(ctx, store.AuditFilter{Lead: leadID, Limit: DefaultPage})
		if err != nil {
			return coded(err)
		}
		for _, e := range latest {
			if e.Actor == entry.Actor && e.Action == entry.Action && entry.At.Sub(e.At).Abs() < openedAgain {
				return nil
			}
		}
	}

	err := r.Audit.Record(ctx, entry)
	if err == nil {
		return nil
	}
	if !errors.Is(err, store.ErrUnavailable) {
		return coded(err)
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

// listDetail describes a listing of leads by the arguments of the field. It says that something
// was searched for, and not what: that may be a name or an address.
func listDetail(ctx context.Context, n int) map[string]any {
	detail := map[string]any{"count": n}
	for name, argument := range graphql.GetFieldContext(ctx).Args {
		value := reflect.Indirect(reflect.ValueOf(argument))
		if !value.IsValid() {
			continue // null
		}

		blank := value.Kind() == reflect.String && schema.Trim(value.String()) == ""
		switch name {
		case "first", "after", "sort", "dryRun":
		case "owner", "source":
			detail["searched"] = true // an empty one, too: leads without any
		case "search", "email", "campaign":
			if !blank {
				detail["searched"] = true
			}
		default:
			if !blank {
				detail[name] = value.Interface()
			}
		}
	}
	return detail
}

// AuditPage resolves the root field `audit`.
func (r *Resolver) AuditPage(
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
		return nil, coded(err)
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

// LeadAudit resolves the field `audit` of a lead.
func (r *Resolver) LeadAudit(ctx context.Context, l *schema.Lead) ([]*schema.AuditEntry, error) {
	entries, err := r.Audit.AuditEntries(ctx, store.AuditFilter{Lead: l.ID, Limit: DefaultPage})
	if err != nil {
		return nil, coded(err)
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
		Name:   e.Name,
		Action: schema.AuditAction(e.Action),
		Detail: e.Detail,
		Hash:   e.Hash,
	}
	if e.Lead != "" {
		entry.Lead = &e.Lead
	}
	return entry
}

// VerifyAudit resolves the root field of that name.
func (r *Resolver) VerifyAudit(ctx context.Context, head string) (*schema.AuditReport, error) {
	report, err := r.Audit.VerifyAudit(ctx, head)
	if err != nil {
		return nil, coded(err)
	}
	return &schema.AuditReport{
		Entries: int(report.Entries),
		Head:    report.Head,
		Seq:     int(report.Seq),
		Problem: schema.Optional(report.Problem),
	}, nil
}
