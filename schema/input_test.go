package schema_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"siteapi/schema"
)

// check parses a document without validating it and returns "field: message" lines.
func check(t *testing.T, query, variables string) []string {
	t.Helper()
	c, err := schema.NewInputChecker(schema.AST())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: query})
	if err != nil {
		t.Fatal(err)
	}
	var vars map[string]any
	if variables != "" {
		if err := json.Unmarshal([]byte(variables), &vars); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for _, f := range c.Check(doc, doc.Operations[0], vars) {
		lines = append(lines, f.Field+": "+f.Message)
	}
	slices.Sort(lines)
	return lines
}

const submit = `mutation($input: SubmitQuoteInput!) { submitQuote(input: $input) { success } }`

// submission returns a valid input with one part replaced.
func submission(old, replacement string) string {
	const valid = `{"input":{"sessionId":"s-1","contact":{"firstName":"Ana","lastName":"Pop","email":"ana@example.com"},` +
		`"selections":{"projectType":"web-app"},"estimate":{"min":1,"max":2,"currency":"EUR"}}}`
	return strings.Replace(valid, old, replacement, 1)
}

func TestCheckBounds(t *testing.T) {
	t.Parallel()
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
		want                   []string
	}{
		{"valid", "", "", nil},
		{"optional fields null", `"email":"ana@example.com"`, `"email":"ana@example.com","phone":null,"company":null`, nil},
		{"100 characters of two bytes", `"Ana"`, `"` + long[:200] + `"`, nil},
		{"101 characters", `"Ana"`, `"` + long + `"`, []string{"contact.firstName: may have at most 100 characters"}},
		{"blank name", `"Ana"`, `"  \u00a0 "`, []string{"contact.firstName: is required"}},
		{"missing name", `"firstName":"Ana",`, ``, []string{"contact.firstName: is required"}},
		{"null object", `{"projectType":"web-app"}`, `null`, []string{"selections.projectType: is required"}},
		{"object of another type", `{"projectType":"web-app"}`, `"web"`, []string{"selections: must be an object"}},
		{"list for an object", `{"projectType":"web-app"}`, `[]`, []string{"selections: must be an object"}},
		{"number for a string", `"Ana"`, `7`, []string{"contact.firstName: must be a string"}},
		{"NUL", `"Ana"`, `"A\u0000na"`, []string{"contact.firstName: may not hold control characters"}},
		{"half an address", `ana@example.com`, `ana@`, []string{"contact.email: must be an e-mail address such as ana@example.com"}},
		{"address with a name", `ana@example.com`, `Ana <ana@example.com>`, []string{"contact.email: must be an e-mail address such as ana@example.com"}},
		{"address in brackets", `ana@example.com`, `<ana@example.com>`, []string{"contact.email: must be an e-mail address such as ana@example.com"}},
		{"host without a dot", `ana@example.com`, `ana@localhost`, []string{"contact.email: must be an e-mail address such as ana@example.com"}},
		{"address of 255", `ana@example.com`, strings.Repeat("a", 243) + `@example.com`, []string{"contact.email: may have at most 254 characters"}},
		{"four digits", `"lastName"`, `"phone":"12 34","lastName"`, []string{"contact.phone: must be a telephone number with at least 5 digits"}},
		{"five digits", `"lastName"`, `"phone":"+1 (23) 4-5","lastName"`, nil},
		{"blanks around a session", `s-1`, ` s-1 `, []string{"sessionId: must match ^[A-Za-z0-9._:-]{1,128}$"}},
		{"an unchosen timeline", `"projectType"`, `"timeline":"","complexity":"","projectType"`, nil},
		{"empty phone", `"lastName"`, `"phone":"","lastName"`, nil},
		{"33 digits", `"lastName"`, `"phone":"` + strings.Repeat("1", 33) + `","lastName"`, []string{"contact.phone: may have at most 32 characters"}},
		{"capital slug", `web-app`, `Web-App`, []string{"selections.projectType: must match ^[a-z0-9]+(?:[-_][a-z0-9]+)*$"}},
		{"double dash", `web-app`, `web--app`, []string{"selections.projectType: must match ^[a-z0-9]+(?:[-_][a-z0-9]+)*$"}},
		{"empty slug", `web-app`, ``, []string{"selections.projectType: must match ^[a-z0-9]+(?:[-_][a-z0-9]+)*$"}},
		{"slug of 65", `web-app`, strings.Repeat("a", 65), []string{"selections.projectType: may have at most 64 characters"}},
		{"50 features", `"projectType":"web-app"`, features(50, func(i int) string { return "f" + strings.Repeat("a", i) }), nil},
		{"51 features", `"projectType":"web-app"`, features(51, func(i int) string { return "f" + strings.Repeat("a", i) }), []string{"selections.features: may hold at most 50 different items"}},
		{"60 times one feature", `"projectType":"web-app"`, features(60, func(int) string { return "same" }), nil},
		{"two bad features", `"projectType":"web-app"`, `"projectType":"web-app","features":["ok","Not OK",null]`, []string{
			"selections.features[1]: must match ^[a-z0-9]+(?:[-_][a-z0-9]+)*$", "selections.features[2]: may not be null",
		}},
		{"negative", `"min":1`, `"min":-0.01`, []string{"estimate.min: may not be below 0"}},
		{"too much", `"max":2`, `"max":1000000000.01`, []string{"estimate.max: may not be above 1000000000"}},
		{"bounds of amounts", `"min":1,"max":2`, `"min":0,"max":1e9`, nil},
		{"min above max", `"min":1`, `"min":3`, []string{`estimate.min: may not be above "max"`}},
		{"amount as text", `"min":1`, `"min":"1"`, []string{"estimate.min: must be a number"}},
		{"small currency", `EUR`, `eur`, []string{"estimate.currency: must be a currency of ISO 4217, such as EUR"}},
		{"no currency", `EUR`, `EUX`, []string{"estimate.currency: must be a currency of ISO 4217, such as EUR"}},
		{"other locale", `"sessionId"`, `"locale":"fr","sessionId"`, []string{"locale: must be one of en, es, ro"}},
		{"session of 129", `s-1`, strings.Repeat("s", 129), []string{"sessionId: must match ^[A-Za-z0-9._:-]{1,128}$"}},
		{"session with a space", `s-1`, `s 1`, []string{"sessionId: must match ^[A-Za-z0-9._:-]{1,128}$"}},
		{"unknown fields", `"sessionId"`, `"b":1,"a":2,"sessionId"`, []string{
			"a: is not a field of SubmitQuoteInput", "b: is not a field of SubmitQuoteInput",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := check(t, submit, submission(tt.old, tt.replacement)); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestCheckReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	want := []string{
		"contact.email: is required", "contact.firstName: is required", "contact.lastName: must be a string",
		"estimate.currency: must be a currency of ISO 4217, such as EUR", "estimate.max: is required",
		"estimate.min: may not be below 0", "selections.projectType: is required", "sessionId: is required",
	}
	variables := `{"input":{"contact":{"lastName":5},"estimate":{"min":-1,"currency":"X"}}}`
	if got := check(t, submit, variables); !slices.Equal(got, want) {
		t.Errorf("variables: got %q\nwant %q", got, want)
	}
	literal := `mutation { submitQuote(input: {contact: {lastName: 5}, estimate: {min: -1, currency: "X"}}) { success } }`
	if got := check(t, literal, ""); !slices.Equal(got, want) {
		t.Errorf("literals: got %q\nwant %q", got, want)
	}
	inFragment := `mutation { ...f } fragment f on Mutation { submitQuote(input: {contact: {lastName: 5}, estimate: {min: -1, currency: "X"}}) { success } }`
	if got := check(t, inFragment, ""); !slices.Equal(got, want) {
		t.Errorf("in a fragment: got %q\nwant %q", got, want)
	}
}

func TestCheckArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, query, variables string
		want                   []string
	}{
		{"missing input", submit, `{}`, []string{
			"contact.email: is required", "contact.firstName: is required", "contact.lastName: is required", "estimate.currency: is required",
			"estimate.max: is required", "estimate.min: is required", "selections.projectType: is required", "sessionId: is required",
		}},
		{"a number out of all range", `mutation { trackQuote(input: {sessionId: "s", estimate: {min: 1e999}}) { success } }`, ``,
			[]string{"input: holds a value that can't be read, such as a number out of range"}},
		{"hints that are not usable", `mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }`,
			`{"i":{"sessionId":"s","formData":{"firstName":"a\tb"},"selections":{"projectType":" ","timeline":"\u0000"}}}`, nil},
		{"plain argument", `query($id: ID!) { quotePdf(id: $id) { size } }`, `{"id":""}`, []string{"id: is required"}},
		{"numeric id", `query($id: ID!) { quotePdf(id: $id) { size } }`, `{"id":7}`, nil},
		{"default of a variable", `query($l: Locale! = es) { content(documentType: "x", locale: $l) { id } }`, ``, nil},
		{"default of an argument", `{ content(documentType: "x") { id } }`, ``, nil},
		{"bad literal enum", `{ content(documentType: "x", locale: fr) { id } }`, ``, []string{"locale: must be one of en, es, ro"}},
		{"nested variable", `mutation($s: String!) { trackQuote(input: {sessionId: $s}) { success } }`, `{"s":"a b"}`,
			[]string{"sessionId: must match ^[A-Za-z0-9._:-]{1,128}$"}},
		{"long pattern", `mutation($p: String) { clearCache(pattern: $p) { success } }`, `{"p":"` + strings.Repeat("x", 257) + `"}`,
			[]string{"pattern: may have at most 256 characters"}},
		{"boolean as text", `mutation($a: Boolean) { clearCache(all: $a) { success } }`, `{"a":"true"}`, []string{"all: must be true or false"}},
		{"empty payload", `mutation($p: JSON!) { receiveCmsWebhook(payload: $p) { success } }`, `{"p":{}}`, []string{"payload: may not be empty"}},
		{"any JSON payload", `mutation($p: JSON!) { receiveCmsWebhook(payload: $p) { success } }`, `{"p":{"a":[1,null]}}`, nil},
		{"fragments that spread themselves", `query { ...a } fragment a on Query { ...a }`, ``, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := check(t, tt.query, tt.variables); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestMessagesNeverRepeatValues(t *testing.T) {
	t.Parallel()
	lines := check(t, submit, submission("ana@example.com", "secret-value"))
	if len(lines) == 0 || strings.Contains(strings.Join(lines, " "), "secret-value") {
		t.Errorf("got %q, want an error without the value", lines)
	}
	odd := `{"input":{"sessionId":"s","contact":{"firstName":"a","lastName":"b","email":"a@b.co"},"selections":{"projectType":"x"},` +
		`"estimate":{"min":1,"max":2,"currency":"EUR"},"\u0007` + strings.Repeat("z", 100) + `":1}}`
	if got := check(t, submit, odd); !slices.Equal(got, []string{"(unprintable): is not a field of SubmitQuoteInput"}) {
		t.Errorf("got %q", got)
	}
}
