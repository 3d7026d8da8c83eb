package graphqlhttp_test

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// An empty list of errors reports a missing document, under any alias of the root field.
// The contract's tests have the other responses.
func TestMissingDocument(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	for _, c := range []struct{ accept, query, want string }{
		{
			typeGraphQL,
			`{ SiteSettings(id: "other") { contactPhone } }`,
			`{"data":{"SiteSettings":null}}`,
		},
		{
			typeJSON,
			`{ a: SiteSettings(id: "siteSettings") { contactPhone } ` +
				`b: SiteSettings(id: "other") { contactPhone } }`,
			`{"data":{"a":{"contactPhone":"+1 555 0100"},"b":null},"errors":[]}`,
		},
		{ // a null further down
			typeJSON,
			`{ SiteSettings(id: "siteSettings") { SiteSettings: logo { asset { url } } } }`,
			`{"data":{"SiteSettings":{"SiteSettings":null}}}`,
		},
	} {
		got := d.ask(t, c.accept, c.query)
		if got.status != 200 || got.body != c.want || got.header.Get("Content-Type") != c.accept+"; charset=utf-8" {
			t.Errorf("%s: %d %s, want %s", c.query, got.status, got.body, c.want)
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	query := url.Values{
		"query": {
			`query A($id: ID!) { SiteSettings(id: $id) { contactPhone } } query B { __typename }`,
		},
		"operationName": {"A"},
		"variables":     {`{"id":"siteSettings"}`},
		"extensions":    {""},
	}

	got := d.do(t, "GET", query.Encode(), nil, nil)
	if want := `{"data":{"SiteSettings":{"contactPhone":"+1 555 0100"}}}`; got.body != want {
		t.Errorf("got %d %s", got.status, got.body)
	}

	options := d.do(t, "OPTIONS", "", nil, nil)
	if options.status != 204 || options.header.Get("Allow") != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("OPTIONS: %d %v", options.status, options.header)
	}

	head := d.do(t, "HEAD", query.Encode(), nil, nil)
	if head.status != 200 || head.body != "" || head.header.Get("ETag") != got.header.Get("ETag") {
		t.Errorf("HEAD: %d %q %v", head.status, head.body, head.header)
	}
}

// refusal is a request that is refused with a status, 400 by default, or with 200 if it is
// well-formed and asks for application/json.
type refusal struct {
	name, method, query, body string // the method is POST if it is empty
	header                    http.Header
	status                    int
	wellFormed                bool
	code, allow               string // BAD_USER_INPUT if the code is empty
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	valid := `{"query":"{ __typename }"}`
	refuses := func(c refusal) {
		t.Helper()
		for _, accept := range []string{typeJSON, typeGraphQL} {
			want := cmp.Or(c.status, 400)
			if c.wellFormed && accept == typeJSON {
				want = 200
			}

			header := http.Header{"Accept": {accept}, "Content-Type": {typeJSON}}
			maps.Copy(header, c.header)
			got := d.do(t, cmp.Or(c.method, "POST"), c.query, header, strings.NewReader(c.body))
			if _, code := got.firstError(t); got.status != want || code != cmp.Or(c.code, "BAD_USER_INPUT") {
				t.Errorf("%s: %d %s, want %d %s", c.name, got.status, got.body, want, c.code)
			}
			if strings.Contains(got.body, "secret") || strings.Contains(got.body, `"data"`) {
				t.Errorf("%s: response %s repeats the request or has data", c.name, got.body)
			}
			if got.header.Get("Content-Type") != accept+"; charset=utf-8" || got.header.Get("Allow") != c.allow ||
				got.header.Get("Cache-Control") != "no-store" || got.header.Get("Vary") != "Accept" {
				t.Errorf("%s: headers %v", c.name, got.header)
			}
		}
	}

	// Malformed bodies have the same status for both media types.
	for name, body := range map[string]string{
		"not JSON":                 `{"query":"{ secret`,
		"no body":                  ``,
		"query in capitals":        `{"Query":"{ __typename }"}`,
		"variables are a list":     `{"query":"{ __typename }","variables":["secret"]}`,
		"operation name is a list": `{"query":"{ __typename }","operationName":[]}`,
	} {
		refuses(refusal{name: name, body: body})
	}

	// So have malformed query strings.
	for name, query := range map[string]string{
		"a GET without a query":                 "",
		"a GET with two queries":                "query=%7B__typename%7D&query=%7B__typename%7D",
		"a GET in invalid UTF-8":                "query=%ff",
		"a GET with variables that aren't JSON": "query=%7B__typename%7D&variables=secret",
	} {
		refuses(refusal{name: name, method: "GET", query: query})
	}

	// Well-formed requests that cannot run get 200 as application/json.
	for name, body := range map[string]string{
		"a deferred part":                asQuery(t, `{ SiteSettings(id: "x") { ... @defer { contactPhone } } }`),
		"a document that does not parse": asQuery(t, `{`),
		"an unknown field":               asQuery(t, `{ nothing }`),
		"a variable that is missing":     asQuery(t, `query A($id: ID!) { SiteSettings(id: $id) { contactPhone } }`),
		"a value of the wrong type":      asQuery(t, `{ content(documentType: 7) { id } }`),
		"introspection":                  asQuery(t, `{ __schema { types { name } } }`),
		"a type of the schema":           asQuery(t, `{ ...F } fragment F on Query { __type(name: "Query") { name } }`),
		"an unknown operation":           `{"query":"query A { __typename }","operationName":"B"}`,
	} {
		refuses(refusal{name: name, body: body, wellFormed: true})
	}

	// A POST with these headers is not read.
	for name, header := range map[string]http.Header{
		"a form":  {"Content-Type": {"application/x-www-form-urlencoded"}},
		"no type": {"Content-Type": nil},
	} {
		refuses(refusal{name: name, header: header, body: valid, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"})
	}

	mutation := url.Values{"query": {`mutation { clearCache(all: true) { success } }`}}.Encode()
	for _, c := range []refusal{
		{name: "PUT", method: "PUT", body: valid, allow: "GET, HEAD, OPTIONS, POST"},
		{name: "a mutation by GET", method: "GET", query: mutation, allow: "POST"},
	} {
		c.status, c.code = 405, "METHOD_NOT_ALLOWED"
		refuses(c)
	}
}
