package leads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

// Leads resolves the root field `leads`.
func (r *Resolver) Leads(
	ctx context.Context, filter *schema.LeadFilter, sort schema.LeadSort, first *int, cursor *string,
	export bool,
) (_ *schema.LeadConnection, err error) {
	given := schema.ValueOr(filter, schema.LeadFilter{})
	f := newFilter(given)
	f.Limit = schema.ValueOr(first, schema.DefaultPage)
	f.ByAmount = sort == schema.LeadSortLargest || sort == schema.LeadSortSmallest
	f.Newest = sort == schema.LeadSortNewest || sort == schema.LeadSortLargest

	if after := schema.ValueOr(cursor, ""); after != "" {
		if f.After, err = parsePosition(f, schema.CursorText(after)); err != nil {
			return nil, err
		}
	}

	if operators.IsViewer(ctx) {
		if f.Email != "" || given.Campaign != nil || f.Consent != "" || export {
			return nil, schema.NeedsRole(schema.RoleSales)
		}
		f = findable(f)
	}
	if f.Sources, f.Campaigns, err = r.Operators.Origins(ctx, given.Source, given.Campaign); err != nil {
		return nil, inFilter(err)
	}

	found, more, err := r.list(ctx, f)
	if err == nil && len(found) == 0 {
		err = inFilter(r.checkFilter(ctx, f))
	}
	if err != nil {
		return nil, err
	}
	page := r.fittingPage(ctx, f, found, more)

	action := schema.AuditActionListed
	if export {
		action = schema.AuditActionExported
	}
	detail := operators.ListDetail(ctx, len(page.Edges))
	if err := r.Operators.RecordShown(ctx, action, "", detail); err != nil {
		return nil, err
	}

	if executor.Selects(ctx, "counts") {
		counts, err := r.Store.CountWork(ctx, f)
		if err != nil {
			return nil, err
		}
		page.Counts = newLeadCounts(counts)
	}
	return page, nil
}

// newFilter converts a filter to the store's type, without its source and campaign, whose
// spellings are looked up.
func newFilter(given schema.LeadFilter) store.Filter {
	return store.Filter{
		Since:       schema.ValueOr(given.Since, time.Time{}),
		Until:       schema.ValueOr(given.Until, time.Time{}),
		Email:       crm.Address(schema.ValueOr(given.Email, "")),
		Search:      schema.ValueOr(given.Search, ""),
		Locale:      string(schema.ValueOr(given.Locale, "")),
		Owner:       given.Owner,
		Currency:    schema.ValueOr(given.Currency, ""),
		ProjectType: schema.ValueOr(given.ProjectType, ""),
		Consent:     schema.ValueOr(given.Consent, ""),
		AtLeast:     given.AmountFrom,
		AtMost:      given.AmountTo,
		State:       schema.ValueOr(given.State, ""),
		Status:      schema.ValueOr(given.Status, ""),

		DeletionOpen:   schema.ValueOr(given.DeletionRequested, false),
		Due:            schema.ValueOr(given.Due, false),
		Results:        given.Results,
		AnsweredInTime: schema.ValueOr(given.AnsweredWithinDay, false),
	}
}

// checkFilter returns an error if a filter that found nothing has a value of no lead.
func (r *Resolver) checkFilter(ctx context.Context, f store.Filter) (err error) {
	if f.Owner != nil {
		err = r.Operators.CheckOwner(ctx, crm.Address(*f.Owner))
	}
	if err == nil {
		_, err = r.Operators.Spellings(ctx, "consent", &f.Consent)
	}
	if err == nil && (r.Options == nil || r.Options(ctx)[f.ProjectType] == "") {
		_, err = r.Operators.Spellings(ctx, "projectType", &f.ProjectType)
	}
	return err
}

// inFilter returns an error of invalid values with their paths in the argument `filter`.
func inFilter(err error) error {
	if invalid, ok := errors.AsType[*schema.Error](err); ok {
		for i := range invalid.Fields {
			invalid.Fields[i].Field = "filter." + invalid.Fields[i].Field
		}
	}
	return err
}

// fittingPage returns a page of leads. It ends the page early if the response would be
// too large because of aliases or long messages.
func (r *Resolver) fittingPage(
	ctx context.Context, f store.Filter, found []lead.Lead, more bool,
) *schema.LeadConnection {
	edges := make([]*schema.LeadEdge, len(found))
	cursors := make([]string, len(found))
	for i, l := range found {
		cursors[i] = schema.NewCursor(positionText(f, l))
		edges[i] = &schema.LeadEdge{Cursor: cursors[i], Node: newLead(l)}
	}
	n := executor.Fitting(ctx, "edges", edges)
	info := schema.NewPageInfo(cursors[:n], more || n < len(found))
	return &schema.LeadConnection{Edges: edges[:n], PageInfo: info}
}

// findable limits the search of a viewer to references. A longer search text could be
// used to guess the id letter by letter.
func findable(f store.Filter) store.Filter {
	f.Reference, f.Search = f.Search, ""
	if len(f.Reference) > lead.ReferenceLength {
		f.IDs = []string{""} // none
	}
	return f
}

// newLeadCounts sums up the counts by state and by status.
func newLeadCounts(counts []store.WorkCount) *schema.LeadCounts {
	sum := &schema.LeadCounts{States: []*schema.LeadStateCount{}, Statuses: []*schema.LeadStatusCount{}}
	states, statuses := map[lead.State]int{}, map[lead.Status]int{}
	for _, c := range counts {
		alike := lead.Lead{InReview: c.InReview, Rejected: c.Rejected, Progress: c.Progress}
		states[alike.State()] += int(c.Number)
		statuses[c.Status] += int(c.Number)
		sum.Total += int(c.Number)
		if c.DeletionOpen {
			sum.DeletionRequests += int(c.Number)
		}
		if c.Due {
			sum.Due += int(c.Number)
		}
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

// positionText returns the order of a list and the position of a lead in it, for a
// cursor. It contains no more of the id than the reference, since forged positions would
// otherwise reveal the rest by comparison.
func positionText(f store.Filter, l lead.Lead) string {
	return fmt.Sprintf("%t-%t %g %d %s", f.ByAmount, f.Newest,
		l.Estimate.Min, l.SubmittedAt.UnixMilli(), l.ID[:min(lead.ReferenceLength, len(l.ID))])
}

// idForm matches the beginning of a lead's id.
var idForm = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// parsePosition parses the position of a lead in a list with the order of a filter.
func parsePosition(f store.Filter, text string) (*store.Position, error) {
	var order string
	var ms int64
	var at store.Position
	_, err := fmt.Sscanf(text, "%s %g %d %8s", &order, &at.Amount, &ms, &at.ID)
	if err != nil || math.IsNaN(at.Amount) || !idForm.MatchString(at.ID) ||
		order != fmt.Sprintf("%t-%t", f.ByAmount, f.Newest) {
		return nil, schema.BadCursor()
	}

	at.SubmittedAt = time.UnixMilli(ms)
	if !f.Newest {
		at.ID += "~" // sorts after all ids that begin like this
	}
	return &at, nil
}

// Lead resolves the root field `lead`.
func (r *Resolver) Lead(ctx context.Context, name string) (*schema.Lead, error) {
	if operators.IsViewer(ctx) && (len(name) > lead.ReferenceLength || crm.Addressable(name)) {
		return nil, schema.NotFound("There is no lead with this reference.")
	}

	found, err := r.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := r.Operators.RecordShown(ctx, schema.AuditActionOpened, found.ID, nil); err != nil {
		return nil, err
	}
	return newLead(found), nil
}

// maxRelated is how many other leads of the same address or session are shown with a lead.
const maxRelated = 20

// SameAddress resolves the field `sameAddress` of a lead.
func (r *Resolver) SameAddress(ctx context.Context, of *schema.Lead) ([]*schema.Lead, error) {
	address := of.Contact.Email
	for _, d := range of.Deliveries {
		address = schema.ValueOr(d.Email, address) // corrected
	}
	return r.related(ctx, of, store.Filter{Email: address}, "the same address")
}

// SameSession resolves the field `sameSession` of a lead.
func (r *Resolver) SameSession(ctx context.Context, of *schema.Lead) ([]*schema.Lead, error) {
	return r.related(ctx, of, store.Filter{Session: *of.SessionID, NotEmail: of.Contact.Email},
		"the same session")
}

// Links resolves the field `links` of a lead.
func (r *Resolver) Links(_ context.Context, of *schema.Lead) (*schema.LeadLinks, error) {
	links := &schema.LeadLinks{}
	if r.Mails.SiteURL != "" {
		links.Quote = schema.Optional(r.Mails.SiteURL + *of.QuoteURL)
		links.PDF = schema.Optional(r.Mails.SiteURL + *of.PDFURL)
	}
	if r.Mails.Inbox != "" {
		links.Inbox = schema.Optional(r.Mails.Inbox + "#leads?" + url.Values{"lead": {of.Reference}}.Encode())
	}
	return links, nil
}

// related returns the newest other leads that match a filter.
func (r *Resolver) related(
	ctx context.Context, of *schema.Lead, f store.Filter, name string,
) ([]*schema.Lead, error) {
	f.Newest, f.Limit = true, maxRelated+1
	found, _, err := r.list(ctx, f)
	if err != nil {
		return nil, err
	}

	found = slices.DeleteFunc(found, func(l lead.Lead) bool { return l.ID == of.ID })
	found = found[:min(maxRelated, len(found))]
	detail := map[string]any{"count": len(found), "of": name}
	if err := r.Operators.RecordShown(ctx, schema.AuditActionListed, "", detail); err != nil {
		return nil, err
	}
	return newLeads(found), nil
}
