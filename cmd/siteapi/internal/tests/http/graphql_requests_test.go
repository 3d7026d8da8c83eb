package http

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

const (
	typeJSON      = "application/json"
	typeGraphQL   = "application/graphql-response+json"
	acceptGraphQL = "Accept: " + typeGraphQL

	phoneQuery    = `{ SiteSettings(id: "siteSettings") { contactPhone } }`
	phoneResponse = `{"data":{"SiteSettings":{"contactPhone":"+1 555 0100"}}}`
)

// startWithPhone starts a service whose content has a telephone number.
func startWithPhone(t *testing.T, env ...string) *apptest.Service {
	t.Helper()
	dir := folder(t, map[string]string{
		"content.json": `[{"_id":"siteSettings","_type":"siteSettings","contactPhone":"+1 555 0100"}]`,
	})
	return apptest.Start(t, append(env, "CMS_FILE="+filepath.Join(dir, "content.json"))...)
}

func TestGet(t *testing.T) {
	t.Parallel()
	s := startWithPhone(t)
	path := "/graphql?" + url.Values{
		"query": {
			`query A($id: ID!) { SiteSettings(id: $id) { contactPhone } } query B { __typename }`,
		},
		"operationName": {"A"},
		"variables":     {`{"id":"siteSettings"}`},
		"extensions":    {""},
	}.Encode()

	got := s.Do("GET", path, "")
	if string(got.Body) != phoneResponse {
		t.Errorf("got %s", got)
	}

	options := s.Do("OPTIONS", "/graphql", "")
	if options.Status != 204 || options.Header.Get("Allow") != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("OPTIONS: %d %v", options.Status, options.Header)
	}

	head := s.Do("HEAD", path, "")
	if head.Status != 200 || len(head.Body) > 0 || head.Header.Get("ETag") != got.Header.Get("ETag") {
		t.Errorf("HEAD: %s %v", head, head.Header)
	}
}

// refusal is a request that is refused with a status, 400 by default, or with 200 if it is
// well-formed and asks for application/json.
type refusal struct {
	name, method, query, body string // the method is POST if it is empty
	header                    string
	status                    int
	wellFormed                bool
	code, allow               string // BAD_USER_INPUT if the code is empty
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "GRAPHQL_INTROSPECTION=off")
	valid := `{"query":"{ __typename }"}`
	refuses := func(c refusal) {
		t.Helper()
		for _, accept := range []string{typeJSON, typeGraphQL} {
			want := cmp.Or(c.status, 400)
			if c.wellFormed && accept == typeJSON {
				want = 200
			}

			got := s.Do(cmp.Or(c.method, "POST"), "/graphql?"+c.query, c.body,
				"Accept: "+accept, cmp.Or(c.header, "Content-Type: "+typeJSON))
			outcome := s.GraphQLOutcome(got)
			if got.Status != want || outcome.Code != cmp.Or(c.code, "BAD_USER_INPUT") || outcome.RequestID == "" {
				t.Errorf("%s: %s, want %d %s", c.name, got, want, c.code)
			}
			if got.Has("secret") || got.Has(`"data"`) {
				t.Errorf("%s: response %s repeats the request or has data", c.name, got)
			}
			if got.Header.Get("Content-Type") != accept+"; charset=utf-8" || got.Header.Get("Allow") != c.allow ||
				got.Header.Get("Cache-Control") != "no-store" || !slices.Contains(got.Header.Values("Vary"), "Accept") {
				t.Errorf("%s: headers %v", c.name, got.Header)
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
	for name, query := range map[string]string{
		"a deferred part":                `{ SiteSettings(id: "x") { ... @defer { contactPhone } } }`,
		"a document that does not parse": `{`,
		"an unknown field":               `{ nothing }`,
		"a variable that is missing":     `query A($id: ID!) { SiteSettings(id: $id) { contactPhone } }`,
		"a value of the wrong type":      `{ content(documentType: 7) { id } }`,
		"introspection":                  `{ __schema { types { name } } }`,
		"a type of the schema":           `{ ...F } fragment F on Query { __type(name: "Query") { name } }`,
	} {
		refuses(refusal{name: name, body: document(name, query).body, wellFormed: true})
	}
	refuses(refusal{
		name: "an unknown operation", body: `{"query":"query A { __typename }","operationName":"B"}`, wellFormed: true,
	})

	// A POST with these headers is not read.
	for name, header := range map[string]string{
		"a form":  "Content-Type: application/x-www-form-urlencoded",
		"no type": "Content-Type: ",
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

// Clients get the media type that they prefer. `make audit` tests the requirements of the
// specification.
func TestNegotiation(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	for accept, want := range map[string]string{
		"application/graphql-response+json,application/json;q=0.9": typeGraphQL, // Apollo Client
		"application/graphql-response+json, application/graphql+json, " +
			"application/json, text/event-stream, multipart/mixed": typeGraphQL, // urql
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": typeJSON, // a browser
		"application/graphql-response+json;q=0, */*":                      typeJSON,
		"text/html":                "",
		"application/json;q=wrong": "",
	} {
		got := s.Query(`{ SiteSettings(id: "other") { contactPhone } }`, nil, "Accept: "+accept)
		body := map[string]string{ // An empty list of errors reports a missing document.
			typeGraphQL: `{"data":{"SiteSettings":null}}`,
			typeJSON:    `{"data":{"SiteSettings":null},"errors":[]}`,
			"":          `{"errors":[`,
		}[want]
		status := 200
		if want == "" {
			want, status = typeJSON, 406
		}
		if !strings.HasPrefix(string(got.Body), body) || got.Status != status ||
			got.Header.Get("Content-Type") != want+"; charset=utf-8" {
			t.Errorf("Accept %q: %s %v", accept, got, got.Header)
		}
	}
}

// A cached response is that of the same request, as the first one was. Conditions count for
// GET only, and errors are not stored.
func TestCachedResponses(t *testing.T) {
	t.Parallel()
	s := startWithPhone(t)
	get := func(query string, headers ...string) apptest.Response {
		return s.Do("GET", "/graphql?"+url.Values{"query": {query}}.Encode(), "", headers...)
	}
	get(phoneQuery) // loads the content

	query := `{ again: SiteSettings(id: "siteSettings") { contactPhone } }`
	first := get(query)
	etag := first.Header.Get("ETag")
	for range 3 {
		got := get(query)
		for _, name := range []string{"Cache-Control", "Cache-Tag", "Content-Type", "ETag", "Vary"} {
			if got.Header.Get(name) != first.Header.Get(name) || !slices.Equal(got.Body, first.Body) {
				t.Errorf("got %s %v, first %v", got, got.Header, first.Header)
			}
		}
	}
	for outcome, want := range map[string]float64{"executed": 2, "cached": 3} {
		labels := map[string]string{"outcome": outcome}
		if n := apptest.Counter(t, s, "siteapi_graphql_operations_total", labels); n != want {
			t.Errorf("%v operations were %s, want %v", n, outcome, want)
		}
	}
	if other := get(query, acceptGraphQL); other.Header.Get("ETag") == etag {
		t.Error("two media types share an entity tag")
	}

	for match, status := range map[string]int{
		etag:                           304,
		strings.TrimPrefix(etag, "W/"): 304,
		`"other", ` + etag:             304,
		`"other"`:                      200,
	} {
		if got := get(query, "If-None-Match: "+match); got.Status != status || got.Header.Get("ETag") != etag {
			t.Errorf("If-None-Match %s: %s %v", match, got, got.Header)
		}
	}
	if got := s.Query(query, nil, "If-None-Match: *"); got.Status != 200 || slices.Contains(got.Header.Values("Vary"), "Accept") {
		t.Errorf("POST with a condition: %s %v", got, got.Header)
	}

	for name, query := range map[string]string{
		"no hint":  `{ cacheStats { success } }`,
		"an error": `{ quotePdf(id: "x") { fileName } }`,
		"refused":  `{ nothing }`,
	} {
		if got := get(query); got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("ETag") != "" {
			t.Errorf("%s: %v", name, got.Header)
		}
	}
}
