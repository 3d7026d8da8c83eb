package content

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/pdf"
	"siteapi/schema"
)

// Limits of the firm's texts.
const (
	maxFirmText     = 2000 // characters
	maxValidityDays = 3650
)

// Texts are the firm's texts with their stored form.
type Texts struct {
	pdf.Texts
	Body     string
	Revision string // identifies the body
}

// DecodeTexts reads stored texts. An empty body has none.
func DecodeTexts(body string) (*Texts, error) {
	if body == "" {
		return nil, nil //nolint:nilnil // no texts are no error
	}
	t := &Texts{Body: body, Revision: cache.RevisionOf([]byte(body))}
	return t, json.Unmarshal([]byte(body), &t.Texts)
}

// readTexts returns the firm's texts in a document, or nil if it has none or is unusable.
// One unusable text makes all unusable, so that a lead never has a mixture.
func readTexts(doc cms.Document) (t *Texts, problems []string) {
	wrong := func(format string, values ...any) {
		problems = append(problems, fmt.Sprintf(format, values...))
	}
	if doc.ID != cms.TextsType {
		wrong("only the document with the _id quoteTexts counts")
		return nil, problems
	}
	var fields map[string]any
	_ = json.Unmarshal(doc.Fields, &fields) // drivers return objects only

	read := pdf.Texts{ByLocale: map[string]map[string]string{}}
	for _, name := range pdf.TextNames() {
		texts, ok := cms.Texts(fields[name])
		if !ok {
			wrong("its %s is not a localized text", name)
		}
		for _, locale := range schema.Locales() {
			text := schema.Clean(texts[string(locale)])
			switch {
			case text == "":
				continue
			case utf8.RuneCountInString(text) > maxFirmText:
				wrong("its %s in %s has more than %d characters", name, locale, maxFirmText)
			case strings.ContainsAny(pdf.WithoutPlaceholders(text), "{}"):
				wrong("its %s in %s has an unknown placeholder", name, locale)
			case strings.Contains(text, "{validUntil}") && fields["validityDays"] == nil:
				wrong("its %s in %s has {validUntil}, so it needs validityDays", name, locale)
			}
			if read.ByLocale[string(locale)] == nil {
				read.ByLocale[string(locale)] = map[string]string{}
			}
			read.ByLocale[string(locale)][name] = text
		}
	}

	days, isNumber := fields["validityDays"].(float64)
	if fields["validityDays"] != nil &&
		(!isNumber || days < 1 || days > maxValidityDays || days != math.Trunc(days)) {
		wrong("its validityDays is not a whole number from 1 to %d", maxValidityDays)
	}
	read.ValidityDays = int(days)
	if len(problems) > 0 || len(read.ByLocale) == 0 && days == 0 {
		return nil, problems
	}
	body, _ := json.Marshal(read) //nolint:errchkjson // strings and a number
	t, _ = DecodeTexts(string(body))
	return t, nil
}
