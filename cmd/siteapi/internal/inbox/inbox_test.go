package inbox_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/schema"
	"siteapi/schema/request"
)

// A login by a token expires after twelve hours.
func TestLoginExpires(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	now := begin
	h := inbox.New(inbox.Options{
		Tokens: []request.OperatorToken{{Token: "token", Operator: request.Operator{Role: schema.RoleAdmin}}},
		Now:    func() time.Time { return now },
		Page:   http.NotFoundHandler(),
	})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", inbox.LoginPath, strings.NewReader(`{"token":"token"}`)))
	cookie := w.Result().Cookies()[0]

	for after, want := range map[time.Duration]int{12*time.Hour - time.Second: 200, 12 * time.Hour: 401} {
		now = begin.Add(after)
		r := httptest.NewRequest("GET", inbox.OperatorPath, nil)
		r.AddCookie(cookie)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("after %v: %d, want %d", after, w.Code, want)
		}
	}
}
