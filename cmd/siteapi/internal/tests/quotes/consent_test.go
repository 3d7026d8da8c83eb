package quotes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/upstream/faulttest"
)

// Consents are recorded with the lead, and a withdrawal reaches the CMS and the CRM.
func TestConsents(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, apptest.Quick)
	s.WriteContent(`[{"_id":"consent","_type":"consentText","language":"ro","purpose":"news","text":"Știri\r\npe e-mail."},` +
		`{"_id":"siteSettings","_type":"siteSettings"}]`)
	s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth)

	apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
		session := strings.ToLower(endpoint)
		input := apptest.NewLead(session, `"consents": [
			{"purpose": "news", "given": false},
			{"purpose": "news", "given": true, "text": " Știri\r\npe e-mail. "},
			{"purpose": "terms", "given": true, "text": "Terms of a stranger"}]`)
		id := s.MustSubmit(endpoint, input)

		answers := func() string {
			text, err := json.Marshal(s.ShowLead(id).Consents)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
		if text := answers(); text != `[{"purpose":"news","given":true,"text":"Știri\npe e-mail.","siteWording":true},`+
			`{"purpose":"terms","given":true,"text":"Terms of a stranger","siteWording":false}]` {
			t.Errorf("the lead has %s", text)
		}

		holds := func(folder, want string) func() bool {
			return func() bool {
				for _, name := range s.Files(folder) {
					data, err := os.ReadFile(filepath.Join(s.DataDir, folder, name))
					if err == nil && strings.Contains(string(data), session+"@") && strings.Contains(string(data), want) {
						return true
					}
				}
				return false
			}
		}
		apptest.Eventually(t, "the CMS has the consents", holds("cms", "Terms of a stranger"))
		apptest.Eventually(t, "the CRM has the consents", holds("crm", "news: given; terms: given, not to the site's wording"))

		out, err := s.Command("leads", "withdraw", id, "--purpose", "news")
		if err != nil || !strings.HasPrefix(strings.Join(strings.Fields(out), " "), "leads 1 ") {
			t.Errorf("withdrawing: %v %s", err, out)
		}
		apptest.Eventually(t, "the CMS has the withdrawal", holds("cms", "withdrawnAt"))
		apptest.Eventually(t, "the CRM has the withdrawal", holds("crm", "news: withdrawn "+time.Now().UTC().Format(time.DateOnly)))
		if _, err := s.Command("leads", "withdraw", session+"@example.com", "--purpose", "news"); err == nil {
			t.Error("a consent was withdrawn twice")
		}

		for field, consents := range map[string]any{
			"consents":            []any{object{}, object{}, object{}, object{}},
			"consents[0].purpose": []any{object{"purpose": "A b", "given": true}},
			"consents[0].given":   []any{object{"purpose": "a"}},
			"consents[0].text":    []any{object{"purpose": "a", "given": true, "text": strings.Repeat("a", 1001)}},
		} {
			input["consents"] = consents
			if got := s.SubmitThrough(endpoint, input); got.Fields[field] == "" {
				t.Errorf("%s: %s", field, got)
			}
		}
	})
}

// While the CMS hangs, wordings are compared with the latest known content.
func TestConsentsDoNotWaitForTheCMS(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	err := stubs.CMS.Replace(json.RawMessage(
		`{"_id":"consent","_type":"consentText","language":"ro","purpose":"news","text":"Știri"}`))
	must(t, err)
	s := apptest.Start(t, stubs.Env("CMS_WATCH=off")...)
	submit := func(session string) string {
		return s.Submit(session, `"consents": [{"purpose": "news", "given": true, "text": "Știri"}]`)
	}
	attempt := 0
	apptest.Eventually(t, "the content is known", func() bool {
		attempt++
		return s.ShowLead(submit("known-" + strconv.Itoa(attempt))).Consents[0].SiteWording
	})

	stubs.CMS.Fail(faulttest.Of(faulttest.Hang).On("query").Times(-1))
	s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth)
	id := submit("hanging")
	if s.Log.Has("cannot fetch content from the CMS") {
		t.Error("the lead was stored only after the request to the CMS had failed")
	}
	if !s.ShowLead(id).Consents[0].SiteWording {
		t.Error("the wording was not compared with the latest known content")
	}
}

// TRACK_CONTACT decides whether contact hints are stored, whatever the client sends.
func TestTrackContact(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string][2]bool{ // without and with the consent
		"on":      {true, true},
		"consent": {false, true},
		"off":     {false, false},
	} {
		s := apptest.Start(t, "TRACK_CONTACT="+setting)
		apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
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
				if got := s.TrackThrough(endpoint, input); got.Data["success"] != true {
					t.Error(got)
				}
				stored, err := s.App.Data.Store.Session(t.Context(), session)
				if err != nil || (stored.Hints.Email != "") != want[i] ||
					(stored.Hints.Consent != "") != (want[i] && i == 1) ||
					stored.Hints.Agreed != (want[i] && i == 1) {
					t.Errorf("%s: %s stores %+v (%v)", setting, session, stored.Hints, err)
				}
			}
		})
	}
}
