package resolvers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"siteapi/schema"
)

// FuzzNotice reads anything that is a JSON object as the payload of a webhook. Whatever
// an editor puts into it: only locales of the site are made stale, each once, and
// drafts, versions and the service's own submissions never make anything stale.
func FuzzNotice(f *testing.F) {
	for _, seed := range []string{
		`{"_id":"hero-es","_type":"heroSection","language":"es"}`, `{"_type":"heroSection","locale":"ro"}`, `{"_lang":"en"}`,
		`{"__i18n_lang":"RO","language":""}`, `{"_id":"drafts.hero","language":"es"}`, `{"_id":"versions.r1.hero"}`,
		`{"_id":"quoteSubmission.abc"}`, `{"documentType":"quoteSubmission","_id":"x"}`, `{"_id":5,"_type":["x"],"language":{"a":1}}`,
		`{"_id":"hero","_updatedAt":"2026-01-31T09:00:00Z"}`, `{"_id":"hero","_updatedAt":"9999-99-99"}`, `{"language":"es\u0000"}`, `{"a":1e400}`,
	} {
		f.Add([]byte(seed))
	}
	seen := &snapshot{}
	f.Fuzz(func(t *testing.T, body []byte) {
		var payload map[string]any
		if json.Unmarshal(body, &payload) != nil {
			return
		}
		n := newNotice(payload)
		locales := n.locales()
		for i, l := range locales {
			if !slices.Contains(schema.Locales(), l) || slices.Contains(locales[:i], l) {
				t.Fatalf("%s makes %v stale", body, locales)
			}
		}
		id, _ := payload["_id"].(string)
		kind, _ := payload["_type"].(string)
		for _, prefix := range []string{"drafts.", "versions.", "quoteSubmission."} {
			if strings.HasPrefix(id, prefix) && locales != nil {
				t.Fatalf("%s makes %v stale", body, locales)
			}
		}
		if kind == "quoteSubmission" && locales != nil {
			t.Fatalf("%s makes %v stale", body, locales)
		}
		if n.seenIn(seen) && id != "" && !n.updatedAt.IsZero() {
			t.Fatalf("%s is taken for seen in content that is empty", body)
		}
	})
}
