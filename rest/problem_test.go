package rest

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"siteapi/schema"
	"siteapi/schema/request"
)

// The body is exactly the one of the contract, for each code.
func TestProblemDocuments(t *testing.T) {
	t.Parallel()

	r := httptest.NewRequest("GET", "/x", nil)
	r = r.WithContext(request.WithCaller(r.Context(), request.Caller{RequestID: "r1"}))

	w := httptest.NewRecorder()
	WriteProblem(w, r, &schema.Error{
		Code:    schema.CodeBadUserInput,
		Message: "No.",
		Fields: []schema.FieldError{
			schema.Required("contact.email"),
			schema.TooLong("contact.company", 100),
		},
	})
	want := `{"type":"about:blank","title":"Bad Request","status":400,"detail":"No.",` +
		`"code":"BAD_USER_INPUT","success":false,"errors":[` +
		`{"field":"contact.email","code":"required","message":"is required"},` +
		`{"field":"contact.company","code":"too_long","params":{"max":100},` +
		`"message":"must have at most 100 characters"}],` +
		`"requestId":"r1"}`

	if w.Body.String() != want {
		t.Errorf("got  %s\nwant %s", w.Body, want)
	}

	for _, code := range schema.Codes() {
		w := httptest.NewRecorder()
		WriteProblem(w, r, &schema.Error{Code: code, Message: "secret", RetryAfter: 1500 * time.Millisecond})
		if w.Code != code.Status() || !strings.Contains(w.Body.String(), `"code":"`+string(code)+`"`) {
			t.Errorf("%s: got %d %s", code, w.Code, w.Body)
		}

		if strings.Contains(w.Body.String(), "secret") == (code == schema.CodeInternal) {
			t.Errorf("%s: %s", code, w.Body)
		}

		after := map[schema.Code]string{
			schema.CodeRateLimited:         "2",
			schema.CodeUpstreamUnavailable: "2",
		}[code]
		if got := w.Header().Get("Retry-After"); got != after {
			t.Errorf("%s: Retry-After %q", code, got)
		}
	}

	w = httptest.NewRecorder()
	WriteProblem(w, r, &schema.Error{Code: "UNHEARD_OF", Message: "secret"})
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") ||
		!strings.Contains(w.Body.String(), `"code":"INTERNAL"`) {
		t.Errorf("an unknown code: %d %s", w.Code, w.Body)
	}
}
