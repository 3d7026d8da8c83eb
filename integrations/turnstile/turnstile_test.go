package turnstile_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"siteapi/integrations/turnstile"
	"siteapi/integrations/upstream"
)

func TestVerify(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		status   int
		response string
		want     bool
		kind     upstream.Kind // empty if the token was judged
	}{
		"solved": {200, `{"success":true,"error-codes":[],` +
			`"challenge_ts":"2026-03-01T12:00:00Z","hostname":"x"}`, true, ""},
		"forged":  {200, `{"success":false,"error-codes":["invalid-input-response"]}`, false, ""},
		"used up": {200, `{"success":false,"error-codes":["timeout-or-duplicate"]}`, false, ""},
		"wrong secret": {200, `{"success":false,"error-codes":["invalid-input-secret"]}`, false,
			upstream.Refused},
		"vendor error": {200, `{"success":false,"error-codes":["internal-error"]}`, false,
			upstream.Unavailable},
		"not from siteverify": {200, `{"ok":true}`, false, upstream.Unavailable},
		"not found":           {404, `nothing here`, false, upstream.Unavailable},
		"forbidden":           {403, `no`, false, upstream.Refused},
		"refused with 400":    {400, `{"success":false,"error-codes":["invalid-input-response"]}`, false, ""},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var asked map[string]string
			vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != "POST" || r.URL.Path != "/turnstile/v0/siteverify" ||
					r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("requested with %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
				}

				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
					t.Error(err)
				}

				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.response)
			}))
			t.Cleanup(vendor.Close)

			v := turnstile.New(turnstile.Options{Secret: "hush", URL: vendor.URL})
			got, err := v.Verify(t.Context(), "token-1", "attempt")
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}

			if asked["secret"] != "hush" || asked["response"] != "token-1" ||
				len(asked["idempotency_key"]) != 36 || len(asked) != 3 {
				t.Errorf("the vendor was sent %v", asked)
			}

			if tt.kind == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}

			e, ok := errors.AsType[*upstream.Error](err)
			if !ok || e.Kind != tt.kind || strings.Contains(err.Error(), "hush") {
				t.Errorf("got %v, want an error of kind %s without the secret", err, tt.kind)
			}
		})
	}
}
