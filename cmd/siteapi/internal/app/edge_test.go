package app

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// ask returns the path by which a document is asked for with GET.
func ask(document string) string { return "/graphql?" + url.Values{"query": {document}}.Encode() }

// edgeHeaders are the headers for shared caches.
var edgeHeaders = []string{"Cache-Tag", "Surrogate-Key", "CDN-Cache-Control"}

// told returns what an answer says to shared caches; empty: nothing.
func told(h http.Header) string {
	var said []string
	for _, name := range edgeHeaders {
		said = append(said, h.Values(name)...)
	}
	return strings.Join(said, "; ")
}

func TestSharedCachesAreTold(t *testing.T) {
	t.Parallel()
	s := startService(t, map[string]string{"CDN_MAX_AGE": "45s"})
	s.query(`{ SiteSettings(id: "siteSettings") { contactEmail } }`, nil) // the content is loaded
	s.query(`{ content(documentType: "heroSection", locale: es) { id } }`, nil)

	const maxAge = "; public, max-age=45"
	for document, want := range map[string]string{
		`{ SiteSettings(id: "siteSettings") { contactEmail } }`: "content:locale:en; content:locale:en" + maxAge,
		`{ a: content(documentType: "heroSection", locale: es) { id }
		   b: content(documentType: "heroSection") { id } }`: "content:locale:es,content:locale:en; " +
			"content:locale:es content:locale:en" + maxAge,
		`{ SiteSettings(id: "another") { contactEmail } }`:                  "content:locale:en; content:locale:en" + maxAge,
		`{ cacheStats { success } }`:                                        "",
		`{ SiteSettings(id: "siteSettings") { nothing } }`:                  "",
		`{ content(documentType: "secret") { id } }`:                        "",
		`{ cacheStats { success } SiteSettings(id: "x") { contactEmail } }`: "",
		`{ quotePdf(id: "x") { fileName } }`:                                "",
		`{ leads { edges { node { id } } } }`:                               "",
		`mutation { trackQuote(input: {sessionId: "a"}) { success } }`:      "",
		`{ __typename }`: "",
		`{ __schema { queryType { name } } content(documentType: "x") { id } `: "",
	} {
		for range 2 { // executed, cached
			got := s.do("GET", ask(document), "")
			if told(got.header) != want {
				t.Errorf("%s: %q, want %q: %s", document, told(got.header), want, got.body)
			}
			if want == "" {
				continue
			}
			if got.header.Get("Cache-Control") != "public, max-age=0, must-revalidate" {
				t.Errorf("a browser is told %q", got.header.Get("Cache-Control"))
			}
			same := s.do("GET", ask(document), "", "If-None-Match: "+got.header.Get("ETag"))
			if same.status != http.StatusNotModified || told(same.header) != want {
				t.Errorf("%s: 304 says %q", document, told(same.header))
			}
		}
		if got := s.query(document, nil); told(got.header) != "" {
			t.Errorf("by POST: %v", got.header)
		}
	}

	// A persisted query is asked for by its hash.
	hash := `{"persistedQuery":{"version":1,"sha256Hash":"` +
		`92d3a4d7a8d3f2b8d4ee4ddc4a9a8f8cb1b3a8cba5d8a0e0b2d6b6a2d0c6d4aa"}}`
	if got := s.do("GET", "/graphql?extensions="+url.QueryEscape(hash), ""); told(got.header) != "" ||
		got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("an unknown persisted query: %v", got.header)
	}

	id := s.submit(t, "edge")
	for _, path := range []string{"/api/quote/pdf?id=" + id, "/api/cache/clear", "/api/openapi.json", "/", "/none"} {
		if got := s.do("GET", path, ""); told(got.header) != "" {
			t.Errorf("%s: %v", path, got.header)
		}
	}
}

// TestFallbackCopyIsNotForSharedCaches lets the CMS fail after an invalidation.
func TestFallbackCopyIsNotForSharedCaches(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.published("first title")
	r := launch(t, t.TempDir(), stubs.environ(map[string]string{"CDN_MAX_AGE": "30s"})...)
	r.shows("first title")

	path := ask(`{ content(documentType: "heroSection", locale: es) { fields } }`)
	if got := r.do("GET", path, ""); told(got.header) == "" {
		t.Fatalf("an answer made of current content: %v", got.header)
	}

	stubs.cmsDown()
	r.invalidateAll()
	for range 3 {
		got := r.do("GET", path, "")
		if !bytes.Contains(got.body, []byte("first title")) || told(got.header) != "" {
			t.Errorf("the fallback copy: %s %v", got.body, got.header)
		}
	}
}

// TestAnswersAreCompressed asks for everything that is large enough in each coding.
func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	hero := ask(`{ content(documentType: "heroSection") { fields } content2: content(documentType: "quoteOption") { fields } }`)
	s.do("GET", hero, "") // the content is loaded
	page := string(s.do("GET", "/calculator", "").body)
	_, script, _ := strings.Cut(page, `<script type="module" src="`)
	script, _, _ = strings.Cut(script, `"`)

	manyErrors := `{"sessionId":"x","contact":{},"selections":{"features":["A","B","C","D","E","F","G","H","I","J"]}}`
	for name, c := range map[string]struct {
		method, path, body string
	}{
		"content":          {"GET", hero, ""},
		"content by POST":  {"POST", "/graphql", `{"query":"{ content(documentType: \"quoteOption\") { id fields } }"}`},
		"problem document": {"POST", "/api/quote/submit", manyErrors},
		"OpenAPI":          {"GET", "/api/openapi.json", ""},
		"page":             {"GET", "/", ""},
		"file of a page":   {"GET", script, ""},
		"introspection":    {"POST", "/graphql", `{"query":"{ __schema { types { name fields { name } } } }"}`},
	} {
		plain := s.do(c.method, c.path, c.body, "Accept-Encoding: identity", "X-Request-Id: 8e03978e-40d5-43e8-bc93-6894a57f9324")
		got := s.do(c.method, c.path, c.body, "Accept-Encoding: br, gzip;q=0.5", "X-Request-Id: 8e03978e-40d5-43e8-bc93-6894a57f9324")
		reader, err := gzip.NewReader(bytes.NewReader(got.body))
		if err != nil {
			t.Fatalf("%s: %v: %v %s", name, err, got.header, got.body)
		}
		text, err := io.ReadAll(reader)
		if err != nil || len(text) != len(plain.body) || got.status != plain.status ||
			got.header.Get("Content-Encoding") != "gzip" || len(got.body) >= len(plain.body) ||
			!strings.Contains(strings.Join(got.header.Values("Vary"), ", "), "Accept-Encoding") {
			t.Errorf("%s: %d of %d bytes, %v %v", name, len(text), len(plain.body), err, got.header)
		}

		// The tag is weak, since it is that of both codings.
		etag := plain.header.Get("ETag")
		if got.header.Get("ETag") != etag || etag != "" && !strings.HasPrefix(etag, `W/"`) {
			t.Errorf("%s: ETag %s beside %s", name, got.header.Get("ETag"), etag)
		}
		if etag != "" && c.method == "GET" {
			same := s.do("GET", c.path, "", "Accept-Encoding: gzip", "If-None-Match: "+etag)
			if same.status != http.StatusNotModified || same.header.Get("Content-Encoding") != "" {
				t.Errorf("%s: %d %v for its own tag", name, same.status, same.header)
			}
		}
	}

	// The length of an answer to a token must not tell what is in it.
	for _, header := range []string{"Authorization: Bearer dev-admin-token", "Accept-Encoding: br, gzip;q=0.0"} {
		if got := s.do("GET", hero, "", "Accept-Encoding: gzip", header); got.header.Get("Content-Encoding") != "" {
			t.Errorf("with %s: %v", header, got.header)
		}
	}
	if got := s.do("GET", "/api/openapi.json", "", "Accept-Encoding: gzip",
		"Authorization: Bearer dev-cache-token"); got.header.Get("Content-Encoding") != "" {
		t.Errorf("an answer to a token: %v", got.header)
	}
}
