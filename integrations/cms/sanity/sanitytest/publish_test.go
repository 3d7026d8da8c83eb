package sanitytest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms/sanity/sanitytest"
)

// delivery is a webhook as it arrived.
type delivery struct {
	header http.Header
	body   string
}

func TestPublishTellsTheWebhook(t *testing.T) {
	t.Parallel()
	var seen []delivery
	status := http.StatusServiceUnavailable
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, delivery{r.Header, string(body)})
		w.WriteHeader(status)
		status = http.StatusOK
	}))
	t.Cleanup(hook.Close)
	s := open(t, sanitytest.Options{})
	to := sanitytest.Webhook{URL: hook.URL, Token: "hook-token", Secret: "s3cret", Tries: 3}
	doc := json.RawMessage(`{"_id":"a", "_type":"page"}`)
	if got, err := s.Publish(t.Context(), doc, to); err != nil || got != 200 {
		t.Fatalf("%d, %v", got, err)
	}
	if got, err := s.Publish(t.Context(), doc, to); err != nil || got != 200 {
		t.Fatalf("%d, %v", got, err)
	}
	if got, err := s.Unpublish(t.Context(), "a", to); err != nil || got != 200 {
		t.Fatalf("%d, %v", got, err)
	}
	if len(seen) != 4 || len(s.Documents()) != 0 {
		t.Fatalf("%d webhooks, %d documents", len(seen), len(s.Documents()))
	}
	for i, operation := range []string{"create", "create", "update", "delete"} {
		d := seen[i]
		if d.header.Get("Sanity-Operation") != operation || d.header.Get("Authorization") != "Bearer hook-token" || d.body != `{"_id":"a","_type":"page"}` {
			t.Errorf("%d: %+v", i, d)
		}
		m := regexp.MustCompile(`^t=(\d+)[, ]+v1=([^, ]+)$`).FindStringSubmatch(d.header.Get("Sanity-Webhook-Signature"))
		if m == nil {
			t.Fatalf("signature %q", d.header.Get("Sanity-Webhook-Signature"))
		}
		mac := hmac.New(sha256.New, []byte("s3cret"))
		mac.Write([]byte(m[1] + "." + d.body))
		if want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)); m[2] != want {
			t.Errorf("signature %s, want %s", m[2], want)
		}
	}
	key := func(i int) string { return seen[i].header.Get("Idempotency-Key") }
	if key(0) == "" || key(0) != key(1) || key(1) == key(2) || key(2) == key(3) {
		t.Error("the idempotency keys are wrong")
	}
	if _, err := s.Unpublish(t.Context(), "a", to); err == nil {
		t.Error("what is not there was unpublished")
	}
	if _, err := s.Publish(t.Context(), json.RawMessage(`{}`), to); err == nil {
		t.Error("a document without id was published")
	}
}

func TestIndexLag(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, sanitytest.Options{IndexLag: 3 * time.Second, Now: func() time.Time { return now }})
	there := func() bool {
		_, body := call(t, s, "GET", query(count, "$id", `"a"`), "", "")
		return strings.Contains(body, `"result":1`)
	}
	if _, err := s.Publish(t.Context(), json.RawMessage(`{"_id":"a","_type":"page"}`), sanitytest.Webhook{}); err != nil {
		t.Fatal(err)
	}
	before := there()
	now = now.Add(3 * time.Second)
	if before || !there() {
		t.Errorf("seen at once: %t, in the end: %t", before, there())
	}
	if _, err := s.Unpublish(t.Context(), "a", sanitytest.Webhook{}); err != nil {
		t.Fatal(err)
	}
	before = there()
	now = now.Add(3 * time.Second)
	if !before || there() {
		t.Errorf("after unpublishing seen at once: %t, in the end: %t", before, there())
	}
}
