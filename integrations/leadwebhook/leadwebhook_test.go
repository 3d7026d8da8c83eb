package leadwebhook_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/leadwebhook"
	"siteapi/integrations/upstream"
	"siteapi/integrations/upstream/faulttest"
)

const (
	oldSecret = "whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk"
	newSecret = "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3"
)

// received is a request to the stub.
type received struct {
	path   string
	header http.Header
	body   string
}

// receiver starts a stub with some faults. It returns the stub's address and the requests
// that the stub has received.
func receiver(t *testing.T, faults ...faulttest.Fault) (string, chan received) {
	t.Helper()

	in, got := &faulttest.Injector{}, make(chan received, 10)
	in.Fail(faults...)

	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{r.URL.RequestURI(), r.Header, string(body)}

		if f, ok := in.Next(r); ok {
			w.Header().Set("Location", "/elsewhere")
			f.Spoil(w, r, []byte(`{"ok":true}`), []byte(`{}`))
		}
	}))

	t.Cleanup(s.Close)
	return s.URL, got
}

func webhook(t *testing.T, o leadwebhook.Options) *leadwebhook.Webhook {
	t.Helper()
	h, err := leadwebhook.New(o)
	must(t, err)
	return h
}

func newLead() leadwebhook.Announcement {
	return leadwebhook.Announcement{
		Reference: "LR4LB5AK",
		PDFURL:    "https://example.com/api/quote/pdf?id=lr4lb5ak9",
		QuoteURL:  "https://example.com/api/quote/page?id=lr4lb5ak9",
		Lead: lead.Lead{
			ID:          "lr4lb5ak9",
			SessionID:   "s",
			Trace:       "00-11",
			SubmittedAt: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC),
			Locale:      "ro",
			Contact: lead.Contact{
				FirstName: "Ana",
				LastName:  "<!channel> & Co",
				Email:     "ana@example.com",
				Phone:     "+40 721 000 000",
			},
			Selections: lead.Selections{ProjectType: "web-app", Features: []string{"blog"}},
			Estimate:   lead.Estimate{Min: 9000, Max: 14000, Currency: "EUR"},
		},
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()

	address, got := receiver(t, faulttest.Respond(500))
	h := webhook(t, leadwebhook.Options{
		URL:     address + "/hooks/a%2Fb?sig=x;y=1&z=%zz&&sig=a+b",
		Secrets: []string{newSecret, oldSecret},
	})

	if err := h.Announce(t.Context(), 1, newLead()); upstream.KindOf(err) != upstream.Unavailable {
		t.Fatal(err)
	}
	must(t, h.Announce(t.Context(), 1, newLead()))

	first, again := <-got, <-got
	if id := first.header.Get("Webhook-Id"); id != "lead_lr4lb5ak9.created.1" ||
		again.header.Get("Webhook-Id") != id || again.body != first.body {
		t.Errorf("the repeated event differs: %v %s, %v %s",
			first.header, first.body, again.header, again.body)
	}

	if first.path != "/hooks/a%2Fb?sig=x;y=1&z=%zz&&sig=a+b" ||
		!strings.HasPrefix(first.header.Get("Content-Type"), "application/json") {
		t.Errorf("sent to %s with %v", first.path, first.header)
	}

	for _, secret := range []string{oldSecret, newSecret} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			err = verifier.Verify([]byte(first.body), first.header)
		}
		if err != nil {
			t.Error(err)
		}
	}

	var event struct {
		Type      string
		Timestamp time.Time
		Data      map[string]any
	}
	must(t, json.Unmarshal([]byte(first.body), &event))

	if event.Type != "lead.created" || !event.Timestamp.Equal(newLead().SubmittedAt) ||
		event.Data["reference"] != "LR4LB5AK" || event.Data["trace"] != nil {
		t.Errorf("event %s", first.body)
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	address, got := receiver(t)
	h := webhook(t, leadwebhook.Options{URL: address, Slack: true, TimeZone: time.FixedZone("", 2*60*60)})

	// The name has a line separator, and a character that reverses the text after it.
	odd, unpriced, withdrawn := newLead(), newLead(), newLead()
	odd.Contact.FirstName, odd.Estimate.Min = "*Ana*\u2028_Maria_\u202e", 0.4
	unpriced.Estimate.Min, unpriced.Estimate.Max = 0, 0
	at := time.Date(2026, 12, 31, 22, 0, 0, 0, time.UTC)
	withdrawn.Consents = []lead.Consent{{Purpose: "news", Given: true, WithdrawnAt: &at}}
	for _, l := range []leadwebhook.Announcement{odd, unpriced, withdrawn} {
		must(t, h.Announce(t.Context(), 1, l))
	}

	want := `{"mrkdwn":false,"text":"New lead LR4LB5AK: ∗Ana∗ ˍMariaˍ &lt;!channel&gt; &amp; Co, ` +
		`ana@example.com, +40 721 000 000\nweb-app, blog, 0.4 to 14000 EUR\n` +
		`https://example.com/api/quote/page?id=lr4lb5ak9"}`

	message := <-got
	if plain := strings.ReplaceAll(message.body, `\u0026`, "&"); plain != want ||
		message.header.Get("Webhook-Id") != "" {
		t.Errorf("sent %s", plain)
	}
	for _, want := range []string{`blog, to be agreed\n`, `news: withdrawn 2027-01-01\n`} {
		if text := (<-got).body; !strings.Contains(text, want) {
			t.Errorf("sent %s, want %s", text, want)
		}
	}
}

// TestMessageHasEveryField fails if a field of a lead does not reach Slack.
func TestMessageHasEveryField(t *testing.T) {
	t.Parallel()
	address, got := receiver(t)
	message := func(l *lead.Lead) string {
		l.Message += ", first line\n<!channel> second"
		a := leadwebhook.Announcement{Lead: *l, Reference: l.ID, PDFURL: "/", QuoteURL: "/"}
		must(t, webhook(t, leadwebhook.Options{URL: address, Slack: true}).Announce(t.Context(), 1, a))
		return (<-got).body
	}

	complete := message(leadtest.Filled())
	for _, path := range leadtest.Fields() {
		switch path {
		case "sessionId", "submittedAt", "locale", "selections.complexity", "selections.timeline",
			"consents.given", "consents.text", "consents.siteWording", "consents.withdrawnAt":
			// They are shown in the inbox.
		default:
			if message(leadtest.Without(path)) == complete {
				t.Errorf("message.txt leaves out %s: show it, or exclude it in this test", path)
			}
		}
	}
	if !strings.Contains(complete, `first line \u0026lt;!channel\u0026gt; second`) {
		t.Errorf("the message is not escaped, or not on one line: %s", complete)
	}
}

// TestWorkIsNotSent checks that neither an event nor a message contains the operators' work.
func TestWorkIsNotSent(t *testing.T) {
	t.Parallel()
	address, got := receiver(t)
	for _, o := range []leadwebhook.Options{{Secrets: []string{newSecret}}, {Slack: true}} {
		o.URL = address
		for _, l := range []*lead.Lead{leadtest.BeforeWork(), leadtest.Filled()} {
			must(t, webhook(t, o).Announce(t.Context(), 1, leadwebhook.Announcement{Lead: *l}))
		}
		if before, after := (<-got).body, (<-got).body; before != after {
			t.Errorf("it contains the operators' work:\n%s\n%s", after, before)
		}
	}
}

// TestEventInTheManual checks that the example of an event has all fields of an event.
func TestEventInTheManual(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../cmd/siteapi/README.md")
	must(t, err)
	_, example, _ := strings.Cut(string(manual), "```json\n{\"type\":\"lead.created\"")
	example, _, _ = strings.Cut(example, "```")

	var event struct {
		Type      string
		Timestamp time.Time
		Data      leadwebhook.Announcement
	}
	decoder := json.NewDecoder(strings.NewReader(`{"type":"lead.created"` + example))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&event)
	missing := leadtest.Missing(&event.Data.Lead)
	if err != nil || len(missing) > 0 || event.Data.PDFURL == "" || event.Data.QuoteURL == "" {
		t.Errorf("the example of an event in cmd/siteapi/README.md: %v, without %q", err, missing)
	}
}

// TestEventInOpenAPI checks that the description of the event has all fields of an event.
func TestEventInOpenAPI(t *testing.T) {
	t.Parallel()
	l := leadtest.Filled()
	l.InReview, l.Rejected = false, false // such leads are not announced
	address, got := receiver(t)
	must(t, webhook(t, leadwebhook.Options{URL: address, Secrets: []string{newSecret}}).
		Announce(t.Context(), 1, leadwebhook.Announcement{PDFURL: "p", QuoteURL: "q", Reference: "r", Lead: *l}))
	var event struct{ Data any }
	must(t, json.Unmarshal([]byte((<-got).body), &event))

	type schema struct {
		Properties           map[string]*schema
		AdditionalProperties *schema
		Items                *schema
	}
	var api struct {
		Components struct{ Schemas map[string]*schema }
	}
	file, err := os.ReadFile("../../rest/testdata/openapi.json")
	must(t, err)
	must(t, json.Unmarshal(file, &api))

	var check func(path string, value any, described *schema)
	check = func(path string, value any, described *schema) {
		if described == nil {
			t.Errorf("LeadCreated in rest/openapi.json.tmpl lacks %s", path)
			return
		}
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				check(path+"[]", item, described.Items)
			}
		case map[string]any:
			for name, below := range value {
				property := described.Properties[name]
				if property == nil {
					property = described.AdditionalProperties
				}
				check(path+"."+name, below, property)
			}
		}
	}
	check("data", event.Data, api.Components.Schemas["LeadCreated"])
}

// TestFaults checks the kind of each fault, which decides whether and when the queue retries.
func TestFaults(t *testing.T) {
	t.Parallel()
	for fault, kind := range map[faulttest.Fault]upstream.Kind{ // empty if the lead was announced
		faulttest.Respond(400):                 upstream.Rejected,
		faulttest.Respond(404):                 upstream.Refused,
		faulttest.Respond(409):                 upstream.Unavailable,
		faulttest.Respond(429).RetryAfter("7"): upstream.Limited,
		faulttest.Of(faulttest.Reset):          upstream.Unavailable,
		faulttest.Of(faulttest.Truncated):      "",
		faulttest.Of(faulttest.Oversized):      "",
	} {
		address, got := receiver(t, fault)
		err := webhook(t, leadwebhook.Options{URL: address + "/secret", Slack: true}).Announce(t.Context(), 1, newLead())
		e, failed := errors.AsType[*upstream.Error](err)
		if failed != (kind != "") || failed && e.Kind != kind || len(got) != 1 {
			t.Errorf("%s: %d requests: %v, want kind %q", fault, len(got), err, kind)
		}
		if failed && (strings.Contains(e.Error(), "secret") || strings.Contains(e.Error(), "Ana")) {
			t.Errorf("the error has private values: %v", e)
		}
	}
}

// TestPrivateNetworks checks that a name that resolves to a private network is not called.
// Only the IP address itself may be configured.
func TestPrivateNetworks(t *testing.T) {
	t.Parallel()
	address, got := receiver(t)
	named := strings.Replace(address, "127.0.0.1", "localhost", 1)
	err := webhook(t, leadwebhook.Options{URL: named}).Announce(t.Context(), 1, newLead())
	if err == nil || !strings.Contains(err.Error(), "is not public") || len(got) != 0 {
		t.Errorf("%d requests: %v", len(got), err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
