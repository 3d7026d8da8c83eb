package quotes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema"
)

// unknownLocale is the line that invalid returns for a locale that the site does not have.
var unknownLocale = fmt.Sprintf("locale: not_allowed allowed=%v", schema.AllLocale)

// invalid sends an operation with variables in JSON, and returns the invalid values as
// "field: code; …".
func invalid(s *apptest.Service, query, variables string) string {
	s.T.Helper()
	document, _ := json.Marshal(query)
	got := s.Do("POST", "/graphql", `{"query":`+string(document)+`,"variables":`+variables+`}`,
		"Authorization: Bearer "+config.DevAdminToken)
	var response struct {
		Errors []struct {
			Extensions struct{ Errors []schema.FieldError }
		}
	}
	must(s.T, json.Unmarshal(got.Body, &response))

	var lines []string
	for _, e := range response.Errors {
		for _, f := range e.Extensions.Errors {
			line := f.Field + ": " + string(f.Code)
			for name, value := range f.Params {
				line += fmt.Sprintf(" %s=%v", name, value)
			}
			if f.Message == "" || strings.ContainsAny(f.Message, "^[$") || strings.Contains(f.Message, "secret") {
				s.T.Errorf("%s: message %q", line, f.Message)
			}
			lines = append(lines, line)
		}
	}
	if got.Has(`"data":null`) && lines == nil {
		lines = append(lines, got.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

const submit = `mutation($input: SubmitQuoteInput!) { submitQuote(input: $input) { success } }`

// submitInput returns a valid input of submitQuote, with one part replaced.
func submitInput(old, replacement string) string {
	const valid = `{"input":{"sessionId":"s-1",` +
		`"contact":{"firstName":"Ana","lastName":"Pop","email":"ana@example.com"},` +
		`"selections":{"projectType":"web-app"},"estimate":{"min":1,"max":2,"currency":"EUR"}}}`
	return strings.Replace(valid, old, replacement, 1)
}

// Each value of a lead has bounds, which its error names.
func TestBoundsOfValues(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	long := strings.Repeat("é", 101)
	features := func(n int, name func(int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = name(i)
		}
		b, _ := json.Marshal(list)
		return `"projectType":"web-app","features":` + string(b)
	}

	tests := []struct {
		name, old, replacement string
		want                   string
	}{
		{"valid", "", "", ""},
		{"101 characters", `"Ana"`, `"` + long + `"`, "contact.firstName: too_long max=100"},
		{"blank name", `"Ana"`, `"  \u00a0\u200b\u3164\ufe0f\u2800\u00ad "`, "contact.firstName: required"},
		{"missing name", `"firstName":"Ana",`, ``, "contact.firstName: required"},
		{"null object", `{"projectType":"web-app"}`, `null`, "selections.projectType: required"},
		{"object of another type", `{"projectType":"web-app"}`, `"web"`,
			"selections: wrong_type type=object"},
		{"number for a string", `"Ana"`, `7`, "contact.firstName: wrong_type type=string"},
		{"line break", `"Ana"`, `"A\nna"`, "contact.firstName: control_characters"},
		{"only control characters", `"Ana"`, `"\u0000\u0003"`, "contact.firstName: required"},
		{"a value that no message repeats", `ana@example.com`, `secret`, "contact.email: invalid_email"},
		{"address with a name", `ana@example.com`, `Ana <ana@example.com>`,
			"contact.email: invalid_email"},
		{"invisible character in an address", `ana@example.com`, `ana@exa\u200bmple.com`,
			"contact.email: invalid_email"},
		{"only a filler character in a domain", `ana@example.com`, `ana@\u3164.com`,
			"contact.email: invalid_email"},
		{"address of 255", `ana@example.com`, strings.Repeat("a", 243) + `@example.com`,
			"contact.email: too_long max=254"},
		{"four digits", `"lastName"`, `"phone":"12 34","lastName"`, "contact.phone: invalid_phone"},
		{"five digits", `"lastName"`, `"phone":"+1 (23) 4-5","lastName"`, ""},
		{"blanks around a session", `s-1`, ` s-1 `, "sessionId: invalid_session_id"},
		{"double dash", `web-app`, `web--app`, "selections.projectType: not_a_slug"},
		{"empty slug", `web-app`, ``, "selections.projectType: required"},
		{"50 features", `"projectType":"web-app"`,
			features(50, func(i int) string { return "f" + strings.Repeat("a", i) }), ""},
		{"51 features", `"projectType":"web-app"`,
			features(51, func(i int) string { return "f" + strings.Repeat("a", i) }),
			"selections.features: too_many max=50"},
		{"60 times one feature", `"projectType":"web-app"`,
			features(60, func(int) string { return "same" }), ""},
		{"two bad features", `"projectType":"web-app"`,
			`"projectType":"web-app","features":["ok","Not OK",null]`,
			"selections.features[1]: not_a_slug; selections.features[2]: required"},
		{"bad feature instead of a list", `"projectType":"web-app"`,
			`"projectType":"web-app","features":"Not A Slug"`, "selections.features: not_a_slug"},
		{"negative", `"min":1`, `"min":-0.01`, "estimate.min: below_min min=0"},
		{"too much", `"max":2`, `"max":1000000000.01`, "estimate.max: above_max max=1e+09"},
		{"min above max", `"min":1`, `"min":3`, "estimate.min: above_field field=max"},
		{"amount as text", `"min":1`, `"min":"1"`, "estimate.min: wrong_type type=number"},
		{"unknown currency", `EUR`, `EUX`, "estimate.currency: invalid_currency"},
		{"other locale", `"sessionId"`, `"locale":"xx","sessionId"`, unknownLocale},
		{"session of 129", `s-1`, strings.Repeat("s", 129), "sessionId: invalid_session_id"},
		{"unknown fields", `"sessionId"`, `"b":1,"a":2,"sessionId"`,
			"a: unknown_field; b: unknown_field"},
		{"a control character as a name", `"sessionId"`, `"\u0007":1,"sessionId"`,
			"(unprintable): unknown_field"},
		{"a long name", `"sessionId"`, `"` + strings.Repeat("z", 100) + `":1,"sessionId"`,
			"(unprintable): unknown_field"},
	}

	for _, tt := range tests {
		if got := invalid(s, submit, submitInput(tt.old, tt.replacement)); got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// So does each argument, in a variable or in the document.
func TestBoundsOfArguments(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "ADMIN_PAGE=on")

	tests := []struct {
		name, query, variables string
		want                   string
	}{
		{"a literal out of range",
			`mutation { trackQuote(input: {sessionId: "s", estimate: {min: 1e999}}) { success } }`, `{}`,
			"input: unreadable"},
		{"a hint with an unknown field",
			`mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }`,
			`{"i":{"sessionId":"s","formData":{"phone":"1"}}}`, "formData.phone: unknown_field"},
		{"number with a fraction", `query($n: Int) { leads(first: $n) { pageInfo { hasNextPage } } }`,
			`{"n":5.5}`, "first: wrong_type type=integer"},
		{"invalid time", `query($s: DateTime) { leads(filter: {since: $s}, first: 0) { pageInfo { hasNextPage } } }`,
			`{"s":"2026-13-01T00:00:00Z"}`, "filter.since: unreadable; first: below_min min=1"},
		{"a variable out of range", submit, submitInput(`"max":2`, `"max":1e999`),
			"estimate.max: unreadable"},
		{"null for a default",
			`mutation($d: Boolean) { eraseLeads(email: "a@b.co", dryRun: $d) { complete } }`, `{"d":null}`,
			"dryRun: required"},
		{"literal null", `{ content(documentType: "x", locale: null) { id } }`, `{}`,
			"locale: required"},
		{"a variable that is left out",
			`query($l: Locale! = es) { content(documentType: "heroSection", locale: $l) { id } }`, `{}`, ""},
	}

	for _, tt := range tests {
		if got := invalid(s, tt.query, tt.variables); got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestAtMostTwentyFieldsAreReported(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	list := `["` + strings.Repeat(`A","`, 3_000) + `a"]`
	alias := ` submitQuote(input: {sessionId: "s", ` +
		`selections: {projectType: "a", features: $f}}) { success } `
	document := `mutation($f: [String!]) { a:` + alias + `b:` + alias + `c:` + alias + `d:` + alias + `}`

	if got := invalid(s, document, `{"f":`+list+`}`); strings.Count(got, ": ") != schema.MaxFieldErrors {
		t.Errorf("reported: %s", got)
	}
}
