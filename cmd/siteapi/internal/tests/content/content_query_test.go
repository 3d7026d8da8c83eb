package content

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// TestContentQuery orders, limits and resolves documents as a site's pages do.
func TestContentQuery(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CONTENT_TYPES=post,person,page,quoteSubmission")
	s.WriteContent(`[
		{"_id":"p1","_type":"post","title":"b","order":2,"by":{"_ref":"ana"},"hero":{"asset":{"url":"https://x/a-30x20.png"},"alt":"A"}},
		{"_id":"p2","_type":"post","title":"a","order":1,"by":{"_ref":"ana"}},
		{"_id":"p3","_type":"post","title":"solo es","language":"es","order":0},
		{"_id":"drafts.p2","_type":"post","title":"draft","order":9,"by":{"_ref":"bo"}},
		{"_id":"a","_type":"page","_updatedAt":"2026-01-02T00:00:00Z","group":"x","order":2,"slug":{"current":"one"}},
		{"_id":"b","_type":"page","_updatedAt":"2026-01-03T00:00:00Z","group":"y","order":1,"slug":"two"},
		{"_id":"c","_type":"page","_updatedAt":"2026-01-01T00:00:00Z","group":"x","order":1},
		{"_id":"d","_type":"page","group":"y"},
		{"_id":"ana","_type":"person","name":"Ana"},
		{"_id":"drafts.bo","_type":"person","name":"Bo"},
		{"_id":"quoteSubmission.1","_type":"quoteSubmission","title":"x"},
		{"_id":"hidden","_type":"quoteOption","label":"not served"}]`)

	for query, want := range map[string]string{
		`content(documentType: "post", orderBy: ["order"]) { id }`:                        `[{"id":"p2"},{"id":"p1"}]`,
		`content(documentType: "post", locale: es, orderBy: "order") { id }`:              `[{"id":"p3"},{"id":"p2"},{"id":"p1"}]`,
		`content(documentType: "post", orderBy: ["-title"], first: 1) { id }`:             `[{"id":"p1"}]`,
		`content(documentType: "post", first: 1, offset: 1) { id }`:                       `[{"id":"p2"}]`,
		`content(documentType: "post", id: "p1", resolve: 0) { id }`:                      `[{"id":"p1"}]`,
		`content(documentType: "post", id: "p2", resolve: 1) { fields }`:                  `[{"fields":{"by":{"_id":"ana","_type":"person","name":"Ana"},"order":1,"title":"a"}}]`,
		`content(documentType: "post", id: "p1") { fields }`:                              `"hero":{"alt":"A","asset":{"url":"https://x/a-30x20.png"},"height":20,"url":"https://x/a-30x20.png","width":30}`,
		`content(documentType: "post", orderBy: null, first: null) { id }`:                `[{"id":"p1"},{"id":"p2"}]`,
		`content(documentType: "post", orderBy: []) { id }`:                               `[{"id":"p1"},{"id":"p2"}]`,
		`content(documentType: "page", orderBy: ["group", "order"]) { id }`:               `[{"id":"c"},{"id":"a"},{"id":"b"},{"id":"d"}]`,
		`content(documentType: "page", orderBy: ["-group", "-order"]) { id }`:             `[{"id":"b"},{"id":"d"},{"id":"a"},{"id":"c"}]`,
		`content(documentType: "page", orderBy: ["-_updatedAt"]) { id }`:                  `[{"id":"b"},{"id":"a"},{"id":"c"},{"id":"d"}]`,
		`content(documentType: "page", orderBy: ["order", "group", "_updatedAt"]) { id }`: `[{"id":"c"},{"id":"b"},{"id":"a"},{"id":"d"}]`,
		`content(documentType: "page", offset: 100000, first: 1) { id }`:                  `[]`,
		`content(documentType: "page", id: "ana") { id }`:                                 `[]`,
		`content(documentType: "page", slug: "two", first: 5) { id }`:                     `[{"id":"b"}]`,
		`content(documentType: "page", slug: "") { id }`:                                  `[]`, // not the documents without a slug
		`content(documentType: "post", resolve: 3) { id }`:                                `"field":"resolve"`,
		`content(documentType: "post", resolve: -1) { id }`:                               `"field":"resolve"`,
		`content(documentType: "post", first: 0) { id }`:                                  `"field":"first"`,
		`content(documentType: "post", first: 1001) { id }`:                               `"field":"first"`,
		`content(documentType: "post", offset: -1) { id }`:                                `"field":"offset"`,
		`content(documentType: "post", offset: 100001) { id }`:                            `"field":"offset"`,
		`content(documentType: "post", orderBy: ["a","b","c","d"]) { id }`:                `"field":"orderBy"`,
		`content(documentType: "quoteOption", resolve: 1) { id }`:                         `"field":"documentType"`,
		`content(documentType: "secretType") { id }`:                                      `"field":"documentType"`,
		`content(documentType: "quoteSubmission") { id }`:                                 `"field":"documentType"`,
		`content(documentType: "siteSettings") { id }`:                                    `"field":"documentType"`,
		`content(documentType: "") { id }`:                                                `"field":"documentType"`,
		`content(documentType: "post", resolve: null) { id }`:                             `BAD_USER_INPUT`,
		`content(documentType: "post", orderBy: ["title", null]) { id }`:                  `BAD_USER_INPUT`,
		`content(documentType: "post", first: "1") { id }`:                                `BAD_USER_INPUT`,

		`contentPage(documentType: "post", first: 1) { total documents { id } }`:              `{"total":2,"documents":[{"id":"p1"}]}`,
		`contentPage(documentType: "post", locale: es, offset: 9) { total documents { id } }`: `{"total":3,"documents":[]}`,
		`contentPage(documentType: "post", id: "p2", resolve: 1) { total }`:                   `{"total":1}`,
		`contentPage(documentType: "post", slug: "none") { total documents { id } }`:          `{"total":0,"documents":[]}`,
		`contentPage(documentType: "post", first: 0) { total }`:                               `"field":"first"`,
		`contentPage(documentType: "siteSettings") { total }`:                                 `"field":"documentType"`,
	} {
		apptest.Eventually(t, query, func() bool {
			got := s.Query("{ "+query+" }", nil)
			return got.Has(want)
		})
	}

	// A preview resolves in its own content: the author is a draft.
	got := s.Query(`{ content(documentType: "post", orderBy: ["-order"], first: 1, resolve: 2) { fields } }`, nil, previewAuth, askDrafts)
	if want := `{"fields":{"by":{"_id":"bo","_type":"person","name":"Bo"},"order":9,"title":"draft"}}`; !got.Has(want) {
		t.Errorf("the preview: %s", got.Body)
	}

	// The caching headers do not depend on the arguments, and older documents remain valid.
	const old = `query($id: ID) { content(documentType: "post", id: $id) { id } }`
	plain := s.Query(old, map[string]any{"id": "p1"})
	resolved := s.Query(`{ content(documentType: "post", resolve: 2, orderBy: ["title"]) { fields } }`, nil)
	if tag := resolved.Header.Get("ETag"); !plain.Has(`[{"id":"p1"}]`) || tag == "" ||
		resolved.Header.Get("Cache-Tag") != plain.Header.Get("Cache-Tag") {
		t.Errorf("%s %v, %v", plain.Body, plain.Header, resolved.Header)
	}
}

// TestSettingsByLocale reads texts of the settings in each language, whatever language a
// plugin wrote into the document.
func TestSettingsByLocale(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	s.WriteContent(`[{"_id":"siteSettings","_type":"siteSettings","language":"es","title":{"en":"Lamp","es":"Lámpara"},
		"description":[{"_key":"ro","value":"O lampă"},{"_key":"en","value":"A lamp"}],"businessHours":{"sunday":{"en":"Closed","es":"Cerrado"},"friday":"9 - 13","saturday":{"ro":"Închis"}},
		"logo":{"asset":{"url":"https://x/logo.png"},"width":1e30,"height":-5.7},
		"shareImage":{"asset":{"url":"https://x/share-1200x630.png"}}}]`)

	for arguments, want := range map[string]string{
		``:               `{"title":"Lamp","description":"A lamp","businessHours":{"sunday":"Closed","friday":"9 - 13","saturday":null}}`,
		`, locale: null`: `{"title":"Lamp","description":"A lamp","businessHours":{"sunday":"Closed","friday":"9 - 13","saturday":null}}`,
		`, locale: en`:   `{"title":"Lamp","description":"A lamp","businessHours":{"sunday":"Closed","friday":"9 - 13","saturday":null}}`,
		`, locale: es`:   `{"title":"Lámpara","description":"A lamp","businessHours":{"sunday":"Cerrado","friday":"9 - 13","saturday":null}}`,
		`, locale: ro`:   `{"title":"Lamp","description":"O lampă","businessHours":{"sunday":"Closed","friday":"9 - 13","saturday":"Închis"}}`,
		`, locale: de`:   `"errors"`,
		`, locale: "es"`: `"errors"`,
	} {
		query := `{ SiteSettings(id: "siteSettings"` + arguments + `) { title description businessHours { sunday friday saturday } } }`
		apptest.Eventually(t, query, func() bool { return s.Query(query, nil).Has(want) })
	}
	image := s.Query(`{ SiteSettings(id: "siteSettings") { shareImage { asset { url width height } } } }`, nil)
	if !image.Has(`{"asset":{"url":"https://x/share-1200x630.png","width":1200,"height":630}}`) {
		t.Errorf("the shared picture: %s", image)
	}
	logo := s.Query(`{ SiteSettings(id: "siteSettings") { logo { asset { width height } } } }`, nil)
	if !logo.Has(`{"asset":{"width":null,"height":null}}`) {
		t.Errorf("a logo with impossible sizes: %s", logo)
	}

	// A cached response has the key of its own language, also if that is a variable.
	for variables, want := range map[string]string{
		`{"l":"ro"}`: "content:locale:ro", `{"l":null}`: "content:locale:en", `{}`: "content:locale:en",
	} {
		got := s.Do("GET", "/graphql?"+url.Values{
			"query":     {`query($l: Locale) { SiteSettings(id: "siteSettings", locale: $l) { title } }`},
			"variables": {variables},
		}.Encode(), "")
		if got.Header.Get("Cache-Tag") != want || got.Header.Get("ETag") == "" {
			t.Errorf("%s: %v %s", variables, got.Header, got.Body)
		}
	}
}

// TestTranslationsAreCached reads translations, whose responses depend on all languages.
func TestTranslationsAreCached(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CONTENT_TYPES=page,translation.metadata")
	write := func(slug string) {
		s.WriteContent(`[{"_id":"a","_type":"page","language":"en","slug":{"current":"about"}},
			{"_id":"b","_type":"page","language":"es","slug":{"current":"` + slug + `"}},
			{"_id":"m","_type":"translation.metadata","translations":[{"_key":"en","value":{"_ref":"a"}},{"_key":"es","value":{"_ref":"b"}}]}]`)
	}
	write("sobre")
	get := func(query string) apptest.Response {
		return s.Do("GET", "/graphql?query="+url.QueryEscape(query), "")
	}
	const all = "content:locale:en,content:locale:es,content:locale:ro"
	for _, query := range []string{
		`{ content(documentType: "page", slug: "about") { translations { locale slug id } } }`,
		`{ contentPage(documentType: "page") { documents { ...D } } } fragment D on ContentDocument { translations { locale slug id } }`,
	} {
		apptest.Eventually(t, query, func() bool {
			got := get(query)
			return got.Has(`"translations":[{"locale":"es","slug":"sobre","id":"b"}]`) && got.Header.Get("Cache-Tag") == all
		})
		for range 2 {
			get(query)
		}
	}
	if got := get(`{ content(documentType: "page") { id } }`); got.Header.Get("Cache-Tag") != "content:locale:en" {
		t.Errorf("without translations: %v", got.Header)
	}

	write("acerca")
	apptest.Eventually(t, "the new slug", func() bool {
		return get(`{ content(documentType: "page", slug: "about") { translations { locale slug id } } }`).Has("acerca")
	})
	if got := get(`{ content(documentType: "translation.metadata") { id } }`); !got.Has(`"field":"documentType"`) {
		t.Errorf("the plugin's documents: %s", got)
	}
}

// TestResolvingIsBounded asks for far more than a response may have, once and in many
// fields of one request. It runs alone, since it counts what the process allocates.
func TestResolvingIsBounded(t *testing.T) {
	s := apptest.Start(t, "CONTENT_TYPES=post")
	s.WriteContent(`[{"_id":"list","_type":"post","all":[` + strings.Repeat(`{"_ref":"big"},`, 1399) + `{"_ref":"big"}]},
		{"_id":"big","_type":"post","text":"` + strings.Repeat("x", 1<<20) + `"}]`)
	apptest.Eventually(t, "the content is served", func() bool {
		return s.Query(`{ content(documentType: "post") { id } }`, nil).Has("list")
	})

	const one = `content(documentType: "post", id: "list", resolve: 1) { fields }`
	many := strings.Builder{}
	for i := range 20 {
		fmt.Fprintf(&many, "a%d: %s ", i, one)
	}
	for name, query := range map[string]string{"one field": one, "20 fields": many.String()} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := s.Query("{ "+query+" }", nil)
		runtime.ReadMemStats(&after)
		if !got.Has("would have more than 4194304 bytes") || got.Has("xxx") {
			t.Errorf("%s: %.300s", name, got)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
}

// TestForeignLanguageIsReportedOnce serves documents in a language that the site does not
// use: they are hidden, with one warning for each type whatever the number of languages.
func TestForeignLanguageIsReportedOnce(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CONTENT_TYPES=post,page")
	s.WriteContent(`[{"_id":"a","_type":"post","language":"de"},{"_id":"b","_type":"post","__i18n_lang":"fr_FR"},
		{"_id":"c","_type":"page","locale":"de"},{"_id":"d","_type":"page","language":"es-MX"},{"_id":"e","_type":"page","language":"Deutsch"}]`)

	for locale, want := range map[string]string{"en": `[]`, "es": `[{"id":"d"}]`, "ro": `[]`} {
		apptest.Eventually(t, locale, func() bool {
			got := s.Query(`{ content(documentType: "page", locale: `+locale+`) { id } }`, nil)
			return got.Has(`"content":` + want)
		})
	}
	for _, kind := range []string{"post", "page"} {
		if n := strings.Count(s.Log.String(), "documents of type "+kind+" are hidden"); n != 1 {
			t.Errorf("%d warnings about the type %s", n, kind)
		}
	}
}
