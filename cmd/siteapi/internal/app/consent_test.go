package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream/faulttest"
)

// TestConsents: what was agreed to is recorded with the lead, and a withdrawal reaches the
// CMS and the CRM.
func TestConsents(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.writeContent(`[{"_id":"consent","_type":"consentText","language":"ro","purpose":"news","text":"Știri\r\npe e-mail."},` +
		`{"_id":"siteSettings","_type":"siteSettings"}]`)
	s.do("POST", "/api/cache/clear?all=true", "", cacheAuth)

	bothEndpoints(t, func(t *testing.T, endpoint string) {
		session := strings.ToLower(endpoint)
		input := newLead(session)
		input["consents"] = []any{
			object{"purpose": "news", "given": false},
			object{"purpose": "news", "given": true, "text": " Știri\r\npe e-mail. "},
			object{"purpose": "terms", "given": true, "text": "Terms of a stranger"},
		}
		got := s.through(endpoint, "submitQuote", object{"input": input})
		id, _ := got.data["submissionId"].(string)
		if id == "" {
			t.Fatal(got.raw)
		}

		answers := func() string {
			text, err := json.Marshal(s.shown(id).Consents)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
		if text := answers(); text != `[{"purpose":"news","given":true,"text":"Știri\npe e-mail.","siteWording":true,`+
			`"withdrawnAt":null},{"purpose":"terms","given":true,"text":"Terms of a stranger","siteWording":false,`+
			`"withdrawnAt":null}]` {
			t.Errorf("the lead has %s", text)
		}

		holds := func(folder, want string) func() bool {
			return func() bool {
				for _, name := range s.files(folder) {
					data, err := os.ReadFile(filepath.Join(s.env["DATA_DIR"], folder, name))
					if err == nil && strings.Contains(string(data), session+"@") && strings.Contains(string(data), want) {
						return true
					}
				}
				return false
			}
		}
		eventually(t, "the CMS has the consents", holds("cms", "Terms of a stranger"))
		eventually(t, "the CRM has the consents", holds("crm", "news: given; terms: given, not to"))

		if out, err := s.siteapi("leads", "withdraw", id, "--purpose", "news"); err != nil || !strings.Contains(out, "withdrawn in 1 lead") {
			t.Errorf("withdrawing: %v %s", err, out)
		}
		eventually(t, "the CMS is told", holds("cms", "withdrawnAt"))
		eventually(t, "the CRM is told", holds("crm", "news: withdrawn "+time.Now().UTC().Format(time.DateOnly)))
		if _, err := s.siteapi("leads", "withdraw", session+"@example.com", "--purpose", "news"); err == nil {
			t.Error("a consent was withdrawn twice")
		}

		refused := newLead(session + "-refused")
		refused["consents"] = []any{object{"purpose": "news", "given": false}}
		if got := s.through(endpoint, "submitQuote", object{"input": refused}); got.data == nil {
			t.Fatal(got.raw)
		}
		if out, err := s.siteapi("leads", "withdraw", session+"-refused@example.com", "--purpose", "news"); err == nil {
			t.Errorf("a consent that was not given is withdrawn: %s", out)
		}

		for field, consents := range map[string]any{
			"consents":            []any{object{}, object{}, object{}, object{}},
			"consents[0].purpose": []any{object{"purpose": "A b", "given": true}},
			"consents[0].given":   []any{object{"purpose": "a"}},
			"consents[0].text":    []any{object{"purpose": "a", "given": true, "text": strings.Repeat("a", 1001)}},
		} {
			input["consents"] = consents
			if got := s.through(endpoint, "submitQuote", object{"input": input}); got.fields[field] == "" {
				t.Errorf("%s: %s", field, got.raw)
			}
		}
	})
}

// TestConsentsDoNotWaitForTheCMS: where it hangs, wordings are compared with the latest
// content that is known.
func TestConsentsDoNotWaitForTheCMS(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	err := stubs.cms.Replace(json.RawMessage(
		`{"_id":"consent","_type":"consentText","language":"ro","purpose":"news","text":"Știri"}`))
	if err != nil {
		t.Fatal(err)
	}
	s := startService(t, stubs.env(map[string]string{"CMS_WATCH": "off"}))
	submit := func(session string) string {
		t.Helper()
		input := newLead(session)
		input["consents"] = []any{object{"purpose": "news", "given": true, "text": "Știri"}}
		got := s.through("REST", "submitQuote", object{"input": input})
		id, _ := got.data["submissionId"].(string)
		if id == "" {
			t.Fatal(got.raw)
		}
		return id
	}
	attempt := 0
	eventually(t, "the content is known", func() bool {
		attempt++
		return s.shown(submit("known-" + strconv.Itoa(attempt))).Consents[0].SiteWording
	})

	stubs.cms.Fail(faulttest.Of(faulttest.Hang).On("query").Times(-1))
	s.do("POST", "/api/cache/clear?all=true", "", cacheAuth)
	id := submit("hanging")
	if strings.Contains(s.log.String(), "fetching content from the CMS") {
		t.Error("the lead was stored after the CMS had failed to answer")
	}
	if !s.shown(id).Consents[0].SiteWording {
		t.Error("the wording is not compared with the latest content")
	}
}

// TestTrackContact: contact hints are kept as the setting says, whatever the client sends.
func TestTrackContact(t *testing.T) {
	t.Parallel()
	for setting, kept := range map[string][2]bool{ // without and with the consent
		"on":      {true, true},
		"consent": {false, true},
		"off":     {false, false},
	} {
		s := startService(t, map[string]string{"TRACK_CONTACT": setting})
		bothEndpoints(t, func(t *testing.T, endpoint string) {
			for i, consents := range []any{
				[]any{
					object{"purpose": "save_progress", "given": true},
					object{"purpose": "save_progress", "given": false},
					object{"purpose": "news", "given": true}, nil, 7,
				},
				[]any{object{"purpose": "save_progress", "given": true, "text": "Keep it"}},
			} {
				session := endpoint + "-" + []string{"without", "with"}[i]
				input := object{
					"sessionId": session,
					"formData":  object{"email": "ana@example.com"},
					"consents":  consents,
				}
				if got := s.through(endpoint, "trackQuote", object{"input": input}); got.data["success"] != true {
					t.Error(got.raw)
				}
				stored, err := s.app.data.Quotes.Session(t.Context(), session)
				if err != nil || (stored.Hints.Email != "") != kept[i] ||
					(stored.Hints.Consent != "") != (kept[i] && i == 1) ||
					stored.Hints.Agreed != (kept[i] && i == 1) {
					t.Errorf("%s: %s keeps %+v (%v)", setting, session, stored.Hints, err)
				}
			}
		})
	}
}
