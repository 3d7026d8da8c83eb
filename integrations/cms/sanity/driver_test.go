package sanity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/cmstest"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/upstream"
)

var pageQuery = cms.Query{Types: []string{"page"}, Locale: "en"}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func TestNewNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := sanity.New(sanity.Options{ProjectID: "My Project", Dataset: "../x", APIVersion: "v1", LanguageField: "a b", APIURL: "sanity.io"})
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{"project id", "dataset", "API version", "language field", "API address"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	for name, tc := range map[string]struct {
		opts sanity.Options
		bad  bool
	}{
		"defaults":   {sanity.Options{ProjectID: "abc123", Dataset: "production"}, false},
		"with a v":   {sanity.Options{ProjectID: "abc123", Dataset: "production", APIVersion: "v2024-01-01"}, false},
		"too old":    {sanity.Options{ProjectID: "abc123", Dataset: "production", APIVersion: "2020-01-01"}, true},
		"no project": {sanity.Options{Dataset: "production"}, true},
		"the CDN":    {sanity.Options{ProjectID: "abc123", Dataset: "production", APIURL: "https://abc123.apicdn.sanity.io"}, true},
	} {
		if _, err := sanity.New(tc.opts); (err != nil) != tc.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// hosts answers every request by recording where it went.
type hosts struct{ seen []string }

func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	h.seen = append(h.seen, r.URL.Scheme+"://"+r.URL.Host+r.URL.Path)
	return nil, http.ErrServerClosed
}

func TestTheLiveAPIIsAsked(t *testing.T) {
	t.Parallel()
	h := &hosts{}
	d, err := sanity.New(sanity.Options{ProjectID: "abc123", Dataset: "production", Token: "t", Transport: h})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = d.Fetch(t.Context(), pageQuery)
	_ = d.Put(t.Context(), cmstest.Submission("a"))
	want := []string{
		"https://abc123.api.sanity.io/v2025-02-19/data/query/production",
		"https://abc123.api.sanity.io/v2025-02-19/data/mutate/production",
	}
	if !slices.Equal(h.seen, want) {
		t.Errorf("asked %q", h.seen)
	}
}

func TestFetchIsOneRequestWithoutToken(t *testing.T) {
	t.Parallel()
	lake := start(t, sanitytest.Options{})
	replace(t, lake, `{"_id":"p","_type":"page"}`)
	d := driver(t, lake, sanity.Options{})
	if _, err := d.Fetch(t.Context(), pageQuery); err != nil {
		t.Fatal(err)
	}
	seen := lake.Requests()
	if len(seen) != 1 {
		t.Fatalf("%d requests", len(seen))
	}
	r := seen[0]
	if r.Method != "GET" || r.Auth != "none" || r.Params.Get("perspective") != "published" || r.Params.Get("$locale") != `"en"` || r.Params.Get("$types") != `["page"]` {
		t.Errorf("%+v", r)
	}
}

func TestLongQueriesGoByPOST(t *testing.T) {
	t.Parallel()
	lake := start(t, sanitytest.Options{})
	d := driver(t, lake, sanity.Options{})
	ids := []string{}
	for i := range 100 {
		ids = append(ids, fmt.Sprintf("%0100d", i))
	}
	missing, err := d.Missing(t.Context(), ids)
	if err != nil || len(missing) != 100 {
		t.Fatalf("%d missing, %v", len(missing), err)
	}
	if r := lake.Requests()[0]; r.Method != "POST" || r.API != "query" || r.Params.Get("perspective") != "raw" || r.Auth != "write" {
		t.Errorf("%+v", r)
	}
}

func TestTheWire(t *testing.T) {
	t.Parallel()
	lake := start(t, sanitytest.Options{})
	d := driver(t, lake, sanity.Options{})
	if err := d.Put(t.Context(), cmstest.Submission("abc")); err != nil {
		t.Fatal(err)
	}
	r := lake.Requests()[0]
	if !strings.HasPrefix(string(r.Body), `{"mutations":[{"createIfNotExists":{"_id":"quoteSubmission.abc","_type":"quoteSubmission",`) {
		t.Errorf("sent %s", r.Body)
	}
	if r.Params.Get("returnIds") != "true" || r.Params.Get("visibility") != "sync" || r.Auth != "write" {
		t.Errorf("sent %+v", r)
	}
	if _, err := d.Missing(t.Context(), strings.Split(strings.Repeat("a,", 229)+"a", ",")); err != nil {
		t.Fatal(err)
	}
	if n := len(lake.Requests()) - 1; n != 3 {
		t.Errorf("230 ids took %d queries, want 3", n)
	}
}

func TestSettingsOfASite(t *testing.T) {
	t.Parallel()
	lake := start(t, sanitytest.Options{})
	replace(t, lake, `{"_id":"a","_type":"page","__i18n_lang":"en"}`, `{"_id":"b","_type":"page","__i18n_lang":"es","language":"en"}`)
	d := driver(t, lake, sanity.Options{LanguageField: "__i18n_lang", APIVersion: "v2023-05-05"})
	docs, err := d.Fetch(t.Context(), pageQuery)
	if err != nil || len(docs) != 1 || docs[0].ID != "a" || docs[0].Language != "en" {
		t.Errorf("%v, %v", docs, err)
	}
	if path := lake.Requests()[0].Path; path != "/v2023-05-05/data/query/production" {
		t.Errorf("asked %s", path)
	}
}

// TestOddResults feeds answers that claim success. Nothing of them may be served.
func TestOddResults(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"null":              `{"result":null}`,
		"no result":         `{"ms":1}`,
		"an object":         `{"result":{}}`,
		"an error":          `{"error":{"type":"queryParseError"}}`,
		"not documents":     `{"result":[1]}`,
		"no id":             `{"result":[{"_type":"page"}]}`,
		"not UTF-8":         "{\"result\":[{\"_id\":\"a\",\"_type\":\"page\",\"t\":\"\xff\"}]}",
		"blank":             ` `,
		"more than one":     `{"result":[]}{"result":[]}`,
		"language of sorts": `{"result":[{"_id":"a","_type":"page","language":["en"]}]}`,
	} {
		lake := start(t, sanitytest.Options{})
		lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 200, Body: body})
		docs, err := driver(t, lake, sanity.Options{Token: "none"}).Fetch(t.Context(), pageQuery)
		if err == nil || upstream.KindOf(err) != upstream.Unavailable {
			t.Errorf("%s: %v, %v", name, docs, err)
		}
	}
	// What was not asked for is left out.
	lake := start(t, sanitytest.Options{})
	lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 200, Body: `{"result":[
		{"_id":"z","_type":"page"},{"_id":"drafts.z","_type":"page"},{"_id":"x.y","_type":"page"},
		{"_id":"q","_type":"quoteSubmission"},{"_id":"s","_type":"page","language":"es"},{"_id":"a","_type":"page","language":"en"}]}`})
	docs, err := driver(t, lake, sanity.Options{Token: "none"}).Fetch(t.Context(), pageQuery)
	if err != nil || len(docs) != 2 || docs[0].ID != "a" || docs[1].ID != "z" {
		t.Errorf("%v, %v", docs, err)
	}
}

func TestEraseTakesCopiesAlong(t *testing.T) {
	t.Parallel()
	lake := start(t, sanitytest.Options{})
	copyOf := func(id, of string) string {
		return `{"_id":"` + id + `","_type":"quoteSubmission","submissionId":"` + of + `"}`
	}
	replace(t, lake, copyOf("quoteSubmission.a", "a"), copyOf("drafts.quoteSubmission.a", "a"),
		copyOf("versions.r1.quoteSubmission.a", "a"), copyOf("quoteSubmission.b", "b"), `{"_id":"p","_type":"page","submissionId":"a"}`)
	if err := driver(t, lake, sanity.Options{}).Erase(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	left := lake.Documents()
	if len(left) != 2 || left["p"] == nil || left["quoteSubmission.b"] == nil {
		t.Errorf("left are %s", left)
	}
}

func TestEraseOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	lake := start(t, sanitytest.Options{})
	d := driver(t, lake, sanity.Options{})
	if err := d.Put(t.Context(), cmstest.Submission("a")); err != nil {
		t.Fatal(err)
	}
	// Should the far end make a fuss about one that is away, the others are erased all the same.
	absent := `{"error":{"type":"mutationError","items":[{"error":{"type":"documentNotFoundError"},"index":1}]}}`
	lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 404, Body: absent, On: "mutate"})
	if err := d.Erase(t.Context(), []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	if n := len(lake.Documents()); n != 0 {
		t.Errorf("%d documents are left", n)
	}
	// What the index does not know yet is erased as well.
	if err := d.Put(t.Context(), cmstest.Submission("a")); err != nil {
		t.Fatal(err)
	}
	lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 200, Body: `{"result":[]}`, On: "query"})
	if err := d.Erase(t.Context(), []string{"a"}); err != nil || len(lake.Documents()) != 0 {
		t.Errorf("%v, %d documents are left", err, len(lake.Documents()))
	}
	// A success that erased nothing is noticed.
	if err := d.Put(t.Context(), cmstest.Submission("a")); err != nil {
		t.Fatal(err)
	}
	lake.Fail(sanitytest.Fault{Mode: sanitytest.Partial, On: "mutate"})
	check(t, d.Erase(t.Context(), []string{"a"}), upstream.Unavailable, 0)
}

func TestReadsAreRetriedIfWanted(t *testing.T) {
	t.Parallel()
	lake := start(t, sanitytest.Options{})
	replace(t, lake, `{"_id":"p","_type":"page"}`)
	var calls atomic.Int32
	d := driver(t, lake, sanity.Options{Retries: 2, Observe: func(_ context.Context, c upstream.Call) { calls.Add(int32(c.Attempts)) }})
	lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 503, Times: 2})
	if docs, err := d.Fetch(t.Context(), pageQuery); err != nil || len(docs) != 1 {
		t.Errorf("%d documents, %v", len(docs), err)
	}
	if calls.Load() != 3 {
		t.Errorf("%d tries were observed", calls.Load())
	}
	lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 503, On: "mutate"})
	check(t, d.Put(t.Context(), cmstest.Submission("a")), upstream.Unavailable, 0)
}
