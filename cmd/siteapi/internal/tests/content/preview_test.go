package content

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream/faulttest"
)

const (
	previewAuth = "Authorization: Bearer " + config.DevPreviewToken
	askDrafts   = "X-Preview: drafts"
)

// startPreview starts a service whose CMS has a published document, a draft and a release
// of it.
func startPreview(t *testing.T, more ...string) (*apptest.Service, *apptest.Vendors) {
	t.Helper()
	stubs := apptest.NewVendors(t)
	stubs.Publish("public-title")
	publish(stubs, "drafts.h", "secret-draft")
	publish(stubs, "versions.rSpring.h", "secret-release")
	return apptest.Start(t, stubs.Env(more...)...), stubs
}

// TestPreview reads a document in each perspective.
func TestPreview(t *testing.T) {
	t.Parallel()
	s, _ := startPreview(t)
	for header, want := range map[string]string{
		"X-Preview: drafts":         "secret-draft",
		"X-Preview: rSpring,drafts": "secret-release",

		"X-Preview: rNone,rSpring,drafts": "secret-release",
		"X-Preview: rSpring,rNone,drafts": "secret-release",
		"X-Nothing: 1":                    "public-title",
	} {
		for method, got := range map[string]apptest.Response{
			"POST": s.Query(apptest.AskHero, nil, previewAuth, header),
			"GET":  s.Do("GET", "/graphql?query="+url.QueryEscape(apptest.AskHero), "", previewAuth, header),
		} {
			if !got.Is(200, want) {
				t.Errorf("%s with %s: %s", method, header, got)
			}
			private := got.Header.Get("Cache-Control") == "private, no-store" && got.Header.Get("X-Content-Revision") != "" &&
				got.Header.Get("ETag")+got.Header.Get("Cache-Tag")+got.Header.Get("Surrogate-Key") == ""
			if private == (want == "public-title") {
				t.Errorf("%s with %s: %v", method, header, got.Header)
			}
		}
	}

	pdf := s.Do("GET", "/api/quote/pdf?id="+s.Submit("preview"), "", previewAuth, askDrafts)
	if pdf.Status != 200 || pdf.Header.Get("Cache-Control") != "private, no-store" || pdf.Header.Get("ETag") != "" {
		t.Errorf("the PDF: %d %v", pdf.Status, pdf.Header)
	}

	for header, status := range map[string]int{
		"X-Preview: raw":             400,
		"X-Preview: drafts,rSpring":  400,
		"X-Preview: rA,,drafts":      400,
		"X-Preview: rA, rB,drafts":   400,
		"X-Preview: rA,rB":           400,
		"X-Preview: drafts,drafts":   400,
		"X-Preview: rA,raw,drafts,":  400,
		"X-Preview: ,drafts":         400,
		"X-Preview: r../../x,drafts": 400,
	} {
		if got := s.Do("POST", "/api/quote/estimate", `{"selections":{}}`, previewAuth, header); got.Status != status {
			t.Errorf("%s: %s", header, got)
		}
	}
}

// TestPreviewOfPrices estimates with draft prices, which cannot be used to submit a lead.
func TestPreviewOfPrices(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	s.WriteContent(`[{"_id":"quoteRules","_type":"quoteRules","currency":"EUR","spreadPercent":50,"roundTo":100,"minimum":0,"validDays":30},
		{"_id":"o","_type":"quoteOption","group":"projectType","slug":{"current":"web-app"},"price":1000},
		{"_id":"drafts.o","_type":"quoteOption","group":"projectType","slug":{"current":"web-app"},"price":5000}]`)
	vars := map[string]any{"selections": map[string]any{"projectType": "web-app"}}

	apptest.Eventually(t, "the published price", func() bool {
		got := s.Through("REST", "estimateQuote", vars)
		return got.Data["min"] == 1000.0 && got.Data["revision"] != nil
	})
	for _, endpoint := range []string{"REST", "GraphQL"} {
		got := s.Through(endpoint, "estimateQuote", vars, previewAuth, askDrafts)
		if got.Data["min"] != 5000.0 || got.Data["revision"] != nil || got.Data["preview"] != true {
			t.Errorf("%s: %s", endpoint, got)
		}
	}

	// Draft rules are not stored, so no lead can be submitted with them.
	stored, err := s.App.Data.Store.CurrentRevision(t.Context(), store.Prices, "en")
	if err != nil || !strings.Contains(stored.Body, `"price":100000`) || strings.Contains(stored.Body, `"price":500000`) {
		t.Errorf("stored rules: %+v, %v", stored, err)
	}
}

// TestPreviewIsNotMixedUp reads published and draft content at the same time, with equal
// queries.
func TestPreviewIsNotMixedUp(t *testing.T) {
	t.Parallel()
	s, _ := startPreview(t)
	var readers sync.WaitGroup
	for i := range 100 {
		readers.Go(func() {
			for n := range 30 {
				isPreview, headers := (i+n)%2 == 0, []string{previewAuth, askDrafts}
				if !isPreview {
					headers = nil
				}
				got := s.Query(apptest.AskHero, nil, headers...)
				if got.Has("secret-draft") != isPreview || got.Has("public-title") == isPreview {
					t.Errorf("preview %v: %s", isPreview, got)
					return
				}
				if n == i%30 {
					s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth)
				}
			}
		})
	}
	readers.Wait()
}

// TestPreviewsOfManyReleases reads hundreds of releases at once, whose names a client invents.
// All of them together are paced, since they share the CMS quota of the public site, and those
// that would wait too long fail.
func TestPreviewsOfManyReleases(t *testing.T) {
	t.Parallel()
	s, stubs := startPreview(t)
	began := time.Now()
	var readers sync.WaitGroup
	for i := range 240 {
		readers.Go(func() {
			got := s.Query(apptest.AskHero, nil, previewAuth, fmt.Sprintf("X-Preview: rName%d,drafts", i))
			if got.Status >= 500 && !got.Has("UPSTREAM_UNAVAILABLE") {
				t.Errorf("%s", got)
			}
		})
	}
	readers.Wait()

	fetches := 0
	for _, r := range stubs.CMS.Requests() {
		if strings.Contains(r.Params.Get("perspective"), "drafts") {
			fetches++
		}
	}
	if took := time.Since(began); took > 30*time.Second || fetches > 2+int(2*took.Seconds()) {
		t.Errorf("%d fetches in %s, want about two per second", fetches, took)
	}
	apptest.Eventually(t, "drafts are read again", func() bool {
		return s.Query(apptest.AskHero, nil, previewAuth, askDrafts).Has("secret-draft")
	})
}

// TestPreviewWithoutAToken tries to read drafts in each way that must fail.
func TestPreviewWithoutAToken(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	s, _ := startPreview(t, "CACHE_URL="+server.URL())

	// A preview leaves nothing in a cache, whether it is sent with GET or as a registered
	// document.
	apq := fmt.Sprintf(`{"persistedQuery":{"version":1,"sha256Hash":"%x"}}`, sha256.Sum256([]byte(apptest.AskHero)))
	hash := `"extensions":` + apq
	get := "/graphql?query=" + url.QueryEscape(apptest.AskHero)
	body, _ := json.Marshal(apptest.AskHero)
	s.Do("GET", get, "", previewAuth, askDrafts)
	s.Do("POST", "/graphql", `{"query":`+string(body)+`,`+hash+`}`, previewAuth, askDrafts)

	for name, got := range map[string]apptest.Response{
		"GET":                          s.Do("GET", get, ""),
		"a hash":                       s.Do("POST", "/graphql", `{`+hash+`}`),
		"the token without the header": s.Query(apptest.AskHero, nil, previewAuth),
		"an argument":                  s.Query(`{ content(documentType: "heroSection", locale: es, id: "drafts.h") { fields } }`, nil),
	} {
		if got.Has("secret") {
			t.Errorf("%s: %s", name, got.Body)
		}
	}

	for name, headers := range map[string][]string{
		"no token":            {askDrafts},
		"the cache's token":   {askDrafts, apptest.CacheAuth},
		"an operator's token": {askDrafts, "Authorization: Bearer " + config.DevAdminToken},
		"a part of the token": {askDrafts, "Authorization: Bearer " + config.DevPreviewToken[:8]},
	} {
		for _, got := range []apptest.Response{s.Query(apptest.AskHero, nil, headers...), s.Do("GET", get, "", headers...)} {
			if got.Status != 401 || got.Has("title") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}

	// Neither the cache server nor a file contains drafts.
	values, err := server.Do("EVAL", `local all = {} for _, key in ipairs(redis.call('KEYS', '*')) do
		all[#all + 1] = key .. tostring(redis.pcall('GET', key)) end return table.concat(all)`, "0")
	if text := fmt.Sprint(values); err != nil || !strings.Contains(text, "public-title") || strings.Contains(text, "secret") {
		t.Errorf("the cache server has %s, %v", text, err)
	}
	err = filepath.WalkDir(s.DataDir, func(path string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("secret-draft")) {
			t.Errorf("%s has a draft", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	// The token is valid for nothing else.
	if got := s.Do("POST", "/api/cache/clear?all=true", "", previewAuth); got.Status != 401 {
		t.Errorf("clearing the cache: %d", got.Status)
	}
	if got := s.Query(`{ leads { totalCount } }`, nil, previewAuth, askDrafts); !got.Has("errors") {
		t.Errorf("leads: %s", got.Body)
	}
	events := s.Do("POST", "/graphql", `{"query":"subscription { contentChanged { keys } }"}`,
		previewAuth, "Accept: text/event-stream")
	if events.Status != 401 {
		t.Errorf("events without the header: %d", events.Status)
	}
}

// While the CMS fails, previews get no fallback copy, and the public site is not
// affected.
func TestPreviewWhileTheCMSFails(t *testing.T) {
	t.Parallel()
	s, stubs := startPreview(t)
	s.Query(apptest.AskHero, nil)
	for _, status := range []int{429, 500, 403} {
		stubs.CMS.Recover()
		stubs.CMS.Fail(faulttest.Respond(status).On("query").Times(-1))
		got := s.Query(apptest.AskHero, nil, previewAuth, askDrafts)
		if !got.Has("UPSTREAM_UNAVAILABLE") || got.Has("title") {
			t.Errorf("the CMS answers %d: %s", status, got.Body)
		}
		if got := s.Query(apptest.AskHero, nil); !got.Has("public-title") {
			t.Errorf("the public site: %s", got.Body)
		}
	}
}

// contentEvents subscribes to contentChanged and sends the time of each event.
func contentEvents(s *apptest.Service) (events <-chan time.Time, stop func()) {
	s.T.Helper()
	resp, err := apptest.Send(s.T.Context(), apptest.HTTP, "POST", s.Base+"/graphql",
		`{"query":"subscription { contentChanged { keys } }"}`, "Accept: text/event-stream", askDrafts, previewAuth)
	if err != nil || resp.StatusCode != 200 {
		s.T.Fatalf("subscribing: %v %v", resp, err)
	}

	times := make(chan time.Time, 100)
	go func() {
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "data:") {
				times <- time.Now()
			}
		}
	}()
	<-times // the event at the start
	return times, func() { _ = resp.Body.Close() }
}

// firstRevision returns the revision in the first event of a new stream.
func firstRevision(s *apptest.Service) string {
	s.T.Helper()
	resp, err := apptest.Send(s.T.Context(), apptest.HTTP, "POST", s.Base+"/graphql",
		`{"query":"subscription { contentChanged { keys revision } }"}`, "Accept: text/event-stream", askDrafts, previewAuth)
	must(s.T, err)
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			var event struct {
				Data struct {
					ContentChanged struct {
						Keys     []string
						Revision string
					}
				}
			}
			must(s.T, json.Unmarshal([]byte(data), &event))
			if len(event.Data.ContentChanged.Keys) > 0 {
				s.T.Errorf("the first event has keys: %s", data)
			}
			return event.Data.ContentChanged.Revision
		}
	}
	s.T.Fatal("the stream has no event")
	return ""
}

// TestPreviewRevision edits content between the rendering of a page and the opening of its
// stream. The page has another revision than the stream then, and only then, with both
// drivers and for each stream of several.
func TestPreviewRevision(t *testing.T) {
	t.Parallel()
	remote, stubs := startPreview(t)
	local := apptest.Start(t, "CONTENT_TYPES=heroSection")
	writeLocal := func(title string) {
		local.WriteContent(`[{"_id":"h","_type":"heroSection","language":"es","title":"x"},` +
			`{"_id":"drafts.h","_type":"heroSection","language":"es","title":"` + title + `"}]`)
	}
	writeLocal("one")

	for name, site := range map[string]struct {
		s    *apptest.Service
		edit func(title string)
	}{
		"Sanity": {remote, func(title string) { publish(stubs, "drafts.h", title) }},
		"file":   {local, writeLocal},
	} {
		t.Run(name, func(t *testing.T) {
			for _, headers := range [][]string{{askDrafts}, {"X-Preview: rSpring,drafts"}} {
				for round := range 3 {
					var page apptest.Response
					title := fmt.Sprint(headers, round)
					site.edit(title)
					apptest.Eventually(t, "the page shows the edit", func() bool {
						page = site.s.Query(apptest.AskHero, nil, append(headers, previewAuth)...)
						return page.Has("title") && (page.Has(title) || page.Has("secret-release"))
					})
					rendered := page.Header.Get("X-Content-Revision")
					if now := firstRevision(site.s); rendered == "" || now != rendered {
						t.Errorf("round %d: rendered with %q, the stream begins with %q", round, rendered, now)
					}

					site.edit(title + " again")
					if now := firstRevision(site.s); now == rendered || now == "" {
						t.Errorf("round %d: an edit after %q is not seen: %q", round, rendered, now)
					}
				}
			}
		})
	}

	// Published content has no revision, and fields of one request have the same.
	if got := remote.Query(apptest.AskHero, nil); got.Header.Get("X-Content-Revision") != "" {
		t.Errorf("published: %v", got.Header)
	}
	both := remote.Query(`{ SiteSettings(id: "siteSettings") { title } content(documentType: "heroSection", locale: ro) { id } }`,
		nil, previewAuth, askDrafts)
	if got := both.Header.Get("X-Content-Revision"); got != firstRevision(remote) {
		t.Errorf("two fields have the revision %q", got)
	}
}

// TestPreviewEvents edits a draft while a page shows it.
func TestPreviewEvents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		noStream bool
		within   time.Duration
	}{
		"stream":    {false, time.Second},
		"no stream": {true, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, stubs := startPreview(t)
			if tc.noStream {
				stubs.CMS.Fail(faulttest.Respond(503).On("live/events").Times(-1))
			}
			// watching counts the requests that watch drafts.
			watching := func() (n int) {
				for _, r := range stubs.CMS.Requests() {
					if r.Params.Get("includeDrafts") == "true" || r.Params.Get("perspective") == "raw" {
						n++
					}
				}
				return n
			}
			if watching() != 0 {
				t.Error("drafts are watched without a preview")
			}

			events, stop := contentEvents(s)
			time.Sleep(4 * time.Second) // the first checks for changes are over
			if len(events) > 0 {
				t.Errorf("%d further events without an edit", len(events))
			}

			for i := range 3 {
				title, began := fmt.Sprintf("secret-%d.", i), time.Now()
				publish(stubs, "drafts.h", title)
				if took := (<-events).Sub(began); took > tc.within+time.Second { // a second for a busy machine
					t.Errorf("an event arrived after %v, want %v", took, tc.within)
				}
				if got := s.Query(apptest.AskHero, nil, previewAuth, askDrafts); !got.Has(title) {
					t.Errorf("after its event: %s", got.Body)
				}
			}

			stop()
			apptest.Eventually(t, "drafts are no longer watched", func() bool {
				before := watching()
				time.Sleep(2500 * time.Millisecond)
				return watching() == before
			})
		})
	}
}

// TestPreviewEventAtTheStart opens streams one after the other and together, with each
// driver. A page that reloads after every event but the first one must not do so for
// ever.
func TestPreviewEventAtTheStart(t *testing.T) {
	t.Parallel()
	remote, _ := startPreview(t)
	for name, s := range map[string]*apptest.Service{"file": apptest.Start(t), "sanity": remote} {
		for i := range 4 {
			events, stop := contentEvents(s)
			time.Sleep(time.Second)
			if len(events) > 0 {
				t.Errorf("%s, stream %d: %d further events without an edit", name, i, len(events))
			}
			if i == 0 {
				stop() // The others are open together.
			}
			defer stop()
		}
	}
}
