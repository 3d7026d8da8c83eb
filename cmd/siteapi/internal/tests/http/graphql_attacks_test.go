package http

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"siteapi/cmd/siteapi/internal/apptest"
)

// A hostile document is refused within milliseconds of CPU time, also with introspection. The
// test runs alone, since it measures the time of the process.
func TestAttacksAreRefusedQuickly(t *testing.T) {
	s := apptest.Start(t)

	for _, a := range attacks() {
		best := time.Hour
		for range 5 {
			start := processorTime()
			got := s.Do("POST", "/graphql", a.body, acceptGraphQL) // this type gives refusals a status of 4xx
			best = min(best, processorTime()-start)
			if got.Status < 400 || got.Status > 499 || len(got.Body) > 16<<10 || got.Has(`"data"`) {
				t.Errorf("%s: %d, %d bytes, %.200s", a.name, got.Status, len(got.Body), got.Body)
			}
			if best < 100*time.Millisecond {
				break
			}
		}

		t.Logf("%8v  %s", best.Round(10*time.Microsecond), a.name)
		if best > time.Second {
			t.Errorf("%s took %v", a.name, best)
		}
	}
}

// processorTime is the CPU time of this process, which does not depend on other
// processes.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// attack is the body of a hostile request.
type attack struct{ name, body string }

// attacks returns requests that must be refused quickly, even with introspection on.
func attacks() []attack {
	return []attack{
		document("1,000 aliases", "{ "+numbered(1000, "a%d: __typename ")+"}"),
		document(
			"100 aliases of a costly field",
			`mutation { `+numbered(100, `a%d: trackQuote(input: {sessionId: "a"}) { success } `)+"}",
		),
		document("selections 900 deep", strings.Repeat("{ a ", 900)+strings.Repeat("}", 900)),
		document("100,000 comments", strings.Repeat("#\n", 100_000)+"{ __typename }"),
		document("a field 900 times", settings(strings.Repeat("contactPhone ", 900))),
		document(
			"selections that overlap",
			settings(strings.Repeat("contactPhones { "+strings.Repeat("number ", 28)+"} ", 30)),
		),
		document("300 directives on the operation", "query "+strings.Repeat("@a ", 300)+"{ __typename }"),
		document(
			"500 fragments",
			"{ "+numbered(500, "...F%d ")+"} "+numbered(500, "fragment F%d on Query { __typename } "),
		),
		document("fragments that double 40 times", doubling(40)),
		document("a fragment twice, first doubling", doubling(40)+"fragment F0 on SiteSettings { contactPhone }"),
		document(
			"fragments in a circle",
			"{ ...A } fragment A on Query { ...B } fragment B on Query { ...C } fragment C on Query { ...A }",
		),
		document("1,000 unknown fields", settings(numbered(900, "x%d "))),
		document("a name of 900,000 characters", "{ "+strings.Repeat("a", 900_000)+" }"),
		document(
			"a type of 900,000 characters",
			"{ __typename } fragment F on "+strings.Repeat("T", 900_000)+" { a }",
		),
		document(
			"an argument of 900,000 characters",
			"{ content("+strings.Repeat("a", 900_000)+": 1) { id } }",
		),
		document(
			"list values 900 deep",
			`{ content(documentType: `+strings.Repeat("[", 900)+strings.Repeat("]", 900)+`) { id } }`,
		),
		document(
			"nested introspection",
			"{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }",
		),
		{
			"a batch of 1,000",
			"[" + strings.Repeat(`{"query":"{ __typename }"},`, 1000) + `{"query":"{ __typename }"}]`,
		},
		{"variables 200,000 deep", variables(strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000))},
		{"400,000 variables", variables("[" + strings.Repeat("1,", 400_000) + "1]")},
	}
}

func document(name, text string) attack {
	quoted, _ := jsontext.AppendQuote(nil, text) // the texts above are UTF-8
	return attack{name, `{"query":` + string(quoted) + `}`}
}

func variables(value string) string {
	return `{"query":"query A($a: JSON) { __typename }","variables":{"a":` + value + `}}`
}

func settings(inside string) string { return `{ SiteSettings(id: "siteSettings") { ` + inside + ` } }` }

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// doubling returns a document whose fragments, spread out, are 2^n fields.
func doubling(n int) string {
	return settings("...F0") + numbered(n, "fragment F%[1]d on SiteSettings { ...G%[1]d ...G%[1]d } "+
		"fragment G%[1]d on SiteSettings { ...F%[1]d } ")
}
