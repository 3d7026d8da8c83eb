package quotes

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"siteapi/integrations/lead"
	"siteapi/schema"
)

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

// email returns a usable e-mail address, or else an empty text.
func (h *hints) email(field string, s *string) string {
	address := schema.TrimEmail(schema.ValueOr(s, ""))
	return h.text(field, &address, h.formats.Email)
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

// A session's row has at most 4 KB: an id, the latest state, and two attributions, which are
// the first and the last one and may come with different states.
const (
	maxStateBytes       = 2560
	maxAttributionBytes = 768
)

// fit cuts what is too large for a session's row, and returns the names of what it cut.
func fit(v *lead.Visit) (fields []string) {
	return append(fitAttribution(&v.Attribution), fitState(v)...)
}

// fitAttribution cuts referrer and landing page first, then the rest.
func fitAttribution(a *lead.Attribution) (fields []string) {
	parts := []struct {
		name  string
		value *string
	}{
		{"referrer", &a.Referrer},
		{"landingPage", &a.LandingPage},
		{"content", &a.Content},
		{"term", &a.Term},
		{"medium", &a.Medium},
		{"campaign", &a.Campaign},
		{"source", &a.Source},
	}

	for _, part := range parts {
		// Source and campaign are columns, too.
		excess := encoded(a) + len(a.Source) + len(a.Campaign) - maxAttributionBytes
		if excess > 0 && *part.value != "" {
			*part.value = cut(*part.value, encoded(*part.value)-excess)
			fields = append(fields, "attribution."+part.name)
		}
	}
	return fields
}

// fitState cuts features, then the wording of a consent. Address, answer and project type stay.
func fitState(v *lead.Visit) (fields []string) {
	size := func() int { // The address is in a column, too.
		state := lead.Visit{SessionID: v.SessionID, Selections: v.Selections, Estimate: v.Estimate, Hints: v.Hints}
		return encoded(state) + len(v.Hints.Email)
	}

	chosen := v.Selections.Features
	for size() > maxStateBytes && len(v.Selections.Features) > 0 {
		last := len(v.Selections.Features) - 1
		fields = append(fields, fmt.Sprintf("selections.features[%d]", last))
		v.Selections.Features = chosen[:last]
	}
	wording := &v.Hints.Consent
	if excess := size() - maxStateBytes; excess > 0 {
		*wording = cut(*wording, encoded(*wording)-excess)
		fields = append(fields, "consents.text")
	}
	return fields
}

// cut returns the beginning of a text that takes at most so many bytes in JSON.
func cut(text string, most int) string {
	for text != "" && encoded(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

func encoded(value any) int {
	text, _ := json.Marshal(value) //nolint:errchkjson // texts and numbers
	return len(text)
}

// origin returns a value of an attribution on one line, without an address's query, at most
// schema.MaxAttribution characters. A value that has an @, encoded or not, may be an e-mail
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

// distinct returns each of some texts once, without white space around them.
func distinct(list []string) (texts []string) {
	for _, text := range list {
		if text = schema.Trim(text); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// trimmed returns an optional text without white space around it, or an empty one.
func trimmed(s *string) string { return schema.Trim(schema.ValueOr(s, "")) }
