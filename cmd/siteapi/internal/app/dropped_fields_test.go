package app

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

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

// Hints of a wrong type are named wherever they are written: in the body, in a variable, in
// the operation or in the default of a variable, unless the variable is given.
func TestDroppedTypesAreNamed(t *testing.T) {
	t.Parallel()
	const body = `{"sessionId":"s","selections":{"projectType":7,"features":["ok",{},"blog"]},` +
		`"estimate":{"min":"x","max":2},"formData":"ana","consents":[{"given":"yes"}]}`
	const names = "selections.projectType, selections.features[1], estimate.min, formData, consents[0].given"
	input := literal(json.RawMessage(body), ast.NamedType("TrackQuoteInput", nil))

	s := startService(t, nil)
	for _, tt := range []struct {
		name, document string
		variables      object
		want           string
	}{
		{
			"variables", "mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }",
			object{"i": json.RawMessage(body)}, names,
		},
		{"literals", "mutation { trackQuote(input: " + input + ") { success } }", nil, names},
		{
			"a default", "mutation($i: TrackQuoteInput! = " + input + ") { trackQuote(input: $i) { success } }",
			nil, names,
		},
		{
			"a variable in its place", "mutation($i: TrackQuoteInput! = " + input + ") { trackQuote(input: $i) { success } }",
			object{"i": object{"sessionId": "s"}}, "",
		},
		{
			"defaults in a fragment", `mutation($e: String! = 7, $f: [String] = ["ok", 8]) { ...f ...f }
				fragment f on Mutation {
					trackQuote(input: {sessionId: "s", formData: {email: $e}, selections: {features: $f, timeline: $e}}) { success }
				}`,
			nil, "selections.features[1], selections.timeline, formData.email",
		},
	} {
		for range 2 { // the second document comes from the cache
			answer := s.query(tt.document, tt.variables)
			if got := answer.header.Get(schema.HeaderDropped); answer.status != http.StatusOK || got != tt.want {
				t.Errorf("%s: %d with %q, want %q: %s", tt.name, answer.status, got, tt.want, answer.body)
			}
		}
	}

	// A default that something else than a hint needs is refused.
	got := s.query(`mutation($s: String = 7) { trackQuote(input: {sessionId: $s, formData: {email: $s}}) { success } }`, nil)
	if got.header.Get(schema.HeaderDropped) != "" || !json.Valid(got.body) {
		t.Errorf("%d %s", got.status, got.body)
	}
}
