package content

import (
	"encoding/json"
	"strings"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// ofTexts returns the content in a locale, with one document.
func ofTexts(doc cms.Document, locale schema.Locale) *Snapshot {
	return newSnapshot([]cms.Document{doc}, nil, locale)
}

// TestTextsOfEditors reads what editors and other tools leave in the document quoteTexts.
// An empty problem means that the texts are usable.
func TestTextsOfEditors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ș", maxFirmText)
	for why, tt := range map[string]struct{ document, en, problem string }{
		"one language":                   {`{"terms":{"en":"Pay soon."}}`, "Pay soon.", ""},
		"a plain text is English":        {`{"terms":"Pay soon."}`, "Pay soon.", ""},
		"the plugin's array":             {`{"terms":[{"_key":"en","value":"Pay soon."}]}`, "Pay soon.", ""},
		"another language only":          {`{"terms":{"ro":"Plătiți."}}`, "", ""},
		"a language the site lacks":      {`{"terms":{"de":"Bald. {nachname}"}}`, "", ""},
		"blank and invisible":            {`{"terms":{"en":" \u200b\n "}}`, "", ""},
		"a new document":                 {`{}`, "", ""},
		"null":                           {`{"terms":null,"validityDays":null}`, "", ""},
		"every placeholder":              {`{"terms":{"en":"{firstName}{reference}{company}{validUntil}"},"validityDays":9}`, "{firstName}{reference}{company}{validUntil}", ""},
		"as long as allowed":             {`{"terms":{"en":"` + long + `"}}`, long, ""},
		"one character more":             {`{"terms":{"en":"` + long + `!"}}`, "", "its terms in en has more than 2000 characters"},
		"a placeholder of other tools":   {`{"terms":{"en":"Dear {{name}}"}}`, "", "its terms in en has an unknown placeholder"},
		"another case":                   {`{"thanks":{"es":"{firstname}"}}`, "", "its thanks in es has an unknown placeholder"},
		"blanks in a placeholder":        {`{"terms":{"en":"{ firstName }"}}`, "", "unknown placeholder"},
		"personal data as a placeholder": {`{"mailIntro":{"en":"{email} {lastName}"}}`, "", "its mailIntro in en has an unknown placeholder"},
		"half a placeholder":             {`{"terms":{"en":"Dear {firstName"}}`, "", "unknown placeholder"},
		"placeholders within each other": {`{"terms":{"en":"{first{company}Name}"}}`, "", "unknown placeholder"},
		"a day that nobody gives":        {`{"terms":{"en":"Until {validUntil}."}}`, "", "so it needs validityDays"},
		"portable text":                  {`{"terms":[{"_type":"block","children":[]}]}`, "", "its terms is not a localized text"},
		"a number":                       {`{"terms":7}`, "", "its terms is not a localized text"},
		"days as a string":               {`{"validityDays":"30"}`, "", "validityDays is not a whole number"},
		"no days":                        {`{"validityDays":0}`, "", "validityDays is not a whole number"},
		"half a day":                     {`{"validityDays":0.5}`, "", "validityDays is not a whole number"},
		"a thousand years":               {`{"validityDays":365000}`, "", "validityDays is not a whole number"},
	} {
		doc := cms.Document{ID: cms.TextsType, Type: cms.TextsType, Fields: json.RawMessage(tt.document)}
		s := ofTexts(doc, schema.LocaleEn)
		problems, en := strings.Join(s.Problems, "; "), ""
		if s.Texts != nil {
			en = s.Texts.ByLocale["en"]["terms"]
		}
		if en != tt.en || (problems == "") != (tt.problem == "") || !strings.Contains(problems, tt.problem) ||
			s.Unusable[store.Texts] != (tt.problem != "") {
			t.Errorf("%s: read %.40q, problems %q", why, en, problems)
		}
	}

	for why, doc := range map[string]cms.Document{
		"a second document":       {ID: "other", Type: cms.TextsType, Fields: json.RawMessage(`{"terms":"Mine"}`)},
		"translated as a whole":   {ID: "quoteTexts-en", Type: cms.TextsType, Language: "en", Fields: json.RawMessage(`{"terms":"Mine"}`)},
		"of another type, its id": {ID: cms.TextsType, Type: "page", Fields: json.RawMessage(`{"terms":"Mine"}`)},
	} {
		s := ofTexts(doc, schema.LocaleEn)
		if s.Texts != nil || s.Unusable[store.Texts] || (len(s.Problems) == 0) != (doc.Type == "page") {
			t.Errorf("%s: %+v, %q", why, s.Texts, s.Problems)
		}
	}
}

// The revision of texts depends on the texts and nothing else, in every locale alike.
func TestRevisionOfTexts(t *testing.T) {
	t.Parallel()
	revision := func(locale schema.Locale, fields string) string {
		doc := cms.Document{ID: cms.TextsType, Type: cms.TextsType, Fields: json.RawMessage(fields)}
		return ofTexts(doc, locale).Texts.Revision
	}
	first := revision(schema.LocaleEn, `{"terms":{"en":"a","ro":"b"},"thanks":{"en":"c"}}`)
	for fields, same := range map[string]bool{
		`{"thanks":{"en":"c"},"terms":{"ro":"b","en":"a"},"other":1}`:        true,
		`{"terms":{"en":" a ","ro":"b"},"thanks":{"en":"c","de":"d"}}`:       true,
		`{"terms":{"en":"a","ro":"b"},"thanks":{"es":"c"}}`:                  false,
		`{"terms":{"en":"a"},"thanks":{"en":"c"}}`:                           false,
		`{"terms":{"en":"a","ro":"b"},"thanks":{"en":"c"},"validityDays":1}`: false,
	} {
		if got := revision(schema.LocaleRo, fields); (got == first) != same {
			t.Errorf("%s has the revision %s, the first one has %s", fields, got, first)
		}
	}
}
