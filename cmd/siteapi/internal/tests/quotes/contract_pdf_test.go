package quotes

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestContractPDF(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	id := s.Submit("s")
	path := "/api/quote/pdf?id=" + id

	got := s.Do("GET", path, "", "Accept-Language: es")
	if got.Status != 200 || !bytes.HasPrefix(got.Body, []byte("%PDF-")) {
		t.Fatalf("got %.40q", got)
	}
	for header, want := range map[string]string{
		"Content-Type":        "application/pdf",
		"Content-Disposition": "attachment; filename=oferta-" + id[:8] + ".pdf",
		"Content-Language":    "ro", // the lead's
		"X-Robots-Tag":        "noindex",
		"Content-Length":      fmt.Sprint(len(got.Body)),
		"Cache-Control":       "private, no-cache",
		"Vary":                "Accept-Language",
	} {
		if !slices.Contains(got.Header.Values(header), want) {
			t.Errorf("%s is %q, want %q", header, got.Header.Values(header), want)
		}
	}

	etag := got.Header.Get("ETag")
	if again := s.Do("GET", path, "", "If-None-Match: "+etag); again.Status != 304 || len(again.Body) != 0 {
		t.Errorf("If-None-Match %s: %d with %d bytes", etag, again.Status, len(again.Body))
	}
	if es := s.Do("GET", path+"&locale=es", ""); es.Header.Get("Content-Language") != "es" ||
		bytes.Equal(es.Body, got.Body) {
		t.Error("locale=es does not return the Spanish document")
	}

	same := s.GraphQLOutcome(s.Query(`query($id: ID!) { quotePdf(id: $id) { size etag locale content } }`, object{"id": id})).Data
	if want := (object{
		"size": float64(len(got.Body)), "etag": etag, "locale": "ro", "content": base64.StdEncoding.EncodeToString(got.Body),
	}); !reflect.DeepEqual(same, want) {
		t.Errorf("the GraphQL field does not return the same document: %v", same["etag"])
	}

	s.WriteContent("[]")
	apptest.Eventually(t, "a document without the site settings", func() bool {
		return s.Do("GET", path, "").Header.Get("ETag") != etag
	})
}

func TestContractPDFErrors(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	for query, want := range map[string]string{
		"":                                "400 BAD_USER_INPUT id",
		"?id=":                            "400 BAD_USER_INPUT id",
		"?id=" + strings.Repeat("x", 129): "400 BAD_USER_INPUT id",
		"?id=x&locale=xx":                 "400 BAD_USER_INPUT locale",
		"?id=unknown&locale=":             "404 NOT_FOUND ",
	} {
		got := s.RESTOutcome(s.Do("GET", "/api/quote/pdf"+query, ""))
		if text := fmt.Sprint(got.Status, " ", got.Code, " ", strings.Join(got.FieldNames(), " ")); text != want {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
	if got := s.Query(`{ quotePdf(id: "unknown") { size } }`, nil); !got.Has(`"NOT_FOUND"`) {
		t.Errorf("GraphQL: %s", got.Body)
	}
}

func TestContractPDFLanguage(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	id := s.Submit("s", `"locale": null`)

	for accept, want := range map[string]string{
		"":                        "en",
		"es-MX,es;q=0.9,en;q=0.8": "es",
		"tlh, ro;q=0.3":           "ro",
		"zh":                      "en",
	} {
		got := s.Do("GET", "/api/quote/pdf?id="+id, "", "Accept-Language: "+accept).Header
		if got.Get("Content-Language") != want || !slices.Contains(got.Values("Vary"), "Accept-Language") {
			t.Errorf("Accept-Language %q: %v, want %s", accept, got, want)
		}
	}
}
