package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"siteapi/schema"
	"siteapi/schema/exec"
)

// unknownLocale is the line that check returns for a locale that the site does not have.
var unknownLocale = fmt.Sprintf("locale: not_allowed allowed=%v", schema.AllLocale)

// checked returns the invalid values of a document's operation, and its dropped hints.
func checked(t *testing.T, query, variables string) (invalid []schema.FieldError, dropped []string) {
	t.Helper()

	c := schema.NewInputChecker(exec.AST())
	doc, err := parser.ParseQuery(&ast.Source{Input: query})
	if err != nil {
		t.Fatal(err)
	}

	// The rules reject some of the tested values, so their errors are ignored.
	validator.ValidateWithRules(exec.AST(), doc, rules.NewDefaultRules())

	vars := map[string]any{}
	if variables != "" {
		decoder := json.NewDecoder(strings.NewReader(variables))
		decoder.UseNumber()
		if err := decoder.Decode(&vars); err != nil {
			t.Fatal(err)
		}
	}

	return c.Check(doc.Operations[0], vars, false)
}

// check returns the invalid values of a document's operation as "field: code" lines, and
// its dropped hints.
func check(t *testing.T, query, variables string) []string {
	t.Helper()

	var lines []string
	invalid, dropped := checked(t, query, variables)
	for _, name := range dropped {
		lines = append(lines, name+": dropped")
	}

	for _, f := range invalid {
		line := f.Field + ": " + string(f.Code)
		for name, value := range f.Params {
			line += fmt.Sprintf(" %s=%v", name, value)
		}

		if f.Message == "" || strings.ContainsAny(f.Message, "^[$") {
			t.Errorf("%s: message %q", line, f.Message)
		}
		lines = append(lines, line)
	}

	slices.Sort(lines)
	return lines
}

const submit = `mutation($input: SubmitQuoteInput!) { submitQuote(input: $input) { success } }`

// submitInput returns a valid input of submitQuote, with one part replaced.
func submitInput(old, replacement string) string {
	const valid = `{"input":{"sessionId":"s-1",` +
		`"contact":{"firstName":"Ana","lastName":"Pop","email":"ana@example.com"},` +
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
		{"101 characters", `"Ana"`, `"` + long + `"`, []string{"contact.firstName: too_long max=100"}},
		{"blank name", `"Ana"`, `"  \u00a0\u200b\u3164\ufe0f\u2800\u00ad "`, []string{"contact.firstName: required"}},
		{"missing name", `"firstName":"Ana",`, ``, []string{"contact.firstName: required"}},
		{"null object", `{"projectType":"web-app"}`, `null`, []string{"selections.projectType: required"}},
		{"object of another type", `{"projectType":"web-app"}`, `"web"`,
			[]string{"selections: wrong_type type=object"}},
		{"number for a string", `"Ana"`, `7`, []string{"contact.firstName: wrong_type type=string"}},
		{"line break", `"Ana"`, `"A\nna"`, []string{"contact.firstName: control_characters"}},
		{"only control characters", `"Ana"`, `"\u0000\u0003"`, []string{"contact.firstName: required"}},
		{"half an address", `ana@example.com`, `ana@`, []string{"contact.email: invalid_email"}},
		{"address with a name", `ana@example.com`, `Ana <ana@example.com>`,
			[]string{"contact.email: invalid_email"}},
		{"invisible character in an address", `ana@example.com`, `ana@exa\u200bmple.com`,
			[]string{"contact.email: invalid_email"}},
		{"only a filler character in a domain", `ana@example.com`, `ana@\u3164.com`,
			[]string{"contact.email: invalid_email"}},
		{"address of 255", `ana@example.com`, strings.Repeat("a", 243) + `@example.com`,
			[]string{"contact.email: too_long max=254"}},
		{"four digits", `"lastName"`, `"phone":"12 34","lastName"`, []string{"contact.phone: invalid_phone"}},
		{"five digits", `"lastName"`, `"phone":"+1 (23) 4-5","lastName"`, nil},
		{"blanks around a session", `s-1`, ` s-1 `, []string{"sessionId: invalid_session_id"}},
		{"double dash", `web-app`, `web--app`, []string{"selections.projectType: not_a_slug"}},
		{"empty slug", `web-app`, ``, []string{"selections.projectType: required"}},
		{"50 features", `"projectType":"web-app"`,
			features(50, func(i int) string { return "f" + strings.Repeat("a", i) }), nil},
		{"51 features", `"projectType":"web-app"`,
			features(51, func(i int) string { return "f" + strings.Repeat("a", i) }),
			[]string{"selections.features: too_many max=50"}},
		{"60 times one feature", `"projectType":"web-app"`,
			features(60, func(int) string { return "same" }), nil},
		{"two bad features", `"projectType":"web-app"`,
			`"projectType":"web-app","features":["ok","Not OK",null]`,
			[]string{"selections.features[1]: not_a_slug", "selections.features[2]: required"}},
		{"bad feature instead of a list", `"projectType":"web-app"`,
			`"projectType":"web-app","features":"Not A Slug"`, []string{"selections.features: not_a_slug"}},
		{"negative", `"min":1`, `"min":-0.01`, []string{"estimate.min: below_min min=0"}},
		{"too much", `"max":2`, `"max":1000000000.01`, []string{"estimate.max: above_max max=1e+09"}},
		{"min above max", `"min":1`, `"min":3`, []string{`estimate.min: above_field field=max`}},
		{"amount as text", `"min":1`, `"min":"1"`, []string{"estimate.min: wrong_type type=number"}},
		{"unknown currency", `EUR`, `EUX`, []string{"estimate.currency: invalid_currency"}},
		{"other locale", `"sessionId"`, `"locale":"xx","sessionId"`, []string{unknownLocale}},
		{"session of 129", `s-1`, strings.Repeat("s", 129), []string{"sessionId: invalid_session_id"}},
		{"unknown fields", `"sessionId"`, `"b":1,"a":2,"sessionId"`,
			[]string{"a: unknown_field", "b: unknown_field"}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := check(t, submit, submitInput(tt.old, tt.replacement)); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestLineBreaks checks that only texts with several lines may have line breaks, and that
// other control characters, which nobody sees, refuse no text.
func TestLineBreaks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, replacement, want string }{
		{`"Ana"`, `"A\nna"`, "must not contain line breaks"},
		{`"sessionId"`, `"message":"A\r\n\tna","sessionId"`, ""},
		{`"sessionId"`, `"message":"A\nna\u001b","sessionId"`, ""},
		{`"Ana"`, `"A\tn\u0003a"`, ""},
	} {
		var messages string
		invalid, _ := checked(t, submit, submitInput(tt.old, tt.replacement))
		for _, f := range invalid {
			messages += f.Message
		}
		if messages != tt.want {
			t.Errorf("%s: %q, want %q", tt.replacement, messages, tt.want)
		}
	}
}

func TestCheckReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()

	want := []string{
		"contact.email: required",
		"contact.firstName: required",
		"contact.lastName: wrong_type type=string",
		"estimate.currency: invalid_currency",
		"estimate.max: required",
		"estimate.min: below_min min=0",
		"selections.projectType: required",
		"sessionId: required",
	}

	variables := `{"input":{"contact":{"lastName":5},"estimate":{"min":-1,"currency":"X"}}}`
	if got := check(t, submit, variables); !slices.Equal(got, want) {
		t.Errorf("variables: got %q\nwant %q", got, want)
	}

	literal := `mutation { submitQuote(input: {` +
		`contact: {lastName: 5}, estimate: {min: -1, currency: "X"}}) { success } }`
	if got := check(t, literal, ""); !slices.Equal(got, want) {
		t.Errorf("literals: got %q\nwant %q", got, want)
	}
}

func TestCheckArguments(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, query, variables string
		want                   []string
	}{
		{"missing input", submit, `{}`, []string{
			"contact.email: required",
			"contact.firstName: required",
			"contact.lastName: required",
			"estimate.currency: required",
			"estimate.max: required",
			"estimate.min: required",
			"selections.projectType: required",
			"sessionId: required",
		}},
		{"a literal out of range",
			`mutation { trackQuote(input: {sessionId: "s", estimate: {min: 1e999}}) { success } }`, ``,
			[]string{"input: unreadable"}},
		{"invalid hints", `mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }`,
			`{"i":{"sessionId":"s","formData":{"firstName":["a"]},"selections":{"projectType":" "}}}`,
			[]string{"formData.firstName: dropped"}},
		{"hints of other types", `mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }`,
			`{"i":{"sessionId":"s","formData":7,"selections":{"projectType":["x"],"features":["a",{},"b"]},` +
				`"estimate":{"min":"x","max":1e999}}}`,
			[]string{
				"estimate.max: dropped",
				"estimate.min: dropped",
				"formData: dropped",
				"selections.features[1]: dropped",
				"selections.projectType: dropped",
			}},
		{"a hint with an unknown field",
			`mutation($i: TrackQuoteInput!) { trackQuote(input: $i) { success } }`,
			`{"i":{"sessionId":"s","formData":{"phone":"1"}}}`, []string{"formData.phone: unknown_field"}},
		{"default of a variable",
			`query($l: Locale! = es) { content(documentType: "x", locale: $l) { id } }`, ``, nil},
		{"long pattern", `mutation($p: String) { clearCache(pattern: $p) { success } }`,
			`{"p":"` + strings.Repeat("x", 257) + `"}`, []string{"pattern: too_long max=256"}},
		{"number with a fraction", `query($n: Int) { leads(first: $n) { pageInfo { hasNextPage } } }`,
			`{"n":5.5}`, []string{"first: wrong_type type=integer"}},
		{"invalid time", `query($s: DateTime) { leads(since: $s, first: 0) { pageInfo { hasNextPage } } }`,
			`{"s":"2026-13-01T00:00:00Z"}`, []string{"first: below_min min=1", "since: unreadable"}},
		{"empty payload", `mutation($p: JSON!) { receiveCmsWebhook(payload: $p) { success } }`, `{"p":{}}`,
			[]string{"payload: empty"}},
		{"a variable out of range", submit, submitInput(`"max":2`, `"max":1e999`),
			[]string{"estimate.max: unreadable"}},
		{"null for a default",
			`mutation($d: Boolean) { eraseLeads(email: "a@b.co", dryRun: $d) { complete } }`, `{"d":null}`,
			[]string{"dryRun: required"}},
		{"literal null", `{ content(documentType: "x", locale: null) { id } }`, ``,
			[]string{"locale: required"}},
		{"a variable that is left out",
			`query($l: Locale! = es) { content(documentType: "x", locale: $l) { id } }`, `{}`, nil},
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

func TestAtMostTwentyFieldsAreReported(t *testing.T) {
	t.Parallel()

	list := `["` + strings.Repeat(`A","`, 21_000) + `a"]`
	alias := ` submitQuote(input: {sessionId: "s", ` +
		`selections: {projectType: "a", features: $f}}) { success } `
	document := `mutation($f: [String!]) { a:` + alias + `b:` + alias + `c:` + alias + `d:` + alias + `}`

	if got := check(t, document, `{"f":`+list+`}`); len(got) != schema.MaxFieldErrors {
		t.Errorf("%d fields are reported", len(got))
	}
}

func TestMessagesNeverRepeatValues(t *testing.T) {
	t.Parallel()

	lines := check(t, submit, submitInput("ana@example.com", "secret-value"))
	if len(lines) == 0 || strings.Contains(strings.Join(lines, " "), "secret-value") {
		t.Errorf("got %q, want an error without the value", lines)
	}

	odd := `{"input":{"sessionId":"s","contact":{"firstName":"a","lastName":"b","email":"a@b.co"},` +
		`"selections":{"projectType":"x"},` +
		`"estimate":{"min":1,"max":2,"currency":"EUR"},"\u0007` + strings.Repeat("z", 100) + `":1}}`
	if got := check(t, submit, odd); !slices.Equal(got, []string{"(unprintable): unknown_field"}) {
		t.Errorf("got %q", got)
	}
}
