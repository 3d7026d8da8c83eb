package resolvers

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"testing"
	"time"

	"siteapi/schema"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	plain := newGuard(&Resolver{Deps: Deps{
		CacheTokens: []string{"cache-1", "cache-2"}, WebhookSecrets: []string{"hook-1", "hook-2"}, Now: func() time.Time { return now },
	}})
	none := newGuard(&Resolver{})
	tests := []struct {
		name   string
		guard  *guard
		kind   schema.TokenKind
		bearer string
		ok     bool
	}{
		{"first token", plain, schema.TokenKindCache, "cache-1", true},
		{"second token, for rotation", plain, schema.TokenKindCache, "cache-2", true},
		{"other token", plain, schema.TokenKindCache, "cache-3", false},
		{"beginning of a token", plain, schema.TokenKindCache, "cache-", false},
		{"no token", plain, schema.TokenKindCache, "", false},
		{"webhook secret at the cache", plain, schema.TokenKindCache, "hook-1", false},
		{"webhook secret", plain, schema.TokenKindWebhook, "hook-2", true},
		{"cache token at the webhook", plain, schema.TokenKindWebhook, "cache-1", false},
		{"nothing configured, no token", none, schema.TokenKindCache, "", false},
		{"nothing configured, a token", none, schema.TokenKindWebhook, "x", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := schema.WithCaller(context.Background(), &schema.Caller{Bearer: tt.bearer})
			err := tt.guard.allow(ctx, tt.kind)
			var coded *schema.Error
			if (err == nil) != tt.ok || err != nil && (!errors.As(err, &coded) || coded.Code != schema.CodeUnauthenticated) {
				t.Errorf("allow = %v, want allowed %v", err, tt.ok)
			}
		})
	}
}

func TestSignature(t *testing.T) {
	t.Parallel()
	const (
		body = `{"_type":"heroSection","title":"Bună"}`
		// printf '1772366400000.{"_type":"heroSection","title":"Bună"}' | openssl dgst -sha256 -hmac s3cret -binary | basenc --base64url
		known = "xqeaAlCszeyhmIJQ2q6FL7OyxPv30FFhnTFkZIo6fAI"
		ms    = "1772366400000" // 2026-03-01T12:00:00Z
	)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	signed := func(secret, t string) string {
		return "t=" + t + ",v1=" + base64.RawURLEncoding.EncodeToString(sign(secret, t, []byte(body)))
	}
	ago := func(d time.Duration) string { return strconv.FormatInt(at.Add(-d).UnixMilli(), 10) }
	tests := []struct {
		name, header, body string
		ok                 bool
	}{
		{"known vector", "t=" + ms + ",v1=" + known, body, true},
		{"space between the parts", "t=" + ms + ", v1=" + known, body, true},
		{"second secret", signed("other", ms), body, true},
		{"unknown secret", signed("wrong", ms), body, false},
		{"changed body", "t=" + ms + ",v1=" + known, body + " ", false},
		{"changed time", "t=1772366400001,v1=" + known, body, false},
		{"no header", "", body, false},
		{"another form", "v1=" + known + ",t=" + ms, body, false},
		{"padded", "t=" + ms + ",v1=" + known + "=", body, false},
		{"not base64", "t=" + ms + ",v1=%%%", body, false},
		{"time that overflows", "t=99999999999999999999,v1=" + known, body, false},
		{"five minutes old", signed("s3cret", ago(5*time.Minute)), body, true},
		{"older", signed("s3cret", ago(5*time.Minute+time.Millisecond)), body, false},
		{"five minutes ahead", signed("s3cret", ago(-5*time.Minute)), body, true},
		{"further ahead", signed("s3cret", ago(-5*time.Minute-time.Millisecond)), body, false},
	}
	s := &signatures{secrets: []string{"s3cret", "other"}, now: func() time.Time { return at }}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := s.verify(tt.header, []byte(tt.body)); (err == nil) != tt.ok {
				t.Errorf("verify = %v, want accepted %v", err, tt.ok)
			}
		})
	}
}

func TestGuardAsksForTheSignatureToo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	g := newGuard(&Resolver{Deps: Deps{
		WebhookSecrets: []string{"hook"}, SigningSecrets: []string{"s3cret"}, Now: func() time.Time { return now },
	}})
	body := []byte(`{"_id":"x"}`)
	ms := strconv.FormatInt(now.UnixMilli(), 10)
	good := "t=" + ms + ",v1=" + base64.RawURLEncoding.EncodeToString(sign("s3cret", ms, body))
	for _, tt := range []struct {
		name, bearer, signature string
		ok                      bool
	}{{"both", "hook", good, true}, {"token only", "hook", "", false}, {"signature only", "", good, false}} {
		ctx := schema.WithCaller(context.Background(), &schema.Caller{Bearer: tt.bearer, Signature: tt.signature, Body: body})
		if err := g.allow(ctx, schema.TokenKindWebhook); (err == nil) != tt.ok {
			t.Errorf("%s: allow = %v, want allowed %v", tt.name, err, tt.ok)
		}
	}
}
