package quotes

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/ratelimit"
	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/request"
)

// TrackQuote resolves trackQuote: it stores the state of a visitor's calculator without values
// that are not usable yet. It records their names for the developers of the form.
func (r *Resolver) TrackQuote(
	ctx context.Context, in schema.TrackQuoteInput,
) (*schema.TrackQuotePayload, error) {
	visit := lead.Visit{SessionID: in.SessionID, At: r.Now().UTC().Truncate(time.Millisecond)}
	read := hints{}

	s := schema.ValueOr(in.Selections, lead.Selections{})
	visit.Selections = lead.Selections{
		ProjectType: read.text("selections.projectType", s.ProjectType, schema.IsSlug),
		Features:    read.slugs("selections.features", s.Features),
		Complexity:  read.text("selections.complexity", s.Complexity, schema.IsSlug),
		Timeline:    read.text("selections.timeline", s.Timeline, schema.IsSlug),
	}
	visit.Selections.Quantities = read.quantities(s.Quantities, visit.Selections)

	e := schema.ValueOr(in.Estimate, lead.PartialEstimate{})
	currency := read.text("estimate.currency", e.Currency, schema.IsCurrency)
	visit.Estimate = lead.PartialEstimate{
		Min:      read.amount("estimate.min", e.Min, currency),
		Max:      read.amount("estimate.max", e.Max, currency),
		Currency: currency,
	}

	typed := schema.ValueOr(in.FormData, lead.Hints{})
	visit.Hints = lead.Hints{
		Email:     read.text("formData.email", schema.CleanEmail(typed.Email), schema.IsEmail),
		FirstName: read.text("formData.firstName", typed.FirstName, usableName),
	}
	r.filterHints(&visit.Hints, in.Consents, &read)
	visit.Locale = string(schema.ValueOr(in.Locale, ""))
	visit.Attribution = read.attribution(in.Attribution)
	if fields := fit(&visit); len(fields) > 0 {
		read.dropped = append(read.dropped, fields...)
		r.Count("track", "cut")
	}

	payload := &schema.TrackQuotePayload{Success: true, SessionID: in.SessionID}
	if !r.mayStore(ctx, in.SessionID) {
		r.Count("track", "not_stored")
		return payload, nil
	}

	began := time.Now()
	err := r.Store.Track(ctx, visit)
	r.ObserveDatabase("track", began, err)
	if err != nil {
		return nil, storeError(err)
	}

	request.RecordFrom(ctx).Drop(read.dropped)
	return payload, nil
}

// maxNewSessions is the number of new sessions that are stored per client and hour.
// [ratelimit.Networks] multiplies it for the wider networks of a client.
const maxNewSessions = 200

// mayStore reports whether a session is already stored or within the limit of new
// sessions.
func (r *Resolver) mayStore(ctx context.Context, id string) bool {
	if r.Limiter == nil {
		return true
	}
	if _, err := r.Store.Session(ctx, id); !errors.Is(err, store.ErrNotFound) {
		return true
	}
	return r.withinHour(ctx, "sessions", maxNewSessions)
}

// withinHour counts something that a client stores, and reports whether the client and each
// of its networks are within an hourly limit.
func (r *Resolver) withinHour(ctx context.Context, kind string, limit int) bool {
	if r.Limiter == nil {
		return true
	}
	for _, network := range ratelimit.Networks(request.CallerFrom(ctx).Address) {
		if !ratelimit.WithinHour(ctx, r.Limiter, kind+" "+network.Name, limit*network.Times, r.Now()) {
			return false
		}
	}
	return true
}

// Values of [Deps.TrackContact].
const (
	TrackContactOn      = "on"      // contact hints are stored
	TrackContactConsent = "consent" // only with a consent of the same request
	TrackContactOff     = "off"     // never
)

// filterHints drops contact hints that may not be stored, and records the consent to
// storing them.
func (r *Resolver) filterHints(typed *lead.Hints, consents []*lead.Consent, read *hints) {
	var agreed lead.Consent
	for _, c := range consents { // The last one of a purpose counts, as in submitQuote.
		if c != nil && c.Purpose == lead.SaveProgress {
			agreed = *c
		}
	}

	switch {
	case *typed == lead.Hints{}:
	case r.TrackContact == TrackContactOff, r.TrackContact == TrackContactConsent && !agreed.Given:
		*typed = lead.Hints{}
		read.dropped = append(read.dropped, "formData")
	case agreed.Given:
		wording := []rune(agreed.Text)
		typed.Agreed = true
		typed.Consent = string(wording[:min(len(wording), schema.MaxConsentText)])
	}
}
