package quotes

import (
	"encoding/json"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
)

// Attribution from a client is truncated and cleaned, but never rejected.
func TestAttribution(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	for _, endpoint := range apptest.Endpoints {
		session := "from-" + endpoint
		for _, sent := range []string{
			`{"source": " news\u202eletter ", "medium": 7, "campaign": "` + strings.Repeat("c", 300) + `",
				"term": "ana@example.com", "content": "ana%2540example.com",
				"referrer": "https://news.example/a?email=ana@example.com#b", "landingPage": "https://ana@site.example/"}`,
			`{"source": "ads", "campaign": "https://x.example/?q=ana@example.com"}`,
			`{"source": "", "referrer": "https://other.example"}`,
			`"a text"`, `[{}]`, `7`, `null`,
		} {
			input := object{"sessionId": session, "attribution": json.RawMessage(sent)}
			if got := s.TrackThrough(endpoint, input); got.Data["success"] != true {
				t.Errorf("%s: %s", sent, got)
			}
		}

		input := apptest.ValidLead(session)
		input["attribution"] = object{"medium": "social"}
		id := s.MustSubmit(endpoint, input)
		l := s.ShowLead(id)
		got, err := json.Marshal([]any{l.FirstAttribution, l.Attribution})
		want := `[{"source":"news letter","campaign":"` + strings.Repeat("c", 200) + `","referrer":"https://news.example/a"},` +
			`{"source":"ads","campaign":"https://x.example/"}]`
		if err != nil || string(got) != want {
			t.Errorf("the attributions are %s\nwant %s", got, want)
		}

		// The visitor submits again, from another source.
		input["attribution"] = object{"source": "other"}
		if s.MustSubmit(endpoint, input) != id {
			t.Error("a repetition from another source created another lead")
		}
	}
}

// Each value of an attribution may have 200 characters, however long the others are.
func TestLongAttribution(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	long := strings.Repeat("ș", 200)
	from := lead.Attribution{
		Source: long, Medium: long, Campaign: long, Term: long, Content: long,
		Referrer: "https://a.example/" + long[:2*182], LandingPage: "https://b.example/" + long[:2*182],
	}

	for _, endpoint := range apptest.Endpoints {
		input := apptest.NewLead("long-" + endpoint)
		input["attribution"] = from
		id := s.SubmitThrough(endpoint, input).ID()
		if l := s.ShowLead(id); *l.Attribution != from || *l.FirstAttribution != from {
			t.Errorf("the attribution is %+v, the first one %+v", l.Attribution, l.FirstAttribution)
		}
	}
}

func TestMessageOfALead(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	for _, endpoint := range apptest.Endpoints {
		submit := func(message any) apptest.Outcome {
			input := apptest.ValidLead("m" + endpoint)
			input["message"] = message
			return s.SubmitThrough(endpoint, input)
		}

		for _, tt := range []struct {
			sent any
			want string // empty if the lead has no message
		}{
			{" Hello,\r\n\tȘtefania\r\r=1+1 <b>&\u2028\u202e ", "Hello,\n Ștefania\n\n=1+1 <b>&"},
			{strings.Repeat("😀", 2000), strings.Repeat("😀", 2000)}, // one word, too long for an index
			{strings.Repeat("word ", 400), strings.TrimSpace(strings.Repeat("word ", 400))},
			{" \n\u200b", ""},
			{"\x00", ""},
			{"bell\x07", "bell"},
			{nil, ""},
		} {
			id := submit(tt.sent).ID()
			if got := s.ShowLead(id).Message; tt.want != "" && (got == nil || *got != tt.want) || tt.want == "" && got != nil {
				t.Errorf("%.40q is stored as %v", tt.sent, got)
			}
		}

		for _, sent := range []any{strings.Repeat("a", 2001), 7, []any{"a", "b"}} {
			if got := submit(sent); got.Code != "BAD_USER_INPUT" || got.Fields["message"] == "" {
				t.Errorf("%.40q: %s", sent, got)
			}
		}
	}

	if out, err := s.Command("leads", "list", "--search", "stefania hello"); !strings.Contains(out, "Ionescu") {
		t.Errorf("a lead is not found by its message: %v %s", err, out)
	}
}
