package main

import (
	"net/http"
	"testing"
)

// In development, tracking refuses no half-typed value and names those that it left out,
// through both endpoints.
func TestDroppedFieldsAreNamedInDevelopment(t *testing.T) {
	t.Parallel()
	const body = `{"sessionId":"s","selections":{"projectType":"Web App","features":["ok","N O"],` +
		`"complexity":" easy","timeline":""},` +
		`"estimate":{"min":-1},"formData":{"email":"ana@","firstName":"Ana"}}`
	const want = "selections.projectType, selections.features[1], selections.complexity, " +
		"estimate.min, formData.email"

	for _, tt := range []struct {
		env  []string
		want string
	}{
		{nil, want},
		{
			[]string{
				"ENVIRONMENT=production",
				"CMS_DRIVER=file",
				"CMS_FILE=" + ownContent(t),
				"CACHE_API_TOKEN=an-own-cache-token",
				"CMS_WEBHOOK_SECRET=an-own-webhook-secret",
			},
			"",
		},
	} {
		service := launch(t, t.TempDir(), tt.env...)
		for path, body := range map[string]string{
			"/api/quote/track": body,
			"/graphql": `{"query":"mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }",` +
				`"variables":{"i":` + body + `}}`,
		} {
			answer := service.do(http.MethodPost, path, body)
			if got := answer.header.Get("X-Dropped-Fields"); answer.status != http.StatusOK ||
				got != tt.want {
				t.Errorf("%s %v: %d with %q, want %q", path, tt.env, answer.status, got, tt.want)
			}
		}
	}
}
