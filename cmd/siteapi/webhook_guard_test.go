package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The token of a guarded route is checked on the header: a client without one is refused
// although not a byte of its body has arrived.
func TestTokenBeforeBody(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir(), "CMS_WEBHOOK_SIGNING_SECRET=sign")
	for _, path := range []string{"/api/webhooks/cms", "/api/cache/invalidate"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n", path)
		answer := make([]byte, 12)
		if _, err := c.Read(answer); err != nil || string(answer) != "HTTP/1.1 401" {
			t.Errorf("%s: %q %v", path, answer, err)
		}
		_ = c.Close()
	}
}

// Bodies are bounded in depth and in number of values, and a signature is verified before
// the body is parsed.
func TestWebhookBodies(t *testing.T) {
	t.Parallel()
	signed, unsigned := launch(t, t.TempDir(), "CMS_WEBHOOK_SIGNING_SECRET=sign"), launch(t, t.TempDir())
	tests := []struct {
		name string
		to   *running
		body string
		want int
	}{
		{"not signed, not JSON", signed, "{", http.StatusUnauthorized},
		{"many values", unsigned, `{"_type":"x","a":[` + strings.Repeat(`{"":0},`, 100_000) + `0]}`, http.StatusBadRequest},
		{"deep", unsigned, `{"_type":"x","a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}", http.StatusBadRequest},
		{"brackets in a text", unsigned, `{"_type":"x","a":"` + strings.Repeat(`[,\"`, 20_000) + `"}`, http.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.to.do(http.MethodPost, "/api/webhooks/cms", tt.body, hookAuth); got.status != tt.want {
				t.Errorf("got %d, want %d", got.status, tt.want)
			}
		})
	}
}
