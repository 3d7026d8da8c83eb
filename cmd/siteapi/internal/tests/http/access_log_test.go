package http

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
)

// accessEvents returns the events of the access log for a request id.
func accessEvents(log *apptest.SyncBuffer, id string) (found []map[string]any) {
	for line := range strings.Lines(log.String()) {
		var event map[string]any
		if json.Unmarshal([]byte(line), &event) == nil && event["request_id"] == id &&
			event["message"] == "request" {
			found = append(found, event)
		}
	}
	return found
}

// Each request is logged as one event with its operation, its result and the names of
// invalid fields, without any value that the client sent.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	r := apptest.Launch(t, t.TempDir(), "TRUSTED_PROXIES=127.0.0.1") // so that ids of any form are accepted

	tests := []struct {
		id, path, body string
		status         float64
		want           map[string]string // fields of the event, as JSON
	}{
		{
			"graphql-invalid",
			"/graphql",
			`{"query":"mutation($i: SubmitQuoteInput!) { submitQuote(input: $i) { success } }",` +
				`"variables":{"i":{"sessionId":"s","hush@example.com":1,` +
				`"contact":{"firstName":"Hush","lastName":"Hush","email":"hush@"},` +
				`"selections":{"projectType":"HUSH"},"estimate":{"min":1,"max":2,"currency":"EUR"}}}}`,
			200,
			map[string]string{
				"operation":      `"mutation"`,
				"root_fields":    `["submitQuote"]`,
				"code":           `"BAD_USER_INPUT"`,
				"invalid_fields": `["contact.email","selections.projectType","(unknown)"]`,
			},
		},
		{
			"graphql-two",
			"/graphql",
			`{"query":"{ a: cacheStats { success } b: SiteSettings(id: \"x\") { contactEmail } }"}`,
			200,
			map[string]string{
				"operation":   `"query"`,
				"root_fields": `["cacheStats","SiteSettings"]`,
			},
		},
		{"graphql-refused", "/graphql", `{"query":"query Hush { a: SiteSettings(id: \"x\") { hush } hushes }"}`, 200,
			map[string]string{"operation_name": `null`, "code": `"BAD_USER_INPUT"`}},
		{"graphql-syntax", "/graphql", `{"query":"{ hush"}`, 200,
			map[string]string{"code": `"BAD_USER_INPUT"`}},
		{"rest-invalid", "/api/quote/track", `{"sessionId":"hush hush"}`, 400, map[string]string{
			"operation":      `"mutation"`,
			"operation_name": `"TrackQuote"`,
			"root_fields":    `["trackQuote"]`,
			"code":           `"BAD_USER_INPUT"`,
			"invalid_fields": `["sessionId"]`,
		}},
		{"rest-token", "/api/cache/clear?all=true", ``, 401,
			map[string]string{"root_fields": `["clearCache"]`, "code": `"UNAUTHENTICATED"`}},
		{"rest-route", "/api/hushed", ``, 404,
			map[string]string{"code": `"NOT_FOUND"`, "path": `"…"`, "path_length": `11`}},
		{"no-route", "/unsubscribe/hush@example.com/0721000111", ``, 404,
			map[string]string{"path": `"…"`, "path_length": `40`}},
	}

	for _, tt := range tests {
		r.Do("POST", tt.path, tt.body, "X-Request-Id: "+tt.id)
		apptest.Eventually(t, "the request is logged", func() bool { return len(accessEvents(r.Log, tt.id)) == 1 })

		event := accessEvents(r.Log, tt.id)[0]
		if event["status"] != tt.status {
			t.Errorf("%s: status %v", tt.id, event["status"])
		}
		for name, want := range tt.want {
			if got, _ := json.Marshal(event[name]); string(got) != want {
				t.Errorf("%s: %s is %s, want %s", tt.id, name, got, want)
			}
		}
	}

	r.Do("HUSH", "/graphql", "", "X-Request-Id: hush/0721000111")
	r.Do("POST", "/api/cache/clear?pattern=quote:pdf:hush:*", "",
		"Authorization: Bearer "+config.DevCacheToken)
	r.Do("POST", "/api/webhooks/cms",
		`{"_type":"quoteSubmission","_id":"drafts.quoteSubmission.hush"}`,
		"Authorization: Bearer "+config.DevWebhookSecret)

	apptest.Eventually(t, "both are logged", func() bool {
		return r.Log.Has("cache cleared") &&
			r.Log.Has("webhook received")
	})

	if log := strings.ToLower(r.Log.String()); strings.Contains(log, "hush") ||
		strings.Contains(log, "0721000111") {
		t.Errorf("the log contains values that the client sent:\n%s", log)
	}
}

// At most ten rate-limited requests a second are logged.
func TestRejectionsDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "RATE_LIMITS=on")

	began, rejected := time.Now(), 0
	for rejected < 500 {
		if s.Do("GET", "/api/none", "").Status == 429 {
			rejected++
		}
	}

	lines, most := strings.Count(s.Log.String(), `"code":"RATE_LIMITED"`), 10*(2+int(time.Since(began)/time.Second))
	if lines == 0 || lines > most {
		t.Errorf("%d rejections caused %d lines, want at most %d", rejected, lines, most)
	}
}

// Frequent successful requests, health checks and preflight requests are not logged at level
// info. Health checks by GET and HEAD have no rate limit.
func TestFrequentRequestsAreNotLogged(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "RATE_LIMITS=on", "TRUSTED_PROXIES=127.0.0.1")
	for range 300 { // more than the burst of other routes
		for _, method := range []string{"GET", "HEAD"} {
			if got := s.Do(method, "/healthz", ""); got.Status != 200 {
				t.Fatalf("%s: %d", method, got.Status)
			}
		}
	}
	preflight := func() int {
		return s.Do("OPTIONS", "/graphql", "", "Origin: https://site.example", "Access-Control-Request-Method: POST").Status
	}
	if status := preflight(); status != 204 {
		t.Fatalf("a preflight request: %d", status)
	}
	s.Query(`{ SiteSettings(id: "siteSettings") { contactEmail } }`, nil)
	s.Do("POST", "/api/quote/track", `{"sessionId":"logged"}`)

	s.Query(`{ SiteSettings(id: "none") { contactEmail } }`, nil, "X-Request-Id: missing")
	s.Query(`{ nothing }`, nil, "X-Request-Id: wrong")
	s.Do("POST", "/api/quote/track", `{"sessionId":""}`, "X-Request-Id: bad-track")
	s.Do("GET", "/api/none", "", "X-Request-Id: no-route")
	logged := strings.Count(s.Log.String(), `"message":"request"`)
	for _, id := range []string{"missing", "wrong", "bad-track", "no-route"} {
		if logged != 4 || len(accessEvents(s.Log, id)) != 1 {
			t.Errorf("%d requests are logged, want %s and three others:\n%s", logged, id, s.Log)
		}
	}

	for range 20_000 {
		if preflight() == 429 {
			return
		}
	}
	t.Error("preflight requests are not limited")
}
