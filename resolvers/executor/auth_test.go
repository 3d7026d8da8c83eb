package executor

import (
	"encoding/base64"
	"strconv"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// TestSignature covers the form and the time limits of a signature. Signed bodies are
// tested through the webhook.
func TestSignature(t *testing.T) {
	t.Parallel()

	const (
		body = `{"_type":"heroSection","title":"Bună"}`
		// printf '1772366400000.{"_type":"heroSection","title":"Bună"}' | openssl dgst
		// -sha256 -hmac s3cret -binary | basenc --base64url
		known = "xqeaAlCszeyhmIJQ2q6FL7OyxPv30FFhnTFkZIo6fAI"
		ms    = "1772366400000" // 2026-03-01T12:00:00Z
	)

	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	signed := func(secret, t string) string {
		return "t=" + t + ",v1=" + base64.RawURLEncoding.EncodeToString(sign(secret, t, []byte(body)))
	}
	ago := func(d time.Duration) string { return strconv.FormatInt(at.Add(-d).UnixMilli(), 10) }

	tests := []struct {
		name, header string
		ok           bool
	}{
		{"known vector", "t=" + ms + ",v1=" + known, true},
		{"another form", "v1=" + known + ",t=" + ms, false},
		{"five minutes old", signed("s3cret", ago(5*time.Minute)), true},
		{"older", signed("s3cret", ago(5*time.Minute+time.Millisecond)), false},
		{"five minutes ahead", signed("s3cret", ago(-5*time.Minute)), true},
		{"further ahead", signed("s3cret", ago(-5*time.Minute-time.Millisecond)), false},
	}

	g := &guard{Options: Options{
		Log:     zerolog.Nop(),
		Now:     func() time.Time { return at },
		Secrets: Secrets{Signing: []string{"s3cret"}},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := g.verify(tt.header, []byte(body)); (err == nil) != tt.ok {
				t.Errorf("verify = %v, want accepted %v", err, tt.ok)
			}
		})
	}
}
