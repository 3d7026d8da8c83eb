package resolvers

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"siteapi/integrations/quote"
	"siteapi/schema"
)

// trackQuote stores the state of a visitor's calculator, without whatever is not
// usable yet.
func (r *Resolver) trackQuote(ctx context.Context, in schema.TrackQuoteInput) (*schema.TrackQuotePayload, error) {
	visit := quote.Visit{SessionID: in.SessionID, At: r.Now().UTC().Truncate(time.Millisecond)}
	if s := in.Selections; s != nil {
		visit.Selections = quote.Selections{
			ProjectType: r.slug(s.ProjectType),
			Features:    r.slugs(s.Features),
			Complexity:  r.slug(s.Complexity),
			Timeline:    r.slug(s.Timeline),
		}
	}
	if e := in.Estimate; e != nil {
		visit.Estimate = quote.PartialEstimate{Min: amount(e.Min), Max: amount(e.Max)}
		if e.Currency != nil && r.formats.Currency(*e.Currency) {
			visit.Estimate.Currency = *e.Currency
		}
	}
	if f := in.FormData; f != nil {
		visit.Hints = r.hints(f)
	}
	if err := r.Quotes.Track(ctx, visit); err != nil {
		return nil, translate(err)
	}
	return &schema.TrackQuotePayload{Success: true, SessionID: in.SessionID}, nil
}

func (r *Resolver) hints(f *schema.TrackFormDataInput) quote.Hints {
	var h quote.Hints
	if f.Email != nil {
		if email := strings.TrimSpace(*f.Email); r.formats.Email(email) {
			h.Email = email
		}
	}
	if f.FirstName != nil {
		name := strings.TrimSpace(*f.FirstName)
		if utf8.RuneCountInString(name) <= schema.MaxNameLength && !strings.ContainsFunc(name, unicode.IsControl) {
			h.FirstName = name
		}
	}
	return h
}

// slug returns a usable slug, else nothing.
func (r *Resolver) slug(s *string) string {
	if s == nil || !r.formats.Slug(*s) {
		return ""
	}
	return *s
}

// slugs returns the first usable, different slugs of a list.
func (r *Resolver) slugs(list []*string) []string {
	var kept []string
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		slug := r.slug(s)
		if slug == "" || seen[slug] || len(kept) == schema.MaxFeatures {
			continue
		}
		seen[slug] = true
		kept = append(kept, slug)
	}
	return kept
}

// amount returns a usable amount, else nil.
func amount(f *float64) *float64 {
	if f == nil || *f < 0 || *f > schema.MaxAmount {
		return nil
	}
	return f
}
