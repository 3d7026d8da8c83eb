package operators

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// exportTime is how long after its first page an export may go on.
const exportTime = time.Hour

// export is the export of leads to a file. It takes several pages, and is one entry of the
// audit with the number of all leads, which its first page records. The cursor at the end of
// a page is sealed, so that the next page needs no entry. Any other page records an export of
// its own.
type export struct {
	Actor  string
	Filter store.Filter
	State  lead.State
	Began  int64 // when it was recorded, in seconds of Unix time
}

func newExport(ctx context.Context, f store.Filter, state lead.State, began int64) export {
	f.After, f.Limit = nil, 0
	return export{schema.CallerFrom(ctx).Operator.Actor, f, state, began}
}

// seal returns a position in the list with proof that the export up to it was recorded.
func (e export) seal(key []byte, position string) string {
	// Texts, numbers and times can be encoded.
	text, _ := json.Marshal([]any{e, position})
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return position + "\n" + strconv.FormatInt(e.Began, 10) + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// openCursor returns the position of a cursor, and when the export that it continues was
// recorded: 0 if it continues none.
func (r *Resolver) openCursor(
	ctx context.Context, f store.Filter, state lead.State, cursor string,
) (position string, began int64) {
	text := cursorText(cursor)
	position, proof, _ := strings.Cut(text, "\n")
	at, _, _ := strings.Cut(proof, ".")

	began, err := strconv.ParseInt(at, 10, 64)
	if err != nil || r.Now().Sub(time.Unix(began, 0)) > exportTime {
		return position, 0
	}
	if !hmac.Equal([]byte(newExport(ctx, f, state, began).seal(r.ExportKey, position)), []byte(text)) {
		return position, 0
	}
	return position, began
}

// recordLeads stores that a page of leads was listed or exported. It returns when the export
// was recorded that the page belongs to.
func (r *Resolver) recordLeads(
	ctx context.Context, f store.Filter, state lead.State, began int64,
) (int64, error) {
	exports := asks(ctx, "csv")
	switch {
	case !showsPersonal(ctx) && f.Search == "": // a search text is contact data, too
		return 0, nil
	case exports && began != 0:
		return began, nil
	case !exports:
		return 0, r.recordListedLeads(ctx, f, state)
	}

	counts, err := r.Leads.Count(ctx, f, state)
	if err != nil {
		return 0, coded(err)
	}
	entry := r.done(ctx, schema.AuditActionExported, "", FilterDetail(f, state, store.NumberOf(counts)))
	return entry.At.Unix(), r.record(ctx, entry)
}

// table returns leads as a table for a spreadsheet.
func table(list []lead.Lead, heading bool) *string {
	var text strings.Builder
	_ = leads.NewTable(&text, heading).Leads(list) // a Builder takes everything
	csv := text.String()
	return &csv
}
