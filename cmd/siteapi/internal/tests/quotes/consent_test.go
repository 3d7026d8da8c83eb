package quotes

import (
	"encoding/json"
	"fmt"
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
	s.Publish(`[{"_id":"consent","_type":"consentText","language":"ro","purpose":"news","text":"Știri\r\npe e-mail."},` +
		`{"_id":"siteSettings","_type":"siteSettings"}]`)

	for _, endpoint := range apptest.Endpoints {
		input := apptest.NewLead(endpoint, `"consents": [
			{"purpose": "news", "given": false},
			{"purpose": "news", "given": true, "text": " Știri\r\npe e-mail. "},
			{"purpose": "terms", "given": true, "text": "Terms of a stranger"}]`)
		id := s.MustSubmit(endpoint, input)

		text, err := json.Marshal(s.ShowLead(id).Consents)
		if err != nil || string(text) != `[{"purpose":"news","given":true,"text":"Știri\npe e-mail.","siteWording":true},`+
			`{"purpose":"terms","given":true,"text":"Terms of a stranger","siteWording":false}]` {
			t.Errorf("the lead has %s", text)
		}

		has := func(system, text string) {
			t.Helper()
			apptest.Eventually(t, "the "+system+" has "+text, func() bool {
				return strings.Contains(delivered(s, system, id), text)
			})
		}
		has("cms", "Terms of a stranger")
		has("crm", "news: given; terms: given, not to the site's wording")

		s.Prints("leads withdraw --purpose news "+id, "leads", "1")
		has("cms", "withdrawnAt")
		has("crm", "news: withdrawn "+time.Now().UTC().Format(time.DateOnly))
		if _, err := s.Command("leads", "withdraw", id, "--purpose", "news"); err == nil {
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
	}
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
	s.InvalidateAll()
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
		for _, endpoint := range apptest.Endpoints {
			for i, consents := range []any{
				[]any{
					object{"purpose": "save_progress", "given": true},
					object{"purpose": "save_progress", "given": false},
					object{"purpose": "news", "given": true}, nil, 7,
				},
				[]any{object{"purpose": "save_progress", "given": true, "text": "Keep it"}},
			} {
				id := fmt.Sprint(endpoint, i)
				s.TrackThrough(endpoint, object{"sessionId": id, "formData": object{"email": "ana@example.com"}, "consents": consents})
				hints := session(s, id).Hints
				agreed := want[i] && i == 1
				if (hints.Email != "") != want[i] || (hints.Consent != "") != agreed || hints.Agreed != agreed {
					t.Errorf("%s: %s stores %+v", setting, id, hints)
				}
			}
		}
	}
}
