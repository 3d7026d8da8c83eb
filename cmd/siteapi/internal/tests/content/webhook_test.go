package content

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms/sanity/sanitytest"
)

// hookBody is a payload that no encoder would reproduce: only a signature over the raw
// body matches.
const hookBody = "{ \"_type\":\"heroSection\" ,\n\"language\" : \"es\", " +
	"\"title\":\"\\u0218tiri \\/ €\",\"n\":1.0 }\n"

func TestWebhookSignature(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CMS_WEBHOOK_SIGNING_SECRET=old-secret, new-secret", "ADMIN_PAGE=on")
	now := time.Now()

	// printf '1772366400000.{"_type":"heroSection","title":"Bună"}' | openssl dgst -sha256 -hmac s3cret -binary |
	// basenc --base64url
	known := sanitytest.Signature("s3cret", time.UnixMilli(1772366400000), []byte(`{"_type":"heroSection","title":"Bună"}`))
	if known != "t=1772366400000,v1=xqeaAlCszeyhmIJQ2q6FL7OyxPv30FFhnTFkZIo6fAI" {
		t.Errorf("the stub signs with %s", known)
	}

	sign := func(secret string, at time.Time, body string) string {
		return "sanity-webhook-signature: " + sanitytest.Signature(secret, at, []byte(body))
	}
	good := sign("new-secret", now, hookBody)

	var again any
	must(t, json.Unmarshal([]byte(hookBody), &again))
	rewritten, err := json.Marshal(again)
	must(t, err)

	tests := []struct {
		name, signature, body string
		status                int
	}{
		{"signed with the new secret", good, hookBody, 200},
		{"signed with the old secret", sign("old-secret", now, hookBody), hookBody, 200},
		{"signed four minutes ago", sign("new-secret", now.Add(-4*time.Minute), hookBody), hookBody, 200},
		{"signed four minutes in the future", sign("new-secret", now.Add(4*time.Minute), hookBody), hookBody, 200},
		{"a replay after six minutes", sign("new-secret", now.Add(-6*time.Minute), hookBody), hookBody, 401},
		{"signed six minutes in the future", sign("new-secret", now.Add(6*time.Minute), hookBody), hookBody, 401},
		{"with a byte order mark, signed", sign("new-secret", now, "\ufeff"+hookBody),
			"\ufeff" + hookBody, 200},
		{"with a byte order mark that is not signed", good, "\ufeff" + hookBody, 401},
		{"no signature", "sanity-webhook-signature: ", hookBody, 401},
		{"another secret", sign("secret", now, hookBody), hookBody, 401},
		{"an empty secret", sign("", now, hookBody), hookBody, 401},
		{"another body", good, strings.Replace(hookBody, "es", "ro", 1), 401},
		{"the same JSON encoded differently", good, string(rewritten), 401},
		{"another time", strings.Replace(good, "t=1", "t=2", 1), hookBody, 401},
		{"no time", "sanity-webhook-signature: v1=" + good[strings.Index(good, "v1=")+3:],
			hookBody, 401},
		{"not base64", good + "!", hookBody, 401},
		{"a time out of range",
			"sanity-webhook-signature: t=99999999999999999999,v1=eA", hookBody, 401},
		{"signed, but not JSON", sign("new-secret", now, "{"), "{", 400},
		{"neither signed nor JSON", "sanity-webhook-signature: ", "{", 401},
	}

	for _, tt := range tests {
		got := s.Do("POST", "/api/webhooks/cms", tt.body, apptest.HookAuth, tt.signature)
		if got.Status != tt.status ||
			tt.status == 200 && string(got.Body) != `{"success":true,"invalidated":["content:locale:es"]}` {
			t.Errorf("%s: %s, want %d", tt.name, got, tt.status)
		}
	}
	if got := s.Do("POST", "/api/webhooks/cms", hookBody, good); got.Status != 401 {
		t.Errorf("signed, without the token: %s", got)
	}

	// GraphQL is signed over its own body.
	body := `{"query":"mutation { receiveCmsWebhook(` +
		`payload: {_type: \"heroSection\", language: \"es\"}) { invalidated } }"}`
	for signature, want := range map[string]string{
		sign("new-secret", now, body): `"content:locale:es"`,
		good:                          "UNAUTHENTICATED",
	} {
		if got := s.Do("POST", "/graphql", body, apptest.HookAuth, signature); !got.Has(want) {
			t.Errorf("got %s, want %s", got.Body, want)
		}
	}

	for _, reason := range []string{"token", "signature", "clock"} {
		if !s.Log.Has(`"reason":"` + reason + `"`) {
			t.Errorf("the log lacks a webhook that was rejected for its %s", reason)
		}
	}
	apptest.Eventually(t, "serviceHealth reports the last accepted and the last rejected webhook", func() bool {
		got := s.Query(`{ serviceHealth { checks { name detail } } }`, nil, "Authorization: Bearer "+config.DevAdminToken)
		return regexp.MustCompile(`"webhook","detail":"last webhook accepted \d+s ago, last webhook refused \d+s ago \w+`).
			Match(got.Body)
	})
	if at := apptest.Counter(t, s, "siteapi_webhook_timestamp_seconds", map[string]string{"outcome": "ok"}); at < 1e9 {
		t.Errorf("the last valid webhook arrived at %v", at)
	}
	if log := s.Log.String(); strings.Contains(log, "-secret") || strings.Contains(log, "v1=") {
		t.Error("the log contains a secret or a signature")
	}
}
