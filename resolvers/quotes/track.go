package quotes

import (
	"context"
	"time"

	"siteapi/integrations/lead"
	"siteapi/schema"
)

// Track resolves trackQuote: it stores the state of a visitor's calculator without the
// values that are not usable yet. It reports their names, which helps with building the
// form.
func (r *Resolver) Track(
	ctx context.Context, in schema.TrackQuoteInput,
) (*schema.TrackQuotePayload, error) {
	visit := lead.Visit{SessionID: in.SessionID, At: r.Now().UTC().Truncate(time.Millisecond)}
	read := hints{formats: r.formats}

	if s := in.Selections; s != nil {
		visit.Selections = lead.Selections{
			ProjectType: read.slug("selections.projectType", s.ProjectType),
			Features:    read.slugs("selections.features", s.Features),
			Complexity:  read.slug("selections.complexity", s.Complexity),
			Timeline:    read.slug("selections.timeline", s.Timeline),
		}
	}

	if e := in.Estimate; e != nil {
		visit.Estimate = lead.PartialEstimate{
			Min:      read.amount("estimate.min", e.Min),
			Max:      read.amount("estimate.max", e.Max),
			Currency: read.text("estimate.currency", e.Currency, r.formats.Currency),
		}
	}

	if f := in.FormData; f != nil {
		visit.Hints = lead.Hints{
			Email:     read.email("formData.email", f.Email),
			FirstName: read.text("formData.firstName", f.FirstName, usableName),
		}
		r.mayKeep(&visit.Hints, in.Consents, &read)
	}
	visit.Locale = string(schema.ValueOr(in.Locale, ""))
	visit.Attribution = read.attribution(in.Attribution)

	began := time.Now()
	err := r.Quotes.Track(ctx, visit)
	r.ObserveDatabase("track", began, err)
	if err != nil {
		return nil, storeError(err)
	}

	schema.RecorderFrom(ctx).Dropped(read.dropped)
	return &schema.TrackQuotePayload{Success: true, SessionID: in.SessionID}, nil
}

// Values of [Deps.TrackContact].
const (
	TrackContactOn      = "on"      // contact hints are kept
	TrackContactConsent = "consent" // only with a consent of the same request
	TrackContactOff     = "off"     // never
)

// mayKeep drops contact hints that may not be kept, and notes the consent to keeping them.
func (r *Resolver) mayKeep(typed *lead.Hints, consents []*schema.TrackConsentInput, read *hints) {
	var given *schema.TrackConsentInput
	for _, c := range consents { // The last one of a purpose counts, as in a submission.
		if c != nil && trimmed(c.Purpose) == lead.SaveProgress {
			given = c
		}
	}
	agreed := given != nil && schema.ValueOr(given.Given, false)

	switch {
	case *typed == lead.Hints{}:
	case r.TrackContact == TrackContactOff, r.TrackContact == TrackContactConsent && !agreed:
		*typed = lead.Hints{}
		read.dropped = append(read.dropped, "formData")
	case agreed:
		wording := []rune(trimmed(given.Text))
		typed.Agreed = true
		typed.Consent = string(wording[:min(len(wording), schema.MaxConsentText)])
	}
}
