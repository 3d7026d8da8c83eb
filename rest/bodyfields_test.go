package rest

import (
	"reflect"
	"strings"
	"testing"

	"siteapi/schema"
)

// TestBodyFields: the fields of a body become variables, the others are ignored, and errors
// name what was sent.
func TestBodyFields(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body   string
		status int
		want   string // in the answer
	}{
		{`{"selections":{},"sessionId":"s","estimate":7}`, 200, `"lines":[`},
		{`{"selections":{"features":["a"],"other":1},"locale":"ro"}`, 200, `"unpriced":[]`},
		{`{"selections":{},"locale":null}`, 200, `"min":null`},
		{`{}`, 400, `"field":"selections","code":"required"`},
		{`{"selections":null}`, 400, `"field":"selections","code":"required"`},
		{`{"selections":[]}`, 400, `"field":"selections","code":"wrong_type"`},
		{`{"selections":{"features":["A b"]}}`, 400, `"field":"selections.features[0]","code":"not_a_slug"`},
		{`{"selections":{},"locale":"fr"}`, 400, `"field":"locale","code":"not_allowed"`},
		{`[]`, 400, "The body has to be a JSON object."},
		{`7`, 400, "The body has to be a JSON object."},
		{`{"selections":{}`, 400, "The body is"},
		{``, 400, "The body is"},
	} {
		srv, _ := newServer(t)
		got := send(t, srv, "POST", "/api/quote/estimate", tt.body)
		if got.status != tt.status || !strings.Contains(got.body, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.body, got.status, got.body, tt.status, tt.want)
		}
	}

	srv, s := newServer(t)
	send(t, srv, "POST", "/api/quote/estimate", `{"locale":"ro","selections":{"projectType":"web-app"}}`)
	project, locale := "web-app", schema.LocaleRo
	want := []any{schema.EstimateSelectionsInput{ProjectType: &project}, &locale}
	if !reflect.DeepEqual(s.args, want) {
		t.Errorf("the resolver was given %+v", s.args)
	}
}
