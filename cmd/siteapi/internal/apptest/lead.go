package apptest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/schema"
)

// SubmitPriced submits a quote request and returns its id and the lead as it is stored.
func (s *Service) SubmitPriced(
	endpoint, session string, selections object, low, high float64, currency, revision string,
) (string, lead.Lead) {
	s.T.Helper()
	input := ValidLead(session + endpoint)
	estimate := object{"min": low, "max": high, "currency": currency}
	if revision != "" {
		estimate["revision"] = revision
	}
	input["selections"], input["estimate"], input["locale"] = selections, estimate, "en"
	input["contact"].(object)["email"] = strings.ToLower(session+endpoint) + "@example.com"
	s.Through("REST", "trackQuote", object{"input": object{"sessionId": session + endpoint}})

	got := s.Through(endpoint, "submitQuote", object{"input": input})
	id, _ := got.Data["submissionId"].(string)
	stored, err := s.App.Data.Quotes.Lead(s.T.Context(), id)
	if err != nil {
		s.T.Fatalf("%s: %v", got.Raw, err)
	}
	return id, stored
}

// receivedLeads are the leads that a webhook was told of, by their ids.
type receivedLeads struct {
	sync.Mutex
	Events map[string]receivedLead
}

// receivedLead is what an event says of the price. What was sent is beside it, as
// sentEstimate.
type receivedLead struct {
	Data struct {
		ID          string
		Estimate    lead.Estimate
		PriceStatus lead.PriceStatus
	}
}

// NewLeadReceiver returns a receiver of the webhook of new leads, and what it received.
func NewLeadReceiver(t *testing.T) (address string, received *receivedLeads) {
	t.Helper()
	received = &receivedLeads{Events: map[string]receivedLead{}}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var event receivedLead
		if err := json.Unmarshal(body, &event); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		received.Lock()
		defer received.Unlock()
		received.Events[event.Data.ID] = event
	}))
	t.Cleanup(s.Close)
	return s.URL, received
}

// ValidLead returns a lead with every field.
func ValidLead(session string) object {
	return object{
		"sessionId": session,
		"contact": object{
			"firstName": "Ana",
			"lastName":  "Ionescu",
			"email":     "ana@example.com",
			"phone":     "+40 721 000 000",
			"company":   "Țară SRL",
		},
		"selections": object{
			"projectType": "web-app",
			"features":    []any{"blog", "shop"},
			"complexity":  "medium",
			"timeline":    "3-months",
		},
		"estimate": object{"min": 15100, "max": 20400.5, "currency": "EUR"},
		"locale":   "ro",
	}
}

// LeadSecret is the value of LEAD_WEBHOOK_SECRET.
const LeadSecret = "whsec_bGVhZGxlYWRsZWFkbGVhZGxlYWRsZWFk"

// Shown returns a lead as `siteapi leads show` prints it.
func (s *Service) Shown(id string) (l schema.Lead) {
	s.T.Helper()
	out, err := s.Command("leads", "show", "--json", id)
	if err != nil || json.Unmarshal([]byte(out), &l) != nil {
		s.T.Fatalf("showing a lead: %v %s", err, out)
	}
	return l
}
