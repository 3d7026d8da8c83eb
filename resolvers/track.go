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
	}

	if err := r.Quotes.Track(ctx, visit); err != nil {
		return nil, translate(err)
	}

	if r.Development && len(read.dropped) > 0 {
		schema.RecorderFrom(ctx).Dropped(read.dropped)
	}
	return &schema.TrackQuotePayload{Success: true, SessionID: in.SessionID}, nil
}

// hints reads values that a visitor may still be typing. A value that is not usable yet
// is dropped, and its name is recorded.
type hints struct {
	formats *schema.Formats
	dropped []string
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
