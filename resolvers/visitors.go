package resolvers

import (
	"context"
	"slices"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/resolvers/quotes"
	"siteapi/schema"
)

// visitorsWhoLeft implements the root field of that name. Where there are none it says why.
func (r *Resolver) visitorsWhoLeft(
	ctx context.Context, first int, after string,
) (*schema.VisitorConnection, error) {
	page, err := r.Operators.VisitorsWhoLeft(ctx, first, after)
	if err == nil && after == "" && len(page.Edges) == 0 {
		page.None = new(r.noVisitorsReason(ctx))
	}
	return page, err
}

// noVisitorsReason says why no visitor is listed.
func (r *Resolver) noVisitorsReason(ctx context.Context) schema.NoVisitorsReason {
	switch {
	case r.Quotes.TrackContact == quotes.TrackContactOff:
		return schema.NoVisitorsReasonNotStored
	case !r.asksToSave(ctx):
		return schema.NoVisitorsReasonNotAsked
	}
	return schema.NoVisitorsReasonNoneYet
}

// asksToSave reports whether clients can ask visitors for the consent to keeping what they
// type, in some language. It is true for a language whose content can't be read.
func (r *Resolver) asksToSave(ctx context.Context) bool {
	return slices.Contains(r.Content.Types, cms.ConsentType) &&
		slices.ContainsFunc(schema.Locales(), func(l schema.Locale) bool {
			snap, err := r.Content.ReadSoon(ctx, l)
			return err != nil || snap.Asks(lead.SaveProgress)
		})
}
