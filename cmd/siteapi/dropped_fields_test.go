package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestDroppedFieldsAreNamedInDevelopment: track refuses nothing that is half typed, and tells an integrator what it left
// out, through both endpoints.
func TestDroppedFieldsAreNamedInDevelopment(t *testing.T) {
	t.Parallel()
	const body = `{"sessionId":"s","selections":{"projectType":"Web App","features":["ok","N O"],"timeline":""},` +
		`"estimate":{"min":-1},"formData":{"email":"ana@","firstName":"Ana"}}`
	const want = "selections.projectType, selections.features[1], estimate.min, formData.email"
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{nil, want},
		{[]string{"ENVIRONMENT=production", "CACHE_API_TOKEN=an-own-cache-token", "CMS_WEBHOOK_SECRET=an-own-webhook-secret"}, ""},
	} {
		service := launch(t, t.TempDir(), tt.env...)
		for path, body := range map[string]string{
			"/api/quote/track": body,
			"/graphql":         `{"query":"mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }","variables":{"i":` + body + `}}`,
		} {
			resp, err := http.Post(service.base+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if got := resp.Header.Get("X-Dropped-Fields"); resp.StatusCode != http.StatusOK || got != tt.want {
				t.Errorf("%s %v: %d with %q, want %q", path, tt.env, resp.StatusCode, got, tt.want)
			}
		}
	}
}
