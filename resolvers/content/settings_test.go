package content

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// settingsOf returns the settings of a document with these fields, and their problems.
func settingsOf(fields string) (*Settings, string) {
	s, problems := newSettings(cms.Document{ID: cms.SettingsType, Fields: json.RawMessage(fields)}, "en")
	return s, strings.Join(problems, "; ")
}

// TestMalformedSettings checks that each unusable value is left out and reported, and the
// rest is served.
func TestMalformedSettings(t *testing.T) {
	t.Parallel()
	const noPlace = " lacks a number or a display location"
	for fields, tc := range map[string]struct{ shown, problems string }{
		`{"contactPhone":" ","contactPhones":[{"number":"","displayLocation":["contact"]}]}`: {
			`{"contactPhones":[]}`, `contactPhones[0]` + noPlace,
		},
		`{"contactPhones":[{"displayLocation":["contact"]}],"contactPhone":"9"}`: {
			`{"contactPhone":"9"}`, `contactPhones[0]` + noPlace,
		},
		`{"contactPhones":[{"number":"1","displayLocation":["header","footer","footer",5]}]}`: {
			`{"contactPhones":[{"number":"1","displayLocation":["footer"]}]}`,
			`contactPhones[0].displayLocation[3] has the wrong type; contactPhones[0] has an unknown display location; ` +
				`contactPhones[0] has an unknown display location`,
		},
		`{"contactPhones":[null,"x",{"number":5},{"number":"1","displayLocation":"contact"},` +
			`{"number":"2","displayLocation":["contact"]}]}`: {
			`{"contactPhones":[{"number":"2","displayLocation":["contact"]}]}`,
			`contactPhones[1] has the wrong type; contactPhones[2].number has the wrong type; ` +
				`contactPhones[3].displayLocation has the wrong type; ` + `contactPhones[0]` + noPlace + `; ` +
				`contactPhones[1]` + noPlace + `; ` + `contactPhones[2]` + noPlace + `; ` + `contactPhones[3]` + noPlace,
		},
		`{"contactPhones":"x","contactPhone":5,"contactEmail":"a@b.co"}`: {
			`{"contactPhones":[],"contactEmail":"a@b.co"}`, `contactPhones has the wrong type; contactPhone has the wrong type`,
		},
		`{"address":null,"businessHours":{"monday":["9"],"tuesday":true,"friday":"9 - 13"},"accentColor":7}`: {
			`{"contactPhones":[],"businessHours":{"friday":"9 - 13"}}`,
			`businessHours.monday has the wrong type; businessHours.tuesday has the wrong type; accentColor has the wrong type`,
		},
	} {
		settings, problems := settingsOf(fields)
		shown, _ := json.Marshal(settings.Shown)
		shown = regexp.MustCompile(`"\w+":null,|,?"\w+":null`).ReplaceAll(shown, nil)
		if string(shown) != tc.shown {
			t.Errorf("%s: %s, want %s", fields, shown, tc.shown)
		}
		if problems != tc.problems {
			t.Errorf("%s: problems %s\nwant %s", fields, problems, tc.problems)
		}
	}
}

// Without a title the logo's alternative text names the company in PDFs and mails.
func TestNameOfTheCompany(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`{"title":"Lumen","logo":{"alt":"A lamp"}}`: "Lumen",
		`{"title":" ","logo":{"alt":"A lamp"}}`:     "A lamp",
		`{"logo":{"alt":7}}`:                        "",
	} {
		if settings, _ := settingsOf(fields); settings.CompanyName != want {
			t.Errorf("%s: %q, want %q", fields, settings.CompanyName, want)
		}
	}
}

func TestLabelsInEveryLocale(t *testing.T) {
	t.Parallel()
	label := ""
	for _, locale := range schema.AllLocale {
		label += `,"` + string(locale) + `":"word-` + string(locale) + `"`
	}

	settings, _ := settingsOf(`{"contactPhones":[{"number":"1","label":{` + label[1:] + `},` +
		`"displayLocation":["contact"]}]}`)
	for _, locale := range schema.AllLocale {
		if got := settings.Shown.ContactPhones[0].Label.In(locale); got == nil || *got != "word-"+string(locale) {
			t.Errorf("LocalizedString.In in schema/locale.go leaves out the label in %s", locale)
		}
	}
	if cms.DefaultLanguage != string(schema.DefaultLocale) {
		t.Error("integrations/cms and schema have different default languages")
	}
}
