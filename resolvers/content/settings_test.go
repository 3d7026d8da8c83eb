package content

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

func settingsOf(t *testing.T, fields string) *schema.SiteSettings {
	t.Helper()
	return newSettings(&cms.Document{
		ID:     SettingsType,
		Type:   SettingsType,
		Fields: json.RawMessage(fields),
	}, zerolog.Nop()).Shown
}

func TestPhones(t *testing.T) {
	t.Parallel()
	const one = `{"number":"+40 21 555 0100","label":{"ro":"Birou"},"displayLocation":["contact","footer"]}`

	tests := []struct {
		name, fields  string
		phones, phone string // JSON
	}{
		{
			"several beside the legacy one",
			`{"contactPhones":[` + one + `],"contactPhone":"9"}`,
			`[{"number":"+40 21 555 0100","label":{"ro":"Birou"},"displayLocation":["contact","footer"]}]`,
			`"9"`,
		},
		{"legacy beside an empty list", `{"contactPhones":[],"contactPhone":"9"}`, `null`, `"9"`},
		{"legacy beside null", `{"contactPhones":null,"contactPhone":"9"}`, `null`, `"9"`},
		{
			"empty strings",
			`{"contactPhone":"","contactPhones":[{"number":"","displayLocation":["contact"]}]}`,
			`[]`,
			`null`,
		},
		{
			"all malformed, legacy set",
			`{"contactPhones":[{"displayLocation":["contact"]}],"contactPhone":"9"}`,
			`null`,
			`"9"`,
		},
		{
			"unknown place",
			`{"contactPhones":[{"number":"1","displayLocation":["header","contact",5]}]}`,
			`[{"number":"1","displayLocation":["contact"]}]`,
			`null`,
		},
		{
			"no place",
			`{"contactPhones":[{"number":"1"},{"number":"2","displayLocation":[]}],"contactPhone":"9"}`,
			`null`,
			`"9"`,
		},
		{
			"a place twice",
			`{"contactPhones":[{"number":"1","displayLocation":["footer","footer"]}]}`,
			`[{"number":"1","displayLocation":["footer"]}]`,
			`null`,
		},
		{"odd types", `{"contactPhones":"x","contactPhone":5}`, `[]`, `null`},
		{
			"odd entries",
			`{"contactPhones":[null,"x",{"number":5},{"number":"1","displayLocation":"contact"},
			{"number":"2","label":"x","displayLocation":["contact"]}]}`,
			`[{"number":"2","displayLocation":["contact"]}]`,
			`null`,
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := settingsOf(t, tt.fields)
			phones, _ := json.Marshal(s.ContactPhones)
			phones = regexp.MustCompile(`"\w+":null,|,"\w+":null`).ReplaceAll(phones, nil)
			phone, _ := json.Marshal(s.ContactPhone)

			if string(phones) != tt.phones || string(phone) != tt.phone {
				t.Errorf("got  %s and %s\nwant %s and %s", phones, phone, tt.phones, tt.phone)
			}
		})
	}
}

// TestMalformedSettingsAreLogged checks that the log names the place of each mistake.
func TestMalformedSettingsAreLogged(t *testing.T) {
	t.Parallel()

	for fields, want := range map[string]string{
		`{"contactPhones":"x"}`: `"field":"contactPhones"`,
		`{"contactEmail":7}`:    `"field":"contactEmail"`,
		`{"contactPhones":[7]}`: `"phone":0`,
		`{"contactPhones":[{"number":5,"displayLocation":["contact"]}]}`:      `"phone":0,"field":"number"`,
		`{"contactPhones":[{"number":"1"}]}`:                                  `"phone":0`,
		`{"contactPhones":[{"number":"1","displayLocation":"footer"}]}`:       `"field":"displayLocation"`,
		`{"contactPhones":[{"number":"1","displayLocation":["x","footer"]}]}`: `unknown place`,
		`{"logo":{"asset":{"url":[]}}}`:                                       `"in":"asset","field":"url"`,
	} {
		var log bytes.Buffer
		newSettings(&cms.Document{ID: SettingsType, Fields: json.RawMessage(fields)},
			zerolog.New(&log))

		if !strings.Contains(log.String(), want) ||
			!strings.Contains(log.String(), `"document":"siteSettings"`) {
			t.Errorf("%s: the log is %s", fields, log.String())
		}
	}
}

// Without a name the logo's alternative text names the company in PDFs and mails.
func TestNameOfTheCompany(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`{"title":"Lumen","logo":{"alt":"A lamp"}}`: "Lumen",
		`{"title":" ","logo":{"alt":"A lamp"}}`:     "A lamp",
		`{"logo":{"asset":{"url":"https://x"}}}`:    "",
		`{"logo":{"alt":7}}`:                        "",
	} {
		settings := newSettings(&cms.Document{ID: SettingsType, Fields: json.RawMessage(fields)}, zerolog.Nop())
		if settings.CompanyName != want {
			t.Errorf("%s: %q, want %q", fields, settings.CompanyName, want)
		}
	}
}

func TestOddSettingsBecomeNull(t *testing.T) {
	t.Parallel()
	odd := settingsOf(t, `{"contactEmail":7,"logo":"x","socialLinks":[1],"address":null,`+
		`"businessHours":{"monday":["9"],"friday":"9 - 13"}}`)
	friday := "9 - 13"
	want := &schema.SiteSettings{
		ContactPhones: []*schema.ContactPhoneNumber{},
		BusinessHours: &schema.BusinessHours{Friday: &friday},
	}
	if !reflect.DeepEqual(odd, want) {
		t.Errorf("got %+v", odd)
	}

	for _, fields := range []string{`{"logo":{"asset":null}}`, `{"logo":{"asset":{}}}`} {
		if s := settingsOf(t, fields); s.Logo == nil || s.Logo.Asset != nil && s.Logo.Asset.URL != nil {
			t.Errorf("%s: got %+v", fields, s.Logo)
		}
	}
}

func TestLabelsComeInEveryLocale(t *testing.T) {
	t.Parallel()
	label := ""
	for _, locale := range schema.AllLocale {
		label += `,"` + string(locale) + `":"word-` + string(locale) + `"`
	}

	phones := settingsOf(t, `{"contactPhones":[{"number":"1","label":{`+label[1:]+`},`+
		`"displayLocation":["contact"]}]}`).ContactPhones

	for _, locale := range schema.AllLocale {
		if got := phones[0].Label.In(locale); got == nil || *got != "word-"+string(locale) {
			t.Errorf("phones in settings.go or LocalizedString.In in schema/locale.go leaves out the label in %s", locale)
		}
	}
}
