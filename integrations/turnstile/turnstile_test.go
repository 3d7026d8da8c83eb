package turnstile_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/turnstile"
	"siteapi/integrations/upstream"
)

func TestVerify(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		status int
		answer string
		want   bool
		kind   upstream.Kind // empty if the token was judged
	}{
		"solved": {200, `{"success":true,"error-codes":[],` +
			`"challenge_ts":"2026-03-01T12:00:00Z","hostname":"x"}`, true, ""},
		"forged":  {200, `{"success":false,"error-codes":["invalid-input-response"]}`, false, ""},
		"used up": {200, `{"success":false,"error-codes":["timeout-or-duplicate"]}`, false, ""},
		"wrong secret": {200, `{"success":false,"error-codes":["invalid-input-secret"]}`, false,
			upstream.Refused},
		"their fault": {200, `{"success":false,"error-codes":["internal-error"]}`, false,
			upstream.Unavailable},
		"no reason":         {200, `{"success":false}`, false, upstream.Unavailable},
		"not their answer":  {200, `{"ok":true}`, false, upstream.Unavailable},
		"a page":            {200, `<html>`, false, upstream.Unavailable},
		"not found":         {404, `nothing here`, false, upstream.Unavailable},
		"forbidden":         {403, `no`, false, upstream.Refused},
		"too many requests": {429, ``, false, upstream.Limited},
		"down":              {503, `{"error":"down"}`, false, upstream.Unavailable},
		"refused with 400":  {400, `{"success":false,"error-codes":["invalid-input-response"]}`, false, ""},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var asked map[string]string
			vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.Path != "/turnstile/v0/siteverify" ||
					r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("asked with %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
				}

				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
					t.Error(err)
				}

				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.answer)
			}))
			t.Cleanup(vendor.Close)

			var calls []upstream.Call
			v := turnstile.New(turnstile.Options{
				Secret:  "hush",
				URL:     vendor.URL,
				Observe: func(_ context.Context, c upstream.Call) { calls = append(calls, c) },
			})

			got, err := v.Verify(t.Context(), "token-1", "attempt")
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}

			if asked["secret"] != "hush" || asked["response"] != "token-1" ||
				len(asked["idempotency_key"]) != 36 || len(asked) != 3 {
				t.Errorf("the vendor was sent %v", asked)
			}

			if len(calls) != 1 || calls[0].System != "turnstile" {
				t.Errorf("observed %+v", calls)
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

// No request is sent for a text that cannot be a token.
func TestVerifyNothing(t *testing.T) {
	t.Parallel()
	v := turnstile.New(turnstile.Options{URL: "http://127.0.0.1:1"})
	for _, token := range []string{"", strings.Repeat("x", turnstile.MaxToken+1)} {
		if ok, err := v.Verify(t.Context(), token, "attempt"); ok || err != nil {
			t.Errorf("%d characters: %v, %v", len(token), ok, err)
		}
	}
}

// Verify does not wait for a vendor that does not respond.
func TestVerifySlow(t *testing.T) {
	t.Parallel()

	stop := make(chan struct{})
	vendor := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	t.Cleanup(func() { close(stop); vendor.Close() })

	v := turnstile.New(turnstile.Options{URL: vendor.URL})

	began := time.Now()
	_, err := v.Verify(t.Context(), "token", "attempt")
	if upstream.KindOf(err) != upstream.Unavailable || err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
