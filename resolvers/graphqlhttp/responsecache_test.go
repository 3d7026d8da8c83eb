package graphqlhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

const phoneQuery = `{ SiteSettings(id: "siteSettings") { contactPhone } }`

func phoneResponse(phone string) string {
	return `{"data":{"SiteSettings":{"contactPhone":"` + phone + `"}}}`
}

func TestHotResponseIsCached(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)
	first := d.ask(t, "", phoneQuery)
	if record := <-d.records; record.Cached || record.Type != "query" ||
		fmt.Sprint(record.RootFields) != "[SiteSettings]" {
		t.Errorf("the first request: %+v", record)
	}

	for range 3 {
		got := d.ask(t, "", phoneQuery)
		if record := <-d.records; !record.Cached || record.Type != "query" ||
			fmt.Sprint(record.RootFields) != "[SiteSettings]" || record.Code != "" {
			t.Errorf("the next: %+v", record)
		}

		got.header.Del("Date")
		first.header.Del("Date")
		if got.body != phoneResponse("+1 555 0100") || fmt.Sprint(got.header) != fmt.Sprint(first.header) {
			t.Errorf("got %s %v, first %v", got.body, got.header, first.header)
		}
	}

	if runs := d.runs.Load(); runs != 1 {
		t.Errorf("executed %d times, want once", runs)
	}

	// A client of the other media type gets another response to the same text.
	if got := d.ask(t, typeGraphQL, phoneQuery); got.header.Get("ETag") == first.header.Get("ETag") {
		t.Error("two media types share an entity tag")
	}
}

func TestChangeWhileTheOperationRuns(t *testing.T) {
	t.Parallel()
	var once sync.Once
	d := newEndpoint(t, func(s *setup) {
		s.site.during = func(context.Context) error { once.Do(func() { s.site.set("new") }); return nil }
	})

	if got := d.ask(t, "", phoneQuery); got.body != phoneResponse("+1 555 0100") {
		t.Fatalf("the response in between: %s", got.body)
	}

	for range 3 {
		if got := d.ask(t, "", phoneQuery); got.body != phoneResponse("new") {
			t.Errorf("after the change: %s", got.body)
		}
	}
}

func TestContentByLocale(t *testing.T) {
	t.Parallel()
	d := newEndpoint(t, nil)

	query := `query Q($l: Locale!) {
		a: content(documentType: "hero") { fields }
		b: content(documentType: "hero", locale: es) { fields }
		c: content(documentType: "hero", locale: $l) { fields } }`
	body := asBody(t, map[string]any{"query": query, "variables": map[string]any{"l": "ro"}})

	for revision := 1; revision <= 2; revision++ {
		for range 2 {
			want := fmt.Sprintf(`{"data":{"a":[{"fields":{"title":"en (%[1]d)"}}],`+
				`"b":[{"fields":{"title":"es (%[1]d)"}}],`+
				`"c":[{"fields":{"title":"ro (%[1]d)"}}]}}`, revision)
			if got := d.post(t, "", body); got.body != want {
				t.Errorf("got %s, want %s", got.body, want)
			}
		}

		<-d.records
		if record := <-d.records; !record.Cached {
			t.Errorf("the same request again: %+v", record)
		}

		d.revision.Add(1)
	}
}

func TestHeadersForCaches(t *testing.T) {
	t.Parallel()
	const public = "public, max-age=0, must-revalidate"
	d := newEndpoint(t, nil)
	get := func(q string, header http.Header) reply {
		return d.do(t, "GET", url.Values{"query": {q}}.Encode(), header, nil)
	}

	for range 2 { // executed, then cached
		page := get(phoneQuery, nil)
		etag := page.header.Get("ETag")
		if page.header.Get("Cache-Control") != public || page.header.Get("Vary") != "Accept" ||
			!strings.HasPrefix(etag, `W/"`) {
			t.Fatalf("headers %v", page.header)
		}

		for match, status := range map[string]int{
			etag:                           304,
			strings.TrimPrefix(etag, "W/"): 304,
			`"other", ` + etag:             304,
			`"other"`:                      200,
		} {
			got := get(phoneQuery, http.Header{"If-None-Match": {match}})
			if got.status != status || got.header.Get("ETag") != etag || got.header.Get("Cache-Control") != public {
				t.Errorf("If-None-Match %s: %d %q %v", match, got.status, got.body, got.header)
			}
		}
	}

	before := get(phoneQuery, nil).header.Get("ETag")
	d.set("new")
	if got := get(phoneQuery, http.Header{"If-None-Match": {before}}); got.body != phoneResponse("new") {
		t.Errorf("after a change: %d %s", got.status, got.body)
	}

	// A condition has no effect on a POST.
	header := http.Header{"Content-Type": {typeJSON}, "If-None-Match": {"*"}}
	got := d.do(t, "POST", "", header, strings.NewReader(asQuery(t, phoneQuery)))
	if got.status != 200 || got.header.Get("Cache-Control") != public || got.header.Get("Vary") != "" {
		t.Errorf("POST with a condition: %d %v", got.status, got.header)
	}

	for name, query := range map[string]string{
		"no hint":  `{ cacheStats { success } }`,
		"an error": `{ quotePdf(id: "x") { fileName } }`,
		"refused":  `{ nothing }`,
	} {
		if got := get(query, nil); got.header.Get("Cache-Control") != "no-store" || got.header.Get("ETag") != "" {
			t.Errorf("%s: %v", name, got.header)
		}
	}
}
