package content

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// settingsOf returns the settings of a document with these fields, and the log.
func settingsOf(fields string) (*Settings, string) {
	var log bytes.Buffer
	s := newSettings(cms.Document{ID: SettingsType, Fields: json.RawMessage(fields)}, zerolog.New(&log))
	return s, log.String()
}

// TestMalformedSettings checks that unusable values are left out and logged, and the rest
// is served.
func TestMalformedSettings(t *testing.T) {
	t.Parallel()
	for fields, tc := range map[string]struct{ shown, logged string }{
		`{"contactPhone":" ","contactPhones":[{"number":"","displayLocation":["contact"]}]}`: {
			`{"contactPhones":[]}`, `"phone":0`,
		},
		`{"contactPhones":[{"displayLocation":["contact"]}],"contactPhone":"9"}`: {
			`{"contactPhone":"9"}`, `"phone":0`,
		},
		`{"contactPhones":[{"number":"1","displayLocation":["header","footer","footer",5]}]}`: {
			`{"contactPhones":[{"number":"1","displayLocation":["footer"]}]}`, `unknown display location`,
		},
		`{"contactPhones":[null,"x",{"number":5},{"number":"1","displayLocation":"contact"},` +
			`{"number":"2","displayLocation":["contact"]}]}`: {
			`{"contactPhones":[{"number":"2","displayLocation":["contact"]}]}`, `"phone":3`,
		},
		`{"contactPhones":"x","contactPhone":5,"contactEmail":"a@b.co"}`: {
			`{"contactPhones":[],"contactEmail":"a@b.co"}`, `SiteSettings.contactPhones`,
		},
		`{"address":null,"businessHours":{"monday":["9"],"friday":"9 - 13"}}`: {
			`{"contactPhones":[],"businessHours":{"friday":"9 - 13"}}`, `businessHours.monday`,
		},
	} {
		settings, log := settingsOf(fields)
		shown, _ := json.Marshal(settings.Shown)
		shown = regexp.MustCompile(`"\w+":null,|,?"\w+":null`).ReplaceAll(shown, nil)
		if string(shown) != tc.shown {
			t.Errorf("%s: %s, want %s", fields, shown, tc.shown)
		}
		if !strings.Contains(log, tc.logged) || !strings.Contains(log, `"document":"siteSettings"`) {
			t.Errorf("%s: the log is %s", fields, log)
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

// The size of the logo comes from its metadata, or else from its URL.
func TestSizeOfTheLogo(t *testing.T) {
	t.Parallel()
	for asset, want := range map[string][2]int{
		`"url":"https://cms.test/a.png","metadata":{"dimensions":{"width":480,"height":120}}`: {480, 120},
		`"url":"https://cms.test/a-48x12.png","metadata":{"dimensions":{"width":"x"}}`:        {48, 12},
		`"url":"https://cms.test/a-48x12.png","metadata":7`:                                   {48, 12},
		`"url":"https://cms.test/a.png"`:                                                      {},
	} {
		settings, _ := settingsOf(`{"logo":{"asset":{` + asset + `}}}`)
		picture := settings.Shown.Logo.Asset
		if got := [2]int{schema.ValueOr(picture.Width, 0), schema.ValueOr(picture.Height, 0)}; got != want {
			t.Errorf("%s: %v, want %v", asset, got, want)
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
}
