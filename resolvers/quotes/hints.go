package quotes

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"siteapi/integrations/lead"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// hints reads values that a visitor may still be typing. It drops a value that is not
// usable yet and records its name.
type hints struct {
	dropped []string
}

// text returns a string, or "" if it is not usable.
func (h *hints) text(field, text string, usable func(string) bool) string {
	if text != "" && !usable(text) {
		h.dropped = append(h.dropped, field)
		return ""
	}
	return text
}

// slugs returns the usable slugs of a list without duplicates, at most
// schema.MaxFeatures.
func (h *hints) slugs(field string, list []string) (usable []string) {
	for i, slug := range list {
		switch {
		case slug == "" || slices.Contains(usable, slug):
		case len(usable) < schema.MaxFeatures && schema.IsSlug(slug):
			usable = append(usable, slug)
		case len(h.dropped) < schema.MaxFieldErrors:
			h.dropped = append(h.dropped, fmt.Sprintf("%s[%d]", field, i))
		}
	}
	return usable
}

// quantities returns the usable quantities of the choices, the first one of each slug.
func (h *hints) quantities(list []lead.Quantity, s lead.Selections) (usable []lead.Quantity) {
	for i, q := range list {
		_, decimals, _ := strings.Cut(strconv.FormatFloat(q.Count, 'f', -1, 64), ".")
		repeated := slices.ContainsFunc(usable, func(u lead.Quantity) bool { return u.Slug == q.Slug })
		switch {
		case !repeated && s.Chosen(q.Slug) && q.Count >= schema.MinCount && q.Count <= schema.MaxCount &&
			len(decimals) <= 2:
			usable = append(usable, q)
		case len(h.dropped) < schema.MaxFieldErrors:
			h.dropped = append(h.dropped, fmt.Sprintf("selections.quantities[%d]", i))
		}
	}
	return usable
}

// part is a value of an attribution.
type part struct {
	name      string
	value     *string
	isAddress bool
}

// partsOf returns the values of an attribution, the least important first.
func partsOf(a *lead.Attribution) []part {
	return []part{
		{"referrer", &a.Referrer, true},
		{"landingPage", &a.LandingPage, true},
		{"content", &a.Content, false},
		{"term", &a.Term, false},
		{"medium", &a.Medium, false},
		{"campaign", &a.Campaign, false},
		{"source", &a.Source, false},
	}
}

// attribution returns the usable values of an attribution.
func (h *hints) attribution(in *lead.Attribution) lead.Attribution {
	a := schema.ValueOr(in, lead.Attribution{})
	for _, part := range partsOf(&a) {
		sent := *part.value
		if *part.value = origin(sent, part.isAddress); *part.value == "" && sent != "" {
			h.dropped = append(h.dropped, "attribution."+part.name)
		}
	}
	return a
}

// A session's row has at most 4 KB: an id, the latest state, and the first and the last
// attribution, which may be from different requests.
const (
	maxStateBytes       = 2560
	maxAttributionBytes = 768
)

// fit drops whole values of a visit, in the order below, until it fits into a session's
// row, and returns their names. It never drops the address, the consent or the project
// type.
func fit(v *lead.Visit) (dropped []string) {
	dropped = fitAttribution(&v.Attribution)
	tooLarge := func() bool { // The address is also a column.
		state := lead.Visit{
			SessionID:  v.SessionID,
			Selections: v.Selections,
			Estimate:   v.Estimate,
			Hints:      v.Hints,
		}
		return encoded(state)+len(v.Hints.Email) > maxStateBytes
	}

	if len(v.Selections.Quantities) > 0 && tooLarge() {
		v.Selections.Quantities = nil
		dropped = append(dropped, "selections.quantities")
	}
	if len(v.Selections.Features) > 0 && tooLarge() {
		v.Selections.Features = nil
		dropped = append(dropped, "selections.features")
	}
	if v.Hints.Consent != "" && tooLarge() {
		v.Hints.Consent = ""
		dropped = append(dropped, "consents.text")
	}
	return dropped
}

// fitAttribution drops values of an attribution until it is small enough, and returns their
// names.
func fitAttribution(a *lead.Attribution) (dropped []string) {
	for _, part := range partsOf(a) {
		// Source and campaign are also columns.
		if *part.value != "" && encoded(a)+len(a.Source)+len(a.Campaign) > maxAttributionBytes {
			*part.value = ""
			dropped = append(dropped, "attribution."+part.name)
		}
	}
	return dropped
}

func encoded(value any) int {
	text, _ := json.Marshal(value) //nolint:errchkjson // strings and numbers
	return len(text)
}

// origin normalizes a value of an attribution to a single line of at most
// schema.MaxAttribution characters, without the query of a URL. A value with an @,
// encoded or not, may be an e-mail address, so it becomes empty.
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

	text = lead.OneLine(strings.ToValidUTF8(text, ""))
	if runes := []rune(text); len(runes) > schema.MaxAttribution {
		text = string(runes[:schema.MaxAttribution])
	}
	return schema.Clean(text)
}

// amount returns an amount rounded for a currency, or nil if it is not usable.
func (h *hints) amount(field string, f *float64, currency string) *float64 {
	if f == nil {
		return nil
	}
	if *f < 0 || *f > schema.MaxAmount {
		h.dropped = append(h.dropped, field)
		return nil
	}

	amount := price.Round(math.Abs(*f), currency) // JSON has a negative zero.
	return &amount
}

func usableName(s string) bool {
	return utf8.RuneCountInString(s) <= schema.MaxNameLength && !strings.ContainsFunc(s, unicode.IsControl)
}

// distinct returns strings without duplicates.
func distinct(list []string) (texts []string) {
	for _, text := range list {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
