package inbox_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/inbox"
	"siteapi/schema"
)

// A session ends after twelve hours. Until then, callers within it are marked.
func TestSessionExpires(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	h := inbox.New(inbox.Options{
		Tokens: []schema.OperatorToken{{Token: "token", Operator: schema.Operator{Role: schema.RoleAdmin}}},
		Now:    func() time.Time { return now },
		Page:   http.NotFoundHandler(),
		GraphQL: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if schema.CallerFrom(r.Context()).Operator.Role != schema.RoleAdmin {
				t.Error("the caller is not marked")
			}
		}),
	})

	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", inbox.SessionPath, strings.NewReader(`{"token":"token"}`)))

	var opened struct {
		CSRF      string
		ExpiresAt time.Time
	}
	if err := json.Unmarshal(w.Body.Bytes(), &opened); err != nil ||
		!opened.ExpiresAt.Equal(now.Add(12*time.Hour)) {
		t.Fatalf("%v: %d %s", err, w.Code, w.Body)
	}

	cookie := w.Result().Cookies()[0]
	for wait, want := range map[time.Duration]int{
		0:                          200,
		12*time.Hour - time.Second: 200,
		12 * time.Hour:             401,
	} {
		now = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).Add(wait)
		r := httptest.NewRequest("POST", inbox.GraphQLPath, nil)
		r = r.WithContext(schema.WithCaller(r.Context(), schema.Caller{}))
		r.AddCookie(cookie)
		r.Header.Set("X-CSRF-Token", opened.CSRF)

		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("after %v: %d, want %d", wait, w.Code, want)
		}
	}
}
