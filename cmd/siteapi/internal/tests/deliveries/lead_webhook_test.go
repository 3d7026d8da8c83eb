package deliveries

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream/faulttest"
)

// webhookStub receives the events of leads.
type webhookStub struct {
	faulttest.Injector
	url string

	mu     sync.Mutex
	events []event // in order of arrival, including rejected ones
}

// event is an event as it arrived, or a message to Slack, which has only a body.
type event struct{ id, body string }

func newWebhookStub(t *testing.T) *webhookStub {
	t.Helper()
	stub := &webhookStub{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		stub.mu.Lock()
		stub.events = append(stub.events, event{r.Header.Get("Webhook-Id"), string(body)})
		stub.mu.Unlock()

		if f, ok := stub.Next(r); ok {
			f.Spoil(w, r, nil, nil)
		}
	}))

	t.Cleanup(s.Close)
	stub.url = s.URL
	return stub
}

// arrived returns what has arrived with an id, or without one if it is empty.
func (s *webhookStub) arrived(id string) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.events {
		if got.id == id {
			list = append(list, got.body)
		}
	}
	return list
}

// count returns how often the creation of a lead arrived.
func (s *webhookStub) count(id string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.events {
		if strings.HasPrefix(got.id, "lead_"+id+".created.") {
			n++
		}
	}
	return n
}

// one waits until exactly one event with an id has arrived.
func (s *webhookStub) one(t *testing.T, id string) {
	t.Helper()
	apptest.Eventually(t, "the event "+id+" arrives", func() bool { return len(s.arrived(id)) > 0 })
	if n := len(s.arrived(id)); n > 1 {
		t.Errorf("%s arrived %d times", id, n)
	}
}

// A failed webhook event is retried like any delivery. Leads submitted before the webhook
// was set up are not announced, and a lead in review only once it is released. What is sent
// again on request has another id than before.
func TestNewLeadIsAnnounced(t *testing.T) {
	t.Parallel()
	stub := newWebhookStub(t)
	s := apptest.Start(t, apptest.Quick)
	before := s.Submit("before")

	s.Restart("LEAD_WEBHOOK_URL="+stub.url, "LEAD_WEBHOOK_SECRET="+apptest.LeadSecret)

	stub.Fail(faulttest.Respond(503))
	outage := s.Submit("outage", `"consents": [{"purpose": "news", "given": true}]`)
	suspect := s.Submit("suspect", `"website": "https://spam.example"`)
	s.Reaches(outage, "webhook", "delivered")
	s.Prints("leads withdraw " + outage + " --purpose news")
	stub.one(t, "lead_"+outage+".consent_withdrawn.1") // else it may be refused instead of the next lead
	stub.Fail(faulttest.Respond(400))
	rejected := s.Submit("rejected")
	s.Reaches(rejected, "webhook", "failed")
	s.Prints("deliveries retry --all --target webhook")
	apptest.Eventually(t, "it is announced on retry", func() bool { return stub.count(rejected) == 2 })
	if n, review := stub.count(outage), stub.count(suspect); n != 2 || review != 0 {
		t.Errorf("sent %d times, want 2, and the lead in review %d times", n, review)
	}
	s.Prints("leads release " + suspect)
	apptest.Eventually(t, "the released lead is announced", func() bool { return stub.count(suspect) == 1 })

	if d, ok := s.Deliveries(before)["webhook"]; ok || stub.count(before) != 0 {
		t.Errorf("the lead submitted before the webhook was set up has a delivery: %+v", d)
	}

	s.Prints("deliveries resend " + before + " --target webhook")
	for range 2 { // the second one after the first has arrived
		s.Reaches(before, "webhook", "delivered")
		s.Prints("deliveries resend " + before + " --target webhook")
	}
	for n := range 3 {
		stub.one(t, fmt.Sprintf("lead_%s.created.%d", before, n+1))
	}
}

// Whatever happens to an announced lead is an event with an id of its own, which has nothing
// of the person and is described in the OpenAPI document.
func TestLeadEvents(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		stub := newWebhookStub(t)
		s := apptest.Start(t, apptest.Quick, "DATABASE_URL="+database, "LEAD_WEBHOOK_URL="+stub.url,
			"LEAD_WEBHOOK_SECRET="+apptest.LeadSecret, "LEAD_WEBHOOK_EVENTS=lead.outcome,lead.corrected")
		id := s.Submit("announced", `"consents": [{"purpose": "news", "given": true}, {"purpose": "calls", "given": true}]`)
		reviewed := s.Submit("reviewed", `"contact": {"email": "other@example.com"}, "website": "https://spam.example"`)
		s.Reaches(id, "webhook", "delivered")
		s.Reaches(id, "visitor_mail", "delivered")

		stub.Fail(faulttest.Respond(503))
		s.Prints("leads withdraw " + id + " --purpose news")
		for _, of := range []string{id, reviewed} {
			if got := s.Query(`mutation { requestQuoteDeletion(id: "`+of+`") { changed } }`, nil); got.Has("errors") {
				t.Fatalf("asking for deletion: %s", got)
			}
		}
		s.Prints("leads outcome " + id + " won --amount 1200.5 --currency EUR")
		must(t, s.App.Data.Store.SetOutcome(t.Context(), id, lead.Outcome{At: time.Now()})) // cleared
		s.Prints("deliveries resend " + id + " --target visitor-mail --email ana.maria@example.com")
		s.Prints("leads withdraw " + id + " --purpose calls")
		stub.one(t, "lead_"+id+".corrected.1") // It is read when it is sent.
		s.Prints("leads erase --email ana.maria@example.com --yes --server "+s.Base, "WEBHOOK", "ANNOUNCED")
		s.Prints("leads erase --email other@example.com --yes --server " + s.Base) // it was never announced

		described := webhooksOf(t, s)
		for event, want := range map[string]string{
			"created.1":            `"email":"announced@example.com"`,
			"consent_withdrawn.1":  `"purpose":"news"`,
			"consent_withdrawn.2":  `"purpose":"calls"`,
			"deletion_requested.1": `"reference":"` + lead.Reference(id) + `"`,
			"outcome.1":            `"outcome":"WON","amount":1200.5,"currency":"EUR"`,
			"outcome.2":            `"reference":"` + lead.Reference(id) + `"}`,
			"corrected.1":          `"email":"ana.maria@example.com"`,
			"erased.1":             `{"id":"` + id + `","reference":"` + lead.Reference(id) + `"}`,
		} {
			arrived := func() []string { return stub.arrived("lead_" + id + "." + event) } // one of them twice
			apptest.Eventually(t, event+" arrives", func() bool { return len(arrived()) > 0 })
			body, kind := arrived()[0], strings.TrimRight(event, ".12")
			if !strings.Contains(body, want) || !strings.Contains(body, `"type":"lead.`+kind+`"`) {
				t.Errorf("%s is %s, want %s", event, body, want)
			}
			if kind != "created" && (strings.Contains(body, "announced@") || strings.Contains(body, "Ionescu")) {
				t.Errorf("%s names the person: %s", event, body)
			}
			wantDescribed(t, described["lead."+kind], body)
		}
		if len(described) != 6 || stub.count(reviewed) != 0 || len(stub.arrived("lead_"+reviewed+".erased.1")) != 0 {
			t.Errorf("%d events are described, and those of the lead in review arrived", len(described))
		}

		s.Prints("deliveries list --state delivered", "ERASED", lead.Reference(id), "CONSENT_WITHDRAWN")
	})
}

// webhooksOf returns the schemas of the events by their names.
func webhooksOf(t *testing.T, s *apptest.Service) map[string]map[string]any {
	t.Helper()
	var document map[string]any
	must(t, json.Unmarshal(s.Do("GET", "/api/openapi.json", "").Body, &document))
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)

	list := map[string]map[string]any{}
	for name, item := range document["webhooks"].(map[string]any) {
		post := item.(map[string]any)["post"].(map[string]any)
		content := post["requestBody"].(map[string]any)["content"].(map[string]any)
		event := content["application/json"].(map[string]any)["schema"].(map[string]any)
		properties := event["properties"].(map[string]any)
		ref := properties["data"].(map[string]any)["$ref"].(string)
		properties["data"] = schemas[path.Base(ref)]
		list[name] = event
	}
	return list
}

// wantDescribed checks that an event matches its schema, which has each of its fields.
func wantDescribed(t *testing.T, schema map[string]any, body string) {
	t.Helper()
	text, err := json.Marshal(closed(schema))
	must(t, err)
	var described jsonschema.Schema
	must(t, json.Unmarshal(text, &described))
	resolved, err := described.Resolve(nil)
	must(t, err)
	var event map[string]any
	must(t, json.Unmarshal([]byte(body), &event))
	if err := resolved.Validate(event); err != nil {
		t.Errorf("%v: %s", err, body)
	}
}

// closed forbids further fields in each object of a schema.
func closed(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, value := range object {
		object[name] = closed(value)
	}
	if object["type"] == "object" {
		object["additionalProperties"] = false
	}
	return object
}

// Slack gets a request for deletion, which a person has to answer, also of a lead that it
// was not sent, and no other event.
func TestEventsForSlack(t *testing.T) {
	t.Parallel()
	stub := newWebhookStub(t)
	s := apptest.Start(t, apptest.Quick, "LEAD_WEBHOOK_URL="+stub.url, "LEAD_WEBHOOK_FORMAT=slack",
		"LEAD_WEBHOOK_EVENTS=lead.outcome", "SITE_URL=https://site.example", "ADMIN_PAGE=on")
	id := s.Submit("slack", `"consents": [{"purpose": "news", "given": true}], "website": "https://spam.example"`)
	s.Query(`mutation { requestQuoteDeletion(id: "`+id+`") { changed } }`, nil)
	s.Prints("leads release " + id)
	s.Reaches(id, "webhook", "delivered")
	s.Prints("leads outcome " + id + " won")
	s.Prints("leads withdraw " + id + " --purpose news")

	// A receiver of events that got the lead before the change to Slack is not notified.
	must(t, s.App.Data.Store.NoteAnnounced(t.Context(), &lead.Lead{ID: id, Contact: lead.Contact{Email: "slack@example.com"}}))
	out, err := s.Command("leads", "erase", "--email", "slack@example.com", "--yes", "--server", s.Base)
	if err == nil || !strings.Contains(out, "or leads to Slack") {
		t.Errorf("the erasure prints %s, %v", out, err)
	}

	apptest.Eventually(t, "both messages arrive", func() bool { return len(stub.arrived("")) == 2 })
	list, err := s.App.Data.Store.ListDeliveries(t.Context(), store.DeliveryFilter{Leads: []string{id}})
	must(t, err)
	text := strings.Join(stub.arrived(""), "\n")
	if len(list) != 1 || !strings.Contains(text, "asks for the deletion of lead "+lead.Reference(id)) ||
		!strings.Contains(text, "https://site.example/admin#leads?search="+lead.Reference(id)+`"`) {
		t.Errorf("the messages are %s, the deliveries are %+v", text, list)
	}
}

// Deliveries that wait for a webhook fail when it is removed. `retry` sends them to the
// next webhook.
func TestWebhookRemoved(t *testing.T) {
	t.Parallel()
	stub := newWebhookStub(t)
	s := apptest.Start(t,
		"LEAD_WEBHOOK_URL=http://127.0.0.1:1",
		"LEAD_WEBHOOK_SECRET="+apptest.LeadSecret,
		apptest.Quick,
	)
	id := s.Submit("waits")

	s.Restart("LEAD_WEBHOOK_URL=")
	s.Reaches(id, "webhook", "failed")
	if out, err := s.Command("deliveries", "resend", id, "--target", "webhook"); err == nil {
		t.Errorf("resent without a webhook: %s", out)
	}

	s.Restart("LEAD_WEBHOOK_URL=" + stub.url)
	s.Prints("deliveries retry --all")
	apptest.Eventually(t, "it is announced", func() bool { return stub.count(id) == 1 })
}
