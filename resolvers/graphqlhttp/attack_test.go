package graphqlhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestAttacksAreRefusedQuickly(t *testing.T) {
	d := newEndpoint(t, func(s *setup) { s.documents.Introspection = true })
	for _, a := range attacks() {
		best := time.Hour
		for range 5 { // other processes share the machine
			req, err := a.request(d.url)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatalf("%s: %v", a.Name, err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			best = min(best, time.Since(start))
			if err != nil || res.StatusCode < 400 || res.StatusCode > 499 || len(body) > 16<<10 {
				t.Errorf("%s: %d, %d bytes, %.200s (%v)", a.Name, res.StatusCode, len(body), body, err)
			}
			if best < 100*time.Millisecond {
				break
			}
		}
		t.Logf("%8v  %s", best.Round(10*time.Microsecond), a.Name)
		if best > time.Second {
			t.Errorf("%s took %v", a.Name, best)
		}
	}
	if n := d.runs.Load(); n != 0 {
		t.Errorf("%d fields were executed", n)
	}
}

// attack is one hostile request.
type attack struct {
	Name        string
	Method      string
	Query       string // query string, without "?"
	ContentType string // of the body
	Body        func() io.Reader
}

// request makes the request for an endpoint. Answers are asked for as
// application/graphql-response+json, so that a refusal is a status of 4xx.
func (a attack) request(endpoint string) (*http.Request, error) {
	target := endpoint
	if a.Query != "" {
		target += "?" + a.Query
	}
	req, err := http.NewRequest(a.Method, target, a.Body())
	if err != nil {
		return nil, fmt.Errorf("making the request %q: %w", a.Name, err)
	}
	req.Header.Set("Accept", "application/graphql-response+json")
	if a.ContentType != "" {
		req.Header.Set("Content-Type", a.ContentType)
	}
	return req, nil
}

// attacks are requests that a public endpoint has to refuse quickly, with introspection on.
func attacks() []attack {
	list := []attack{
		document("1,000 aliases", "{ "+numbered(1000, "a%d: __typename ")+"}"),
		document("100 aliases of a costly field", `mutation { `+numbered(100,
			`a%d: trackQuote(input: {sessionId: "a"}) { success } `)+"}"),
		document("selections 10,000 deep", strings.Repeat("{ a ", 10_000)+strings.Repeat("}", 10_000)),
		document("selections 900 deep", strings.Repeat("{ a ", 900)+strings.Repeat("}", 900)),
		document("inline fragments 500 deep", settings(strings.Repeat("... { contactPhone ", 320)+strings.Repeat("}", 320))),
		document("100,000 tokens", "{ "+strings.Repeat("a ", 100_000)+"}"),
		document("100,000 comments", strings.Repeat("#\n", 100_000)+"{ __typename }"),
		document("a field 1,900 times", settings(strings.Repeat("contactPhone ", 1900))),
		document("a field 900 times", settings(strings.Repeat("contactPhone ", 900))),
		document("selections that overlap", settings(strings.Repeat("contactPhones { "+strings.Repeat("number ", 28)+"} ", 30))),
		document("1,000 directives", settings("contactPhone "+strings.Repeat("@skip(if: false) ", 1000))),
		document("300 directives on the operation", "query "+strings.Repeat("@a ", 300)+"{ __typename }"),
		document("500 fragments", "{ "+numbered(500, "...F%d ")+"} "+numbered(500, "fragment F%d on Query { __typename } ")),
		document("fragments that double 40 times", doubling(40)),
		document("a fragment in itself", "{ ...A } fragment A on Query { ...A }"),
		document("fragments in a circle",
			"{ ...A } fragment A on Query { ...B } fragment B on Query { ...C } fragment C on Query { ...A }"),
		document("1,000 unknown fields", settings(numbered(900, "x%d "))),
		document("a name of 900,000 characters", "{ "+strings.Repeat("a", 900_000)+" }"),
		document("a string of 900,000 characters", `{ content(wrong: "`+strings.Repeat("a", 900_000)+`") { id } }`),
		document("list values 900 deep", `{ content(documentType: `+strings.Repeat("[", 900)+strings.Repeat("]", 900)+`) { id } }`),
		document("nested introspection", "{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }"),
		document("100 times introspection", "{ "+numbered(100, "a%d: __schema { types { name fields { name } } } ")+"}"),
		body("a batch of 1,000", "["+strings.Repeat(`{"query":"{ __typename }"},`, 1000)+`{"query":"{ __typename }"}]`),
		body("variables 200,000 deep", variables(strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000))),
		body("400,000 variables", variables("["+strings.Repeat("1,", 400_000)+"1]")),
		body("a name twice", `{"query":"{ __typename }","query":"{ cacheStats { success } }"}`),
		body("invalid UTF-8", "{\"query\":\"{ __typename } # \xff\"}"),
		body("half a body", `{"query":"{ __typename`),
		{Name: "a mutation by GET", Method: http.MethodGet,
			Query: url.Values{"query": {`mutation { clearCache(all: true) { success } }`}}.Encode()},
	}
	form := func(contentType, text string) attack {
		return attack{Name: "a POST of " + contentType, Method: http.MethodPost, ContentType: contentType, Body: reader(text)}
	}
	list = append(list,
		form("application/x-www-form-urlencoded", "query=%7B__typename%7D"),
		form("multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\n{__typename}\r\n--x--\r\n"),
		form("text/plain", `{"query":"{ __typename }"}`),
		form("", `{"query":"{ __typename }"}`),
		attack{Name: "10 MB", Method: http.MethodPost, ContentType: "application/json", Body: func() io.Reader {
			return strings.NewReader(strings.Repeat(" ", 10<<20))
		}},
		attack{Name: "10 MB in chunks", Method: http.MethodPost, ContentType: "application/json", Body: func() io.Reader {
			return io.LimitReader(strings.NewReader(strings.Repeat(" ", 10<<20)), 10<<20)
		}},
	)
	for i := range list {
		if list[i].Body == nil {
			list[i].Body = func() io.Reader { return http.NoBody }
		}
	}
	return list
}

func reader(text string) func() io.Reader {
	return func() io.Reader { return strings.NewReader(text) }
}

func body(name, text string) attack {
	return attack{Name: name, Method: http.MethodPost, ContentType: "application/json", Body: reader(text)}
}

func document(name, text string) attack {
	quoted, _ := jsontext.AppendQuote(nil, text) // the texts above are UTF-8
	return body(name, `{"query":`+string(quoted)+`}`)
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

// doubling is a document whose fragments, spread out, are 2^n fields.
func doubling(n int) string {
	return settings("...F0") + numbered(n,
		"fragment F%[1]d on SiteSettings { ...G%[1]d ...G%[1]d } fragment G%[1]d on SiteSettings { ...F%[1]d } ")
}
