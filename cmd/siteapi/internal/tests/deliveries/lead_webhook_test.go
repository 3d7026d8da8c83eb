package deliveries

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/upstream/faulttest"
)

// webhookStub receives the events of new leads.
type webhookStub struct {
	faulttest.Injector
	url string

	mu     sync.Mutex
	events []string // ids in order of arrival, including rejected events
}

func newWebhookStub(t *testing.T) *webhookStub {
	t.Helper()
	stub := &webhookStub{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stub.mu.Lock()
		stub.events = append(stub.events, strings.TrimPrefix(r.Header.Get("Webhook-Id"), "lead_"))
		stub.mu.Unlock()

		if f, ok := stub.Next(r); ok {
			f.Spoil(w, r, nil, nil)
		}
	}))

	t.Cleanup(s.Close)
	stub.url = s.URL
	return stub
}

// count returns how often the event of a lead arrived.
func (s *webhookStub) count(id string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.events {
		if got == id {
			n++
		}
	}
	return n
}

// A failed webhook event is retried like any delivery. Leads submitted before the webhook
// was set up are not announced, a lead in review only once it is released, and changes of a
// lead never.
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
	apptest.Eventually(t, "it is announced on demand", func() bool { return stub.count(before) == 1 })
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
