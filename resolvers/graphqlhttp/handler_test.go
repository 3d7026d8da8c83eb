package graphqlhttp_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	phone := `{"data":{"SiteSettings":{"contactPhone":"+1 555 0100"}}}`
	cases := []struct {
		name, accept, query, want string
	}{
		{"success has no errors key", "", `{ SiteSettings(id: "siteSettings") { contactPhone } }`, phone},
		{"success as graphql-response", typeGraphQL, `{ SiteSettings(id: "siteSettings") { contactPhone } }`, phone},
		{"no such document", "", `{ SiteSettings(id: "other") { contactPhone } }`, `{"data":{"SiteSettings":null},"errors":[]}`},
		{"no such document as graphql-response", typeGraphQL, `{ SiteSettings(id: "other") { contactPhone } }`, `{"data":{"SiteSettings":null}}`},
		{"under an alias", "", `{ s: SiteSettings(id: "other") { contactPhone } }`, `{"data":{"s":null},"errors":[]}`},
		{"through a fragment", "", `{ ...F } fragment F on Query { SiteSettings(id: "other") { contactPhone } }`, `{"data":{"SiteSettings":null},"errors":[]}`},
		{"one of two is null", "", `{ a: SiteSettings(id: "siteSettings") { contactPhone } b: SiteSettings(id: "other") { contactPhone } }`, `{"data":{"a":{"contactPhone":"+1 555 0100"},"b":null},"errors":[]}`},
		{"beside another field", "", `{ cacheStats { success } SiteSettings(id: "other") { contactPhone } }`, `{"data":{"cacheStats":{"success":true},"SiteSettings":null},"errors":[]}`},
		{"a null further down is no missing document", "", `{ SiteSettings(id: "siteSettings") { SiteSettings: logo { asset { url } } } }`, `{"data":{"SiteSettings":{"SiteSettings":null}}}`},
		{"left out by a directive", "", `{ __typename SiteSettings(id: "other") @skip(if: true) { contactPhone } }`, `{"data":{"__typename":"Query"}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := d.ask(t, c.accept, c.query)
			if got.status != http.StatusOK || got.body != c.want {
				t.Errorf("got %d %s, want %s", got.status, got.body, c.want)
			}
			want := typeJSON
			if c.accept != "" {
				want = c.accept
			}
			if ct := got.header.Get("Content-Type"); ct != want+"; charset=utf-8" {
				t.Errorf("content type %q", ct)
			}
		})
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	query := url.Values{
		"query":         {`query A($id: ID!) { SiteSettings(id: $id) { contactPhone } } query B { __typename }`},
		"operationName": {"A"}, "variables": {`{"id":"siteSettings"}`}, "extensions": {""},
	}
	got := d.do(t, http.MethodGet, query.Encode(), nil, nil)
	if want := `{"data":{"SiteSettings":{"contactPhone":"+1 555 0100"}}}`; got.body != want {
		t.Errorf("got %d %s", got.status, got.body)
	}
	head := d.do(t, http.MethodHead, query.Encode(), nil, nil)
	if head.status != http.StatusOK || head.body != "" || head.header.Get("ETag") != got.header.Get("ETag") {
		t.Errorf("HEAD: %d %q %v", head.status, head.body, head.header)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	valid := `{"query":"{ __typename }"}`
	cases := []struct {
		name, method, query string
		header              http.Header
		body                string
		status, strict      int // for application/json, for graphql-response+json
		code                string
		allow               string
	}{
		{"not JSON", "POST", "", nil, `{"query":"{ secret`, 400, 400, "BAD_USER_INPUT", ""},
		{"no body", "POST", "", nil, ``, 400, 400, "BAD_USER_INPUT", ""},
		{"a batch", "POST", "", nil, `[` + valid + `,` + valid + `]`, 400, 400, "BAD_USER_INPUT", ""},
		{"a string", "POST", "", nil, `"secret"`, 400, 400, "BAD_USER_INPUT", ""},
		{"two values", "POST", "", nil, valid + valid, 400, 400, "BAD_USER_INPUT", ""},
		{"a name twice", "POST", "", nil, `{"query":"{ a }","query":"{ __typename }"}`, 400, 400, "BAD_USER_INPUT", ""},
		{"a name twice, deep down", "POST", "", nil, `{"query":"{ __typename }","variables":{"a":{"b":1,"b":2}}}`, 400, 400, "BAD_USER_INPUT", ""},
		{"a name twice, in what is left out", "POST", "", nil, `{"query":"{ __typename }","more":{"b":1,"b":2}}`, 400, 400, "BAD_USER_INPUT", ""},
		{"invalid UTF-8", "POST", "", nil, "{\"query\":\"{ __typename } #\xff\"}", 400, 400, "BAD_USER_INPUT", ""},
		{"a deferred part", "POST", "", nil, `{"query":"{ SiteSettings(id: \"x\") { ... @defer { contactPhone } } }"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"query in capitals", "POST", "", nil, `{"Query":"{ __typename }"}`, 400, 400, "BAD_USER_INPUT", ""},
		{"query is a number", "POST", "", nil, `{"query":7}`, 400, 400, "BAD_USER_INPUT", ""},
		{"variables are a list", "POST", "", nil, `{"query":"{ __typename }","variables":["secret"]}`, 400, 400, "BAD_USER_INPUT", ""},
		{"extensions are a string", "POST", "", nil, `{"query":"{ __typename }","extensions":"secret"}`, 400, 400, "BAD_USER_INPUT", ""},
		{"operation name is a list", "POST", "", nil, `{"query":"{ __typename }","operationName":[]}`, 400, 400, "BAD_USER_INPUT", ""},
		{"nested too deeply", "POST", "", nil, `{"query":"{ __typename }","variables":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`, 400, 400, "BAD_USER_INPUT", ""},
		{"a form", "POST", "", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, `query={secret}`, 415, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"a multipart form", "POST", "", http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}, `--x--`, 415, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"text", "POST", "", http.Header{"Content-Type": {"text/plain"}}, valid, 415, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"no type", "POST", "", http.Header{"Content-Type": nil}, valid, 415, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"a type that begins like JSON", "POST", "", http.Header{"Content-Type": {"application/jsonp"}}, valid, 415, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"another charset", "POST", "", http.Header{"Content-Type": {"application/json; charset=utf-16"}}, valid, 415, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"gzip", "POST", "", http.Header{"Content-Encoding": {"gzip"}}, valid, 415, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"PUT", "PUT", "", nil, valid, 405, 405, "METHOD_NOT_ALLOWED", "GET, HEAD, OPTIONS, POST"},
		{"a mutation by GET", "GET", url.Values{"query": {`mutation { clearCache(all: true) { success } }`}}.Encode(), nil, "", 405, 405, "METHOD_NOT_ALLOWED", "POST"},
		{"a GET without a query", "GET", "", nil, "", 400, 400, "BAD_USER_INPUT", ""},
		{"a GET with two queries", "GET", "query=%7B__typename%7D&query=%7B__typename%7D", nil, "", 400, 400, "BAD_USER_INPUT", ""},
		{"a GET that can't be read", "GET", "query=%zz", nil, "", 400, 400, "BAD_USER_INPUT", ""},
		{"a GET in invalid UTF-8", "GET", "query=%ff", nil, "", 400, 400, "BAD_USER_INPUT", ""},
		{"a GET with variables that aren't JSON", "GET", "query=%7B__typename%7D&variables=secret", nil, "", 400, 400, "BAD_USER_INPUT", ""},
		{"a GET with more after the variables", "GET", "query=%7B__typename%7D&variables=%7B%7D%7B%7D", nil, "", 400, 400, "BAD_USER_INPUT", ""},
		{"a document that does not parse", "POST", "", nil, `{"query":"{"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"a document without an operation", "POST", "", nil, `{"query":"fragment F on Query { __typename }"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"a comment only", "POST", "", nil, `{"query":"# nothing"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"an unknown field", "POST", "", nil, `{"query":"{ nothing }"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"which operation", "POST", "", nil, `{"query":"query A { __typename } query B { __typename }"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"an unknown operation", "POST", "", nil, `{"query":"query A { __typename }","operationName":"B"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"a variable that is missing", "POST", "", nil, `{"query":"query A($id: ID!) { SiteSettings(id: $id) { contactPhone } }"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"a value of the wrong type", "POST", "", nil, `{"query":"{ content(documentType: 7) { id } }"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"a subscription", "POST", "", nil, `{"query":"subscription { a }"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"introspection", "POST", "", nil, `{"query":"{ __schema { types { name } } }"}`, 200, 400, "BAD_USER_INPUT", ""},
		{"a type of the schema", "POST", "", nil, `{"query":"{ ...F } fragment F on Query { __type(name: \"Query\") { name } }"}`, 200, 400, "BAD_USER_INPUT", ""},
	}
	for _, c := range cases {
		for accept, want := range map[string]int{typeJSON: c.status, typeGraphQL: c.strict} {
			t.Run(c.name+"/"+accept, func(t *testing.T) {
				t.Parallel()
				header := http.Header{"Accept": {accept}, "Content-Type": {typeJSON}}
				for name, values := range c.header {
					header[name] = values
				}
				got := d.do(t, c.method, c.query, header, strings.NewReader(c.body))
				if got.status != want {
					t.Errorf("status %d, want %d: %s", got.status, want, got.body)
				}
				if _, code := got.firstError(t); code != c.code {
					t.Errorf("answer %s, want code %s", got.body, c.code)
				}
				if strings.Contains(got.body, "secret") || strings.Contains(got.body, `"data"`) {
					t.Errorf("answer %s repeats the request or has data", got.body)
				}
				if ct := got.header.Get("Content-Type"); ct != accept+"; charset=utf-8" {
					t.Errorf("content type %q", ct)
				}
				if got.header.Get("Allow") != c.allow || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Vary") != "Accept" {
					t.Errorf("headers %v", got.header)
				}
			})
		}
	}
}

func TestOptionsAndNotAcceptable(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	if got := d.do(t, http.MethodOptions, "", nil, nil); got.status != http.StatusNoContent || got.header.Get("Allow") == "" {
		t.Errorf("OPTIONS: %d %v", got.status, got.header)
	}
	got := d.post(t, "text/html", `{"query":"{ __typename }"}`)
	if _, code := got.firstError(t); got.status != http.StatusNotAcceptable || code != "UNSUPPORTED_MEDIA_TYPE" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
