package gqlhttp_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"siteapi/resolvers/gqlhttp"
	"siteapi/schema"
)

const phoneQuery = `{ SiteSettings(id: "siteSettings") { contactPhone } }`

func phoneAnswer(phone string) string {
	return `{"data":{"SiteSettings":{"contactPhone":"` + phone + `"}}}`
}

func TestHotAnswerIsKeptAsBytes(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	want := []gqlhttp.Outcome{gqlhttp.Executed, gqlhttp.Executed, gqlhttp.Kept, gqlhttp.Kept}
	var first reply
	for i, outcome := range want {
		got := d.ask(t, "", phoneQuery)
		if i == 0 {
			first = got
		}
		if e := <-d.events; e.Outcome != outcome || e.Operation != "SiteSettings" || e.Status != http.StatusOK {
			t.Errorf("request %d: %+v, want %v", i, e, outcome)
		}
		got.header.Del("Date")
		first.header.Del("Date")
		if got.body != phoneAnswer("+1 555 0100") || fmt.Sprint(got.header) != fmt.Sprint(first.header) {
			t.Errorf("request %d: %s %v, first %v", i, got.body, got.header, first.header)
		}
	}
	if runs := d.runs.Load(); runs != 2 {
		t.Errorf("executed %d times, want 2", runs)
	}
	// The same text for a client of the other media type is another answer.
	if got := d.ask(t, typeGraphQL, phoneQuery); got.header.Get("ETag") == first.header.Get("ETag") {
		t.Error("two media types share an entity tag")
	}
}

func TestChangeIsVisibleInTheNextAnswer(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for i := range 20 {
		phone := fmt.Sprint("+1 555 ", i)
		d.set(phone)
		for range 4 {
			if got := d.ask(t, "", phoneQuery); got.body != phoneAnswer(phone) {
				t.Fatalf("after change %d: %s", i, got.body)
			}
		}
	}
	// Only the very first answer waits for a second request.
	if runs := d.runs.Load(); runs != 21 {
		t.Errorf("executed %d times, want 21", runs)
	}
}

func TestChangeWhileTheOperationRuns(t *testing.T) {
	t.Parallel()
	s := newSite()
	d := newDoor(t, func(set *setup) { set.site = s })
	d.ask(t, "", phoneQuery) // first sight
	var once sync.Once
	s.during = func() { once.Do(func() { s.set("new") }) }
	if got := d.ask(t, "", phoneQuery); got.body != phoneAnswer("+1 555 0100") {
		t.Fatalf("the answer in between: %s", got.body)
	}
	for range 3 {
		if got := d.ask(t, "", phoneQuery); got.body != phoneAnswer("new") {
			t.Errorf("after the change: %s", got.body)
		}
	}
}

func TestConcurrentReadsNeverGoBack(t *testing.T) {
	t.Parallel()
	s := newSite()
	s.set("0")
	d := newDoor(t, func(set *setup) { set.site = s })
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			last := -1
			for range 300 {
				got := d.ask(t, "", phoneQuery)
				var n int
				if _, err := fmt.Sscanf(got.body, `{"data":{"SiteSettings":{"contactPhone":"%d"}}}`, &n); err != nil || n < last {
					t.Errorf("after %d came %s (%v)", last, got.body, err)
					return
				}
				last = n
			}
		})
	}
	for i := 1; i <= 100; i++ {
		s.set(fmt.Sprint(i))
		if got := d.ask(t, "", phoneQuery); got.body != phoneAnswer(fmt.Sprint(i)) {
			t.Errorf("right after change %d: %s", i, got.body)
		}
	}
	group.Wait()
}

func TestWhatIsNeverKept(t *testing.T) {
	t.Parallel()
	pages := func(q string) string { return asBody(t, map[string]any{"query": q}) }
	cases := []struct {
		name, body string
		adjust     func(*setup)
	}{
		{"a field without a hint", pages(`{ cacheStats { success } }`), nil},
		{"a hinted field beside one without", pages(`{ cacheStats { success } SiteSettings(id: "siteSettings") { contactPhone } }`), nil},
		{"a mutation", pages(`mutation { trackQuote(input: {sessionId: "a"}) { success } }`), nil},
		{"nothing but the type's name", pages(`{ __typename }`), nil},
		{"the schema", pages(`{ __schema { queryType { name } } }`), func(s *setup) { s.policy.Introspection = true }},
		{"an error", pages(phoneQuery), func(s *setup) { s.site.fails = &schema.Error{Code: schema.CodeUpstreamUnavailable, Message: "Away."} }},
		{"an invalid document", pages(`{ nothing }`), nil},
		{"content without a revision", pages(phoneQuery), func(s *setup) {
			s.options.Revision = func(string) (string, bool) { return "", false }
		}},
		{"answers are off", pages(phoneQuery), func(s *setup) { s.options.AnswerBytes = -1 }},
		{"a very long request", pages(phoneQuery + " #" + strings.Repeat("x", 300<<10)), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, func(s *setup) {
				s.site = newSite()
				if c.adjust != nil {
					c.adjust(s)
				}
			})
			for range 4 {
				d.post(t, "", c.body)
				if e := <-d.events; e.Outcome == gqlhttp.Kept {
					t.Fatalf("kept: %+v", e)
				}
			}
		})
	}
}

// An operation that is ready to run again answers like one that is not.
func TestKeptOperations(t *testing.T) {
	t.Parallel()
	s := newSite()
	d := newDoor(t, func(set *setup) { set.site, set.options.AnswerBytes = s, -1 })
	body := asBody(t, map[string]any{
		"query":     `query Q($l: Locale!, $no: Boolean!) { content(documentType: "hero", locale: $l) { fields id @include(if: $no) } SiteSettings(id: "siteSettings") { contactPhone } }`,
		"variables": map[string]any{"l": "ro", "no": false},
	})
	for i := range 6 {
		phone := fmt.Sprint("+1 555 ", i)
		s.set(phone)
		want := fmt.Sprintf(`{"data":{"content":[{"fields":{"title":"ro (%d)"}}],"SiteSettings":{"contactPhone":"%s"}}}`, s.revision.Load(), phone)
		if got := d.post(t, "", body); got.body != want {
			t.Errorf("request %d: %s, want %s", i, got.body, want)
		}
	}
	s.fails = &schema.Error{Code: schema.CodeUpstreamUnavailable, Message: "Away."}
	if got := d.post(t, "", body); got.status != http.StatusOK || got.header.Get("Cache-Control") != "no-store" || !strings.Contains(got.body, "UPSTREAM_UNAVAILABLE") {
		t.Errorf("a failure: %d %s", got.status, got.body)
	}
	s.fails = nil
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				if got := d.post(t, "", body); got.status != http.StatusOK || strings.Contains(got.body, "errors") {
					t.Errorf("at once: %s", got.body)
				}
			}
		})
	}
	group.Wait()
}

func TestContentByLocale(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	d := newDoor(t, func(s *setup) {
		s.site = newSite()
		s.options.Revision = func(locale string) (string, bool) {
			asked <- locale
			return s.site.rev(locale)
		}
	})
	query := `query Q($l: Locale!) { a: content(documentType: "hero") { id } b: content(documentType: "hero", locale: es) { id } c: content(documentType: "hero", locale: $l) { id } }`
	for range 3 {
		d.post(t, "", asBody(t, map[string]any{"query": query, "variables": map[string]any{"l": "ro"}}))
	}
	if e := <-d.events; e.Operation != "content" {
		t.Errorf("event %+v", e)
	}
	<-d.events
	if e := <-d.events; e.Outcome != gqlhttp.Kept {
		t.Errorf("the third request was %v", e.Outcome)
	}
	seen := map[string]bool{}
	for len(asked) > 0 {
		seen[<-asked] = true
	}
	if len(seen) != 3 {
		t.Errorf("revisions asked for: %v, want en, es and ro", seen)
	}
}

// TestLengthIsKnown: short answers are counted by the server, long ones and those that
// come without their body by the door.
func TestLengthIsKnown(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	shell := len(phoneAnswer(""))
	for _, size := range []int{1, 2047 - shell, 2048 - shell, 2049 - shell, 5000} {
		d.set(strings.Repeat("1", size))
		want := strconv.Itoa(shell + size)
		params := url.Values{"query": {phoneQuery}}.Encode()
		for range 3 { // executed, executed, kept
			for name, got := range map[string]reply{
				"POST": d.ask(t, "", phoneQuery),
				"GET":  d.do(t, http.MethodGet, params, nil, nil),
				"HEAD": d.do(t, http.MethodHead, params, nil, nil),
			} {
				if got.status != http.StatusOK || got.header.Get("Content-Length") != want {
					t.Errorf("%s of %s bytes: %d %v", name, want, got.status, got.header)
				}
			}
		}
	}
}

func TestHeadersForCaches(t *testing.T) {
	t.Parallel()
	public := "public, max-age=0, must-revalidate"
	d := newDoor(t, nil)
	get := func(q string, header http.Header) reply {
		return d.do(t, http.MethodGet, url.Values{"query": {q}}.Encode(), header, nil)
	}
	for range 3 { // executed, executed, kept
		page := get(phoneQuery, nil)
		etag := page.header.Get("ETag")
		if page.header.Get("Cache-Control") != public || page.header.Get("Vary") != "Accept" || !strings.HasPrefix(etag, `"`) {
			t.Fatalf("headers %v", page.header)
		}
		for _, match := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
			got := get(phoneQuery, http.Header{"If-None-Match": {match}})
			if got.status != http.StatusNotModified || got.body != "" || got.header.Get("ETag") != etag ||
				got.header.Get("Cache-Control") != public || got.header.Get("Vary") != "Accept" || got.header.Get("Content-Type") != "" {
				t.Errorf("If-None-Match %s: %d %q %v", match, got.status, got.body, got.header)
			}
		}
		if got := get(phoneQuery, http.Header{"If-None-Match": {`"other"`}}); got.status != http.StatusOK {
			t.Errorf("another tag: %d", got.status)
		}
	}
	before := get(phoneQuery, nil).header.Get("ETag")
	d.set("new")
	if got := get(phoneQuery, http.Header{"If-None-Match": {before}}); got.status != http.StatusOK || got.body != phoneAnswer("new") {
		t.Errorf("after a change: %d %s", got.status, got.body)
	}
	if got := d.ask(t, "", phoneQuery); got.header.Get("Cache-Control") != public || got.header.Get("ETag") == "" || got.header.Get("Vary") != "" {
		t.Errorf("POST: %v", got.header)
	}
	// A condition on a POST is not for reading.
	header := http.Header{"Content-Type": {typeJSON}, "If-None-Match": {"*"}}
	if got := d.do(t, http.MethodPost, "", header, strings.NewReader(asBody(t, map[string]any{"query": phoneQuery}))); got.status != http.StatusOK {
		t.Errorf("POST with a condition: %d", got.status)
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
	got := d.ask(t, "", `mutation { trackQuote(input: {sessionId: "a"}) { success } }`)
	if got.header.Get("Cache-Control") != "no-store" || got.header.Get("ETag") != "" {
		t.Errorf("mutation: %v", got.header)
	}
}

func TestFillingTheCacheOfAnswers(t *testing.T) {
	t.Parallel()
	d := newDoor(t, func(s *setup) { s.options.AnswerBytes = 1 << 20 })
	kept, asked := 0, 0
	hot := func() { // a query that is used
		for len(d.events) > 0 {
			<-d.events
		}
		d.ask(t, "", phoneQuery)
		if asked++; (<-d.events).Outcome == gqlhttp.Kept {
			kept++
		}
	}
	hot()
	hot()
	for i := range 400 { // many that are not, each more than once
		flood := fmt.Sprintf(`{ SiteSettings(id: "siteSettings") { contactPhone } } # %d %s`, i, strings.Repeat("x", 1000))
		for range 3 {
			d.ask(t, "", flood)
		}
		hot()
	}
	if kept < asked*9/10 {
		t.Errorf("an answer in use was there %d times of %d", kept, asked)
	}
}
