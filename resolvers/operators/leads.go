package operators

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// LeadPage resolves the root field of that name.
func (r *Resolver) LeadPage(
	ctx context.Context, f store.Filter, state lead.State, after string,
) (*schema.LeadConnection, error) {
	if after != "" {
		var err error
		if f.After, err = parsePosition(f, cursorText(after)); err != nil {
			return nil, err
		}
	}

	// A viewer finds leads by the reference alone. More of the id could be guessed letter by
	// letter.
	page := &schema.LeadConnection{Edges: []*schema.LeadEdge{}, PageInfo: &schema.PageInfo{}}
	if isViewer(ctx) {
		if f.Email != "" || f.Campaign != "" || f.Consent != "" {
			return nil, &schema.Error{Code: schema.CodeForbidden, Message: "This needs the role SALES."}
		}
		f.Reference, f.Search = f.Search, ""
		if len(f.Reference) > lead.ReferenceLength {
			page.Counts = newLeadCounts(nil)
			return page, nil
		}
	}

	found, more, err := r.Leads.Leads(ctx, f, state)
	if err != nil {
		return nil, coded(err)
	}
	list, err := r.shownLeads(ctx, found...)
	if err != nil {
		return nil, err
	}

	edges := make([]*schema.LeadEdge, len(list))
	for i, l := range list {
		edges[i] = &schema.LeadEdge{Cursor: newCursor(positionText(f, found[i])), Node: l}
	}

	// A page that is too large ends early, be it for its aliases or for what visitors wrote.
	n := executor.Fitting(ctx, edges, map[string]func(int) string{
		"csv": func(i int) string { return *table(found[i:i+1], i == 0 && after == "") },
	})
	page.Edges, page.PageInfo.HasNextPage = edges[:n], more || n < len(edges)
	r.logAudit(ctx, "leads", leadIDs(found[:n])...)

	action, detail := schema.AuditActionListed, listDetail(ctx, n)
	if asks(ctx, "csv") {
		action, page.CSV = schema.AuditActionExported, table(found[:n], after == "")
		if onlyEmail(f, state) && !page.PageInfo.HasNextPage {
			person, err := leads.FindPerson(ctx, r.Persons, f.Email)
			if err != nil {
				return nil, coded(err)
			}
			*page.CSV += person.CSV()
			personDetail(detail, person)
		}
	}
	if err := r.recordShown(ctx, action, "", detail); err != nil {
		return nil, err
	}
	if n > 0 {
		page.PageInfo.EndCursor = &edges[n-1].Cursor
	}
	if asks(ctx, "counts") {
		counts, err := r.Leads.Count(ctx, f, state)
		if err != nil {
			return nil, coded(err)
		}
		page.Counts = newLeadCounts(counts)
	}
	return page, nil
}

// onlyEmail reports whether leads are selected by their address and nothing else: the leads of
// one person.
func onlyEmail(f store.Filter, state lead.State) bool {
	f.Limit, f.After, f.Newest, f.ByAmount = 0, nil, false, false
	return f.Email != "" && state == "" && reflect.DeepEqual(f, store.Filter{Email: f.Email})
}

// table returns leads as a table for a spreadsheet.
func table(list []lead.Lead, heading bool) *string {
	var text strings.Builder
	_ = leads.NewTable(&text, heading).Leads(list) // a Builder takes everything
	csv := text.String()
	return &csv
}

// newLeadCounts adds up what was counted.
func newLeadCounts(counts []store.WorkCount) *schema.LeadCounts {
	sum := &schema.LeadCounts{States: []*schema.LeadStateCount{}, Statuses: []*schema.LeadStatusCount{}}
	states, statuses := map[lead.State]int{}, map[lead.Status]int{}
	for _, c := range counts {
		alike := lead.Lead{InReview: c.InReview, Rejected: c.Rejected, Progress: c.Progress}
		states[alike.State()] += int(c.Number)
		statuses[c.Status] += int(c.Number)
		sum.Total += int(c.Number)
	}

	for _, state := range lead.States() {
		if n := states[state]; n > 0 {
			sum.States = append(sum.States, &schema.LeadStateCount{State: state, Count: n})
		}
	}
	for _, status := range lead.Statuses() {
		if n := statuses[status]; n > 0 {
			sum.Statuses = append(sum.Statuses, &schema.LeadStatusCount{Status: status, Count: n})
		}
	}
	return sum
}

// idForm is the form of a lead's id.
var idForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// positionText returns the order of a list and the place of a lead in it, for a cursor. It
// holds no more of the id than the reference shows: a position between two ids would tell
// which is smaller.
func positionText(f store.Filter, l lead.Lead) string {
	text := fmt.Sprint(l.SubmittedAt.UnixMilli(), " ", shortID(l.ID))
	if f.ByAmount {
		text = strconv.FormatFloat(l.Estimate.Min, 'g', -1, 64) + " " + text
	}
	return orderText(f) + " " + text
}

// orderText names the order of a list.
func orderText(f store.Filter) string {
	by, first := "time", "least"
	if f.ByAmount {
		by = "amount"
	}
	if f.Newest {
		first = "most"
	}
	return by + "-" + first
}

// parsePosition reads the place of a lead in a list, or fails.
func parsePosition(f store.Filter, text string) (*store.Position, error) {
	var at store.Position
	var err error

	order, text, _ := strings.Cut(text, " ")
	if order != orderText(f) {
		return nil, badCursor()
	}
	if f.ByAmount {
		amount, rest, _ := strings.Cut(text, " ")
		if at.Amount, err = strconv.ParseFloat(amount, 64); err != nil || math.IsNaN(at.Amount) {
			return nil, badCursor()
		}
		text = rest
	}

	number, id, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !idForm.MatchString(id) {
		return nil, badCursor()
	}
	at.SubmittedAt, at.ID = time.UnixMilli(ms), shortID(id)
	if !f.Newest {
		at.ID += "~" // sorts after all ids that begin like this
	}
	return &at, nil
}

// shortID returns as much of an id as the reference shows.
func shortID(id string) string { return id[:min(lead.ReferenceLength, len(id))] }

// Lead resolves the root field of that name.
func (r *Resolver) Lead(ctx context.Context, id string) (*schema.Lead, error) {
	if isViewer(ctx) && len(id) > lead.ReferenceLength {
		return nil, nil //nolint:nilnil // null is the answer
	}

	found, err := r.Leads.Find(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // null is the answer
	}
	if err != nil {
		return nil, coded(err)
	}

	shown, err := r.shownLeads(ctx, found)
	if err != nil {
		return nil, err
	}
	r.logAudit(ctx, "lead", found.ID)
	if err := r.recordShown(ctx, schema.AuditActionOpened, found.ID, nil); err != nil {
		return nil, err
	}
	return shown[0], nil
}

// mostSameAddress is how many other leads of an address are shown on a lead.
const mostSameAddress = 20

// SameAddress resolves the field of that name.
func (r *Resolver) SameAddress(ctx context.Context, of *schema.Lead) ([]*schema.Lead, error) {
	found, _, err := r.Leads.Leads(ctx, store.Filter{
		Email:  of.Contact.Email,
		Newest: true,
		Limit:  mostSameAddress + 1,
	}, "")
	if err != nil {
		return nil, coded(err)
	}

	found = slices.DeleteFunc(found, func(l lead.Lead) bool { return l.ID == of.ID })
	found = found[:min(mostSameAddress, len(found))]
	for _, l := range found {
		if err := r.recordShown(ctx, schema.AuditActionOpened, l.ID, nil); err != nil {
			return nil, err
		}
	}
	return r.shownLeads(ctx, found...)
}

// shownLeads returns leads as operators see them, with their deliveries and notes if the
// operation asks for those.
func (r *Resolver) shownLeads(ctx context.Context, found ...lead.Lead) ([]*schema.Lead, error) {
	var deliveries map[string][]lead.Delivery
	if asksDeliveries(ctx) {
		var err error
		if deliveries, err = r.Leads.DeliveriesOf(ctx, found); err != nil {
			return nil, coded(err)
		}
	}

	if asks(ctx, "notes") || asks(ctx, "csv") {
		if err := r.Leads.AddNotes(ctx, found); err != nil {
			return nil, coded(err)
		}
	}

	list := make([]*schema.Lead, len(found))
	for i, l := range found {
		list[i] = newLead(l, deliveries[l.ID])
	}
	return list, nil
}

// leadIDs returns the ids of leads.
func leadIDs(list []lead.Lead) []string {
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.ID
	}
	return ids
}
