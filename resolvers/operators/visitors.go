package operators

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/executor"
	"siteapi/schema"
)

// leftAfter is how long a visitor has to be silent to count as one who left.
const leftAfter = 30 * time.Minute

// VisitorsWhoLeft resolves the root field of that name, except for the reason why there is none.
func (r *Resolver) VisitorsWhoLeft(
	ctx context.Context, first int, after string,
) (*schema.VisitorConnection, error) {
	f := store.VisitorFilter{Before: r.Now().Add(-leftAfter), Limit: first + 1}
	if after != "" {
		var err error
		if f.After, err = parseVisitorPosition(cursorText(after)); err != nil {
			return nil, err
		}
	}

	found, err := r.Leads.Archive.VisitorsWhoLeft(ctx, f)
	if err != nil {
		return nil, coded(err)
	}

	edges := make([]*schema.VisitorEdge, min(first, len(found)))
	for i, s := range found[:len(edges)] {
		edges[i] = &schema.VisitorEdge{Cursor: newCursor(visitorPositionText(s)), Node: newVisitor(s)}
	}

	n := executor.Fitting(ctx, edges, nil)
	r.logAudit(ctx, "visitorsWhoLeft")
	err = r.recordListed(ctx, "visitors", func() (map[string]any, error) {
		return map[string]any{"count": n, "of": "visitors"}, nil
	})
	if err != nil {
		return nil, err
	}

	page := &schema.VisitorConnection{
		Edges:    edges[:n],
		PageInfo: &schema.PageInfo{HasNextPage: n < len(found)},
	}
	if n > 0 {
		page.PageInfo.EndCursor = &edges[n-1].Cursor
	}
	return page, nil
}

func newVisitor(s lead.Session) *schema.Visitor {
	shown := &schema.Visitor{
		SessionID:   s.ID,
		Email:       s.Hints.Email,
		FirstName:   schema.Optional(s.Hints.FirstName),
		ConsentText: schema.Optional(s.Hints.Consent),
		Selections: &schema.VisitorSelections{
			ProjectType: schema.Optional(s.Selections.ProjectType),
			Features:    append([]string{}, s.Selections.Features...),
			Complexity:  schema.Optional(s.Selections.Complexity),
			Timeline:    schema.Optional(s.Selections.Timeline),
		},
		Attribution:      newLeadAttribution(s.LastTouch),
		FirstAttribution: newLeadAttribution(s.FirstTouch),
		FirstSeenAt:      s.FirstSeen,
		LastSeenAt:       s.LastSeen,
		Tracks:           int(s.Visits),
	}

	if locale, ok := schema.ParseLocale(s.Locale); ok {
		shown.Locale = &locale
	}
	if e := s.Estimate; e.Min != nil && e.Max != nil && e.Currency != "" {
		shown.Estimate = &schema.LeadEstimate{Min: *e.Min, Max: *e.Max, Currency: e.Currency}
	}
	return shown
}

// visitorPositionText returns the place of a visitor in the list, for a cursor.
func visitorPositionText(s lead.Session) string {
	return strconv.FormatInt(s.LastSeen.UnixMilli(), 10) + " " + s.ID
}

// sessionForm is the form of a session's id, as the contract has it.
var sessionForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

func parseVisitorPosition(text string) (*store.VisitorPosition, error) {
	at, session, found := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !found || !sessionForm.MatchString(session) {
		return nil, badCursor()
	}
	return &store.VisitorPosition{LastSeen: time.UnixMilli(ms), SessionID: session}, nil
}
