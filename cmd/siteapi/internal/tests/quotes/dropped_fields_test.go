package quotes

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/schema"
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
				"CMS_FILE=" + apptest.OwnContent(t),
				"CACHE_API_TOKEN=an-own-cache-token",
				"CMS_WEBHOOK_SECRET=an-own-webhook-secret",
			},
			"",
		},
	} {
		service := apptest.Launch(t, t.TempDir(), tt.env...)
		for path, body := range map[string]string{
			"/api/quote/track": body,
			"/graphql": `{"query":"mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }",` +
				`"variables":{"i":` + body + `}}`,
		} {
			answer := service.Do(http.MethodPost, path, body)
			if got := answer.Header.Get("X-Dropped-Fields"); answer.Status != http.StatusOK ||
				got != tt.want {
				t.Errorf("%s %v: %d with %q, want %q", path, tt.env, answer.Status, got, tt.want)
			}
		}
	}
}

// Hints of a wrong type are named where they are dropped, which is in a variable that is the
// whole input. Elsewhere in a document they are errors.
func TestDroppedTypesAreNamed(t *testing.T) {
	t.Parallel()
	const body = `{"sessionId":"s","selections":{"projectType":7,"features":["ok",{},"blog"]},` +
		`"estimate":{"min":"x","max":2},"formData":"ana","consents":[{"given":"yes"}]}`
	const names = "selections.projectType, selections.features[1], estimate.min, formData, consents[0].given"

	s := apptest.Start(t, nil)
	for _, tt := range []struct {
		name, document string
		variables      object
		dropped        string
		refused        int // invalid fields
	}{
		{
			"a variable", "mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }",
			object{"i": json.RawMessage(body)}, names, 0,
		},
		{
			"literals", `mutation { trackQuote(input: {sessionId: "s", formData: {email: 7}}) { success } }`,
			nil, "", 1,
		},
		{
			"part of a variable", "mutation($e: String) { trackQuote(input: {sessionId: \"s\", formData: {email: $e}}) { success } }",
			object{"e": 7}, "", 1,
		},
	} {
		answer := s.Query(tt.document, tt.variables)
		got, refused := answer.Header.Get(schema.HeaderDropped), strings.Count(string(answer.Body), `"wrong_type"`)
		if got != tt.dropped || refused != tt.refused {
			t.Errorf("%s: %d with %q, want %q: %s", tt.name, answer.Status, got, tt.dropped, answer.Body)
		}
	}
}
