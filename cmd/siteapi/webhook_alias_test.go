package main

import (
	"encoding/json"
	"slices"
	"testing"

	"siteapi/cmd/siteapi/internal/config"
)

// TestWebhooksInOneRequest sends two notifications as aliases of one GraphQL request: the
// request's idempotency key must not make the second a repetition of the first.
func TestWebhooksInOneRequest(t *testing.T) {
	t.Parallel()
	r := launch(t, t.TempDir())
	body, err := json.Marshal(map[string]string{"query": `mutation {
		a: receiveCmsWebhook(payload: {_type: "heroSection", language: "es"}) { invalidated }
		b: receiveCmsWebhook(payload: {_type: "heroSection", language: "ro"}) { invalidated }
	}`})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repetition of the whole request has the same answer
		_, _, got := r.call("POST", "/graphql", string(body), "Authorization: Bearer "+config.DevWebhookSecret, "idempotency-key: delivery-1")
		var answer struct {
			Data map[string]struct{ Invalidated []string }
		}
		if err := json.Unmarshal([]byte(got), &answer); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		for alias, want := range map[string]string{"a": "content:locale:es", "b": "content:locale:ro"} {
			if keys := answer.Data[alias].Invalidated; !slices.Equal(keys, []string{want}) {
				t.Errorf("%s invalidated %v, want %s", alias, keys, want)
			}
		}
	}
}
