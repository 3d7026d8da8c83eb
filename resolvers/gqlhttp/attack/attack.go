// Package attack lists requests that a public GraphQL endpoint has to refuse quickly.
// The door's tests send them, and so does the service's benchmark.
package attack

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Attack is one hostile request.
type Attack struct {
	Name        string
	Method      string
	Query       string // query string, without "?"
	ContentType string // of the body
	Body        func() io.Reader
}

// Request makes the request for an endpoint. Answers are asked for as
// application/graphql-response+json, so that a refusal is a status of 4xx.
func (a Attack) Request(endpoint string) (*http.Request, error) {
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

// List returns the attacks. None of them needs introspection to be off.
func List() []Attack {
	list := []Attack{
		document("1,000 aliases", "{ "+numbered(1000, "a%d: __typename ")+"}"),
		document("100 aliases of a costly field", `mutation { `+numbered(100, `a%d: trackQuote(input: {sessionId: "a"}) { success } `)+"}"),
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
		document("fragments in a circle", "{ ...A } fragment A on Query { ...B } fragment B on Query { ...C } fragment C on Query { ...A }"),
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
		{Name: "a mutation by GET", Method: http.MethodGet, Query: url.Values{"query": {`mutation { clearCache(all: true) { success } }`}}.Encode()},
	}
	form := func(contentType, text string) Attack {
		return Attack{Name: "a POST of " + contentType, Method: http.MethodPost, ContentType: contentType, Body: reader(text)}
	}
	list = append(list,
		form("application/x-www-form-urlencoded", "query=%7B__typename%7D"),
		form("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\n{__typename}\r\n--x--\r\n"),
		form("text/plain", `{"query":"{ __typename }"}`),
		form("", `{"query":"{ __typename }"}`),
		Attack{Name: "10 MB", Method: http.MethodPost, ContentType: "application/json", Body: func() io.Reader {
			return strings.NewReader(strings.Repeat(" ", 10<<20))
		}},
		Attack{Name: "10 MB in chunks", Method: http.MethodPost, ContentType: "application/json", Body: func() io.Reader {
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

func body(name, text string) Attack {
	return Attack{Name: name, Method: http.MethodPost, ContentType: "application/json", Body: reader(text)}
}

func document(name, text string) Attack {
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
	return settings("...F0") + numbered(n, "fragment F%[1]d on SiteSettings { ...G%[1]d ...G%[1]d } fragment G%[1]d on SiteSettings { ...F%[1]d } ")
}
