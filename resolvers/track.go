package resolvers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"siteapi/integrations/lead"
	"siteapi/schema"
)

// trackQuote stores the state of a visitor's calculator without the values that are not
// usable yet. In development it reports their names, which helps with building the form.
func (r *Resolver) trackQuote(
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
			Email:     read.text("formData.email", f.Email, r.formats.Email),
			FirstName: read.text("formData.firstName", f.FirstName, usableName),
		}
		r.mayKeep(&visit.Hints, in.Consents, &read)
	}
	visit.Attribution = read.attribution(in.Attribution)

	if err := r.Quotes.Track(ctx, visit); err != nil {
		return nil, translate(err)
	}

	r.reportDropped(ctx, read)
	return &schema.TrackQuotePayload{Success: true, SessionID: in.SessionID}, nil
}

// hints reads values that a visitor may still be typing. A value that is not usable yet
// is dropped, and its name is recorded.
type hints struct {
	formats *schema.Formats
	dropped []string
}

// Values of [Deps.TrackContact].
const (
	TrackContactOn      = "on"      // contact hints are kept
	TrackContactConsent = "consent" // only with a consent of the same request
	TrackContactOff     = "off"     // never
)

// saveProgress is the purpose of the consent to keeping contact hints.
const saveProgress = "save_progress"

// mayKeep drops contact hints that may not be kept, and notes the consent to keeping them.
func (r *Resolver) mayKeep(typed *lead.Hints, consents []*schema.TrackConsentInput, read *hints) {
	given := slices.IndexFunc(consents, func(c *schema.TrackConsentInput) bool {
		return c != nil && trimmed(c.Purpose) == saveProgress && schema.ValueOr(c.Given, false)
	})

	switch {
	case *typed == lead.Hints{}:
	case r.TrackContact == TrackContactOff, r.TrackContact == TrackContactConsent && given < 0:
		*typed = lead.Hints{}
		read.dropped = append(read.dropped, "formData")
	case given >= 0:
		wording := []rune(trimmed(consents[given].Text))
		typed.Consent = string(wording[:min(len(wording), schema.MaxConsentText)])
	}
}

// reportDropped names the dropped hints in the response, in development.
func (r *Resolver) reportDropped(ctx context.Context, read hints) {
	if r.Development && len(read.dropped) > 0 {
		schema.RecorderFrom(ctx).Dropped(read.dropped)
	}
}

// text returns a usable text without the white space around it, or else an empty one.
func (h *hints) text(field string, s *string, usable func(string) bool) string {
	text := trimmed(s)
	if text != "" && !usable(text) {
		h.dropped = append(h.dropped, field)
		return ""
	}
	return text
}

// slug returns a usable slug, which has no white space around it, or else an empty text.
func (h *hints) slug(field string, s *string) string {
	return h.text(field, s, func(string) bool { return h.formats.Slug(*s) })
}

// slugs returns the first usable slugs of a list, each once.
func (h *hints) slugs(field string, list []*string) []string {
	var kept []string
	for i, s := range list {
		slug := trimmed(s)
		if slug == "" || slices.Contains(kept, slug) {
			continue
		}

		if len(kept) == schema.MaxFeatures || !h.formats.Slug(*s) {
			if len(h.dropped) < schema.MaxFieldErrors {
				h.dropped = append(h.dropped, fmt.Sprintf("%s[%d]", field, i))
			}
			continue
		}

		kept = append(kept, slug)
	}
	return kept
}

// attribution returns what is usable of an attribution.
func (h *hints) attribution(in *schema.AttributionInput) lead.Attribution {
	if in == nil {
		return lead.Attribution{}
	}
	read := func(name string, s *string, isAddress bool) string {
		text := origin(trimmed(s), isAddress)
		if text == "" && trimmed(s) != "" {
			h.dropped = append(h.dropped, "attribution."+name)
		}
		return text
	}

	return lead.Attribution{
		Source:      read("source", in.Source, false),
		Medium:      read("medium", in.Medium, false),
		Campaign:    read("campaign", in.Campaign, false),
		Term:        read("term", in.Term, false),
		Content:     read("content", in.Content, false),
		Referrer:    read("referrer", in.Referrer, true),
		LandingPage: read("landingPage", in.LandingPage, true),
	}
}

// origin returns a value of an attribution on one line, without an address's query, at most
// schema.MaxAttribution characters. A value that has an @, encoded or not, may be somebody's
// address: it becomes empty.
func origin(text string, isAddress bool) string {
	if isAddress || strings.Contains(text, "://") {
		text, _, _ = strings.Cut(text, "?")
		text, _, _ = strings.Cut(text, "#")
	}

	decoded := text
	for strings.Contains(decoded, "%25") {
		decoded = strings.ReplaceAll(decoded, "%25", "%")
	}
	if strings.ContainsAny(decoded, "@＠﹫") || strings.Contains(decoded, "%40") {
		return ""
	}

	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.C, r)
	}), " ")
	if runes := []rune(text); len(runes) > schema.MaxAttribution {
		text = string(runes[:schema.MaxAttribution])
	}
	return schema.Trim(text)
}

// amount returns a usable amount, or else nil.
func (h *hints) amount(field string, f *float64) *float64 {
	if f == nil {
		return nil
	}
	if *f < 0 || *f > schema.MaxAmount {
		h.dropped = append(h.dropped, field)
		return nil
	}

	amount := math.Abs(*f) // JSON has a -0.
	return &amount
}

func usableName(s string) bool {
	return utf8.RuneCountInString(s) <= schema.MaxNameLength && !strings.ContainsFunc(s, unicode.IsControl)
}
