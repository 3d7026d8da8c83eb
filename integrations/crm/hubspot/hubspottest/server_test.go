package hubspottest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/crm/hubspot/hubspottest"
)

const contacts = "/crm/v3/objects/contacts"

// call sends a request with the server's token and returns status, header and body.
func call(t *testing.T, base, method, path, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+hubspottest.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(got)
}

func start(t *testing.T, o hubspottest.Options) *hubspottest.Server {
	t.Helper()
	s := hubspottest.New(o)
	t.Cleanup(s.Close)
	return s
}

// TestAnswers plays requests in order against an account with one contact, 101.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := start(t, hubspottest.Options{})
	s.Add(map[string]string{"email": "Ana@example.com", "phone": "1", "lifecyclestage": "lead"})
	s.AddSecondary("ana@example.com", "second@example.com")
	steps := []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", contacts + "/101", "", 200, `"id":"101"`},
		{"GET", contacts + "/101?properties=phone,company", "", 200, `"company":null`},
		{"GET", contacts + "/ANA%40Example.com?idProperty=email", "", 200, `"id":"101"`},
		{"GET", contacts + "/second@example.com?idProperty=email&properties=hs_additional_emails", "", 200, `"hs_additional_emails":"second@example.com"`},
		{"GET", contacts + "/nobody@example.com?idProperty=email", "", 404, `"category":"OBJECT_NOT_FOUND"`},
		{"GET", contacts + "?limit=1", "", 200, `"results":[{`},
		{"GET", "/crm/v9/objects/contacts", "", 404, "html"},
		{"POST", contacts, `{"properties":{"email":"ANA@example.com"}}`, 409, "Contact already exists. Existing ID: 101"},
		{"POST", contacts, `{"properties":{"email":"second@example.com"}}`, 409, "Existing ID: 101"},
		{"POST", contacts, `{"properties":{"email":"b@example.com","quote_min":"1"}}`, 400, `PROPERTY_DOESNT_EXIST`},
		{"POST", contacts, `{"properties":{"email":"b@example.com","phone":null}}`, 400, "is not a string"},
		{"POST", contacts, `{"properties":{"email":"b@example.com","phone":7}}`, 400, "is not a string"},
		{"POST", contacts, `{"properties":{"email":"not an address"}}`, 400, "INVALID_EMAIL"},
		{"POST", contacts, `{"properties":{"email":"b@example.com","hs_object_id":"7"}}`, 400, "READ_ONLY_VALUE"},
		{"POST", contacts, `{"properties":{}}`, 400, "VALIDATION_ERROR"},
		{"POST", contacts, `{`, 400, "VALIDATION_ERROR"},
		{"PATCH", contacts + "/999", `{"properties":{"phone":"2"}}`, 404, "resource not found"},
		{"PATCH", contacts + "/101", `{"properties":{"phone":""}}`, 200, `"phone":null`},
		{"PATCH", contacts + "/101", `{"properties":{"lifecyclestage":"subscriber"}}`, 200, `"lifecyclestage":"lead"`},
		{"PATCH", contacts + "/101", `{"properties":{"lifecyclestage":"customer"}}`, 200, `"lifecyclestage":"customer"`},
		{"PATCH", contacts + "/101", `{"properties":{"lifecyclestage":"king"}}`, 400, "INVALID_OPTION"},
		{"POST", contacts, `{"properties":{"email":"b@example.com"}}`, 201, `"id":"102"`},
		{"PATCH", contacts + "/102", `{"properties":{"email":"second@example.com"}}`, 409, "Existing ID: 101"},
		{"POST", contacts + "/batch/read", `{"idProperty":"email","inputs":[{"id":"b@example.com"}]}`, 200, `"id":"102"`},
		{"POST", contacts + "/batch/read", `{"idProperty":"email","inputs":[{"id":"second@example.com"}]}`, 207, `"numErrors":1`},
		{"POST", contacts + "/batch/read", `{"inputs":[` + strings.Repeat(`{"id":"1"},`, 100) + `{"id":"1"}]}`, 400, "between 1 and 100"},
		{"POST", contacts + "/gdpr-delete", `{"objectId":"102"}`, 204, ""},
		{"POST", contacts + "/gdpr-delete", `{"objectId":"102"}`, 404, ""},
		{"POST", contacts + "/gdpr-delete", `{"objectId":"c@example.com","idProperty":"email"}`, 204, ""},
		{"POST", contacts, `{"properties":{"email":"c@example.com"}}`, 400, "GDPR"},
		{"POST", "/crm/v3/properties/contacts", `{"name":"quote_min","label":"x","type":"number","fieldType":"number","groupName":"quote"}`, 400, "group"},
		{"POST", "/crm/v3/properties/contacts/groups", `{"name":"quote","label":"Quote"}`, 201, ""},
		{"POST", "/crm/v3/properties/contacts/groups", `{"name":"quote","label":"Quote"}`, 409, "already exists"},
		{"POST", "/crm/v3/properties/contacts", `{"name":"quote_min","label":"x","type":"number","fieldType":"text","groupName":"quote"}`, 400, "fieldType"},
		{"POST", "/crm/v3/properties/contacts", `{"name":"quote_min","label":"x","type":"number","fieldType":"number","groupName":"quote"}`, 201, ""},
		{"POST", "/crm/v3/properties/contacts", `{"name":"quote_min","label":"x","type":"number","fieldType":"number","groupName":"quote"}`, 409, "already exists"},
		{"GET", "/crm/v3/properties/contacts/quote_min", "", 200, `"type":"number"`},
		{"GET", "/crm/v3/properties/contacts/quote_max", "", 404, ""},
		{"PATCH", contacts + "/101", `{"properties":{"quote_min":"1e9"}}`, 400, "INVALID_DOUBLE"},
		{"PATCH", contacts + "/101", `{"properties":{"quote_min":"12.5"}}`, 200, `"quote_min":"12.5"`},
		{"DELETE", contacts + "/101", "", 204, ""},
		{"GET", contacts + "/101", "", 404, ""},
	}
	for _, step := range steps {
		status, _, body := call(t, s.URL(), step.method, step.path, step.body)
		plain := strings.ReplaceAll(body, `\"`, `"`)
		if status != step.status || !strings.Contains(plain, step.contains) {
			t.Errorf("%s %s %s\ngot  %d %s\nwant %d … %s", step.method, step.path, step.body, status, body, step.status, step.contains)
		}
	}
	if n := len(s.Requests()); n != len(steps) {
		t.Errorf("%d requests recorded, want %d", n, len(steps))
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	s := start(t, hubspottest.Options{Token: "another"})
	if status, _, body := call(t, s.URL(), "GET", contacts, ""); status != 401 || !strings.Contains(body, "INVALID_AUTHENTICATION") {
		t.Errorf("%d %s", status, body)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		policy string
		limits hubspottest.Limits
		over   time.Duration
		header string
	}{
		{"SECONDLY", hubspottest.Limits{PerSecond: 2}, time.Second, "X-HubSpot-RateLimit-Secondly-Remaining"},
		{"TEN_SECONDLY_ROLLING", hubspottest.Limits{PerTenSeconds: 2}, 10 * time.Second, "X-HubSpot-RateLimit-Remaining"},
		{"DAILY", hubspottest.Limits{PerDay: 2, PerSecond: 2}, 24 * time.Hour, "X-HubSpot-RateLimit-Daily-Remaining"},
	}
	for _, tt := range tests {
		t.Run(tt.policy, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
			var mu sync.Mutex
			s := start(t, hubspottest.Options{Limits: tt.limits, RetryAfter: true, Now: func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return now
			}})
			for i, want := range []int{200, 200, 429, 429} {
				status, header, body := call(t, s.URL(), "GET", contacts, "")
				if status != want {
					t.Errorf("request %d: %d %s", i, status, body)
				}
				if i == 0 && header.Get(tt.header) != "1" {
					t.Errorf("%s is %q", tt.header, header.Get(tt.header))
				}
				if status != 429 {
					continue
				}
				var p map[string]string
				if err := json.Unmarshal([]byte(body), &p); err != nil || p["policyName"] != tt.policy || p["errorType"] != "RATE_LIMIT" || header.Get("Retry-After") == "" {
					t.Errorf("%v, %s, %v", err, body, header)
				}
			}
			mu.Lock()
			now = now.Add(tt.over)
			mu.Unlock()
			if status, _, _ := call(t, s.URL(), "GET", contacts, ""); status != 200 {
				t.Errorf("after %v: %d", tt.over, status)
			}
		})
	}
}

func TestReadLag(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	s := start(t, hubspottest.Options{ReadLag: time.Minute, Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	call(t, s.URL(), "POST", contacts, `{"properties":{"email":"a@example.com"}}`)
	byEmail := contacts + "/a@example.com?idProperty=email"
	if status, _, _ := call(t, s.URL(), "GET", byEmail, ""); status != 404 {
		t.Errorf("at once: %d", status)
	}
	if status, _, _ := call(t, s.URL(), "GET", contacts+"/101", ""); status != 200 {
		t.Errorf("by id: %d", status)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	if status, _, _ := call(t, s.URL(), "GET", byEmail, ""); status != 200 {
		t.Errorf("a minute later: %d", status)
	}
}

// TestFaults makes sure that faults come in order, for the requests they are for, and
// that what is stored first is stored.
func TestFaults(t *testing.T) {
	t.Parallel()
	var watched []hubspottest.Request
	s := start(t, hubspottest.Options{Watch: func(r hubspottest.Request) { watched = append(watched, r) }})
	s.Fail(
		hubspottest.Answer(503, nil).On("GET", "").Times(2),
		hubspottest.Answer(502, nil).AfterStoring().On("POST", "/contacts"),
	)
	got := []int{}
	for _, method := range []string{"GET", "POST", "GET", "GET"} {
		status, _, _ := call(t, s.URL(), method, contacts, `{"properties":{"email":"a@example.com"}}`)
		got = append(got, status)
	}
	if want := []int{503, 502, 503, 200}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(s.Contacts()) != 1 || len(watched) != 4 || watched[1].Fault != "502 after storing" {
		t.Errorf("%d contacts, watched %v", len(s.Contacts()), watched)
	}
	s.FailAtRandom(1, 1)
	s.Recover()
	if status, _, _ := call(t, s.URL(), "GET", contacts, ""); status != 200 {
		t.Errorf("after recovery: %d", status)
	}
}

// TestHandler serves the API from a listener of somebody else's.
func TestHandler(t *testing.T) {
	t.Parallel()
	s := start(t, hubspottest.Options{})
	other := httptest.NewServer(s.Handler())
	defer other.Close()
	if status, _, _ := call(t, other.URL, "POST", contacts, `{"properties":{"email":"a@example.com"}}`); status != 201 {
		t.Errorf("status %d", status)
	}
	if len(s.Contacts()) != 1 {
		t.Error("the contact is not in the account")
	}
}

// TestClose makes sure that what hangs does not keep the server open.
func TestClose(t *testing.T) {
	t.Parallel()
	s := hubspottest.New(hubspottest.Options{})
	s.Fail(hubspottest.Hang())
	ended := make(chan error)
	go func() {
		resp, err := http.Get(s.URL() + contacts)
		if err == nil {
			resp.Body.Close()
		}
		ended <- err
	}()
	for len(s.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	if err := <-ended; err == nil {
		t.Error("the request was answered")
	}
}
