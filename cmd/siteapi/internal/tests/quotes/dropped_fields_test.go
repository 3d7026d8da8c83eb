package quotes

import (
	"encoding/json"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/schema/request"
)

// In development a header names the hints that were dropped from a REST body or from a
// variable that holds the whole input. Anywhere else in a document, a value of the wrong
// type is an error.
func TestDroppedFieldsAreNamed(t *testing.T) {
	t.Parallel()
	const body = `{"sessionId":"s","selections":{"projectType":"Web App","features":["ok","N O",{}],"complexity":" e asy",` +
		`"timeline":""},"estimate":{"min":-1,"max":"x"},"formData":{"email":"ana@","firstName":"Ana"}}`
	const names = "selections.features[2], estimate.max, selections.projectType, selections.features[1], " +
		"selections.complexity, estimate.min, formData.email"

	s := apptest.Start(t)
	production := apptest.Launch(t, t.TempDir(), apptest.DefaultLimits(t)...)
	for _, tt := range []struct {
		got     apptest.Response
		dropped string
		refused int // invalid fields
	}{
		{s.Do("POST", "/api/quote/track", body), names, 0},
		{production.Do("POST", "/api/quote/track", body), "", 0},
		{
			s.Query("mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }", object{"i": json.RawMessage(body)}),
			names, 0,
		},
		{s.Query(`mutation { trackQuote(input: {sessionId: "s", formData: {email: 7}}) { success } }`, nil), "", 1},
		{
			s.Query(`mutation($e: String) { trackQuote(input: {sessionId: "s", formData: {email: $e}}) { success } }`, object{"e": 7}),
			"", 1,
		},
	} {
		got, refused := tt.got.Header.Get(request.HeaderDropped), strings.Count(string(tt.got.Body), `"wrong_type"`)
		if tt.got.Status != 200 || got != tt.dropped || refused != tt.refused {
			t.Errorf("%d with %q, want %q: %s", tt.got.Status, got, tt.dropped, tt.got.Body)
		}
	}
}
