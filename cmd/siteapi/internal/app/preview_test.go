package app

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream/faulttest"
)

const (
	previewAuth = "Authorization: Bearer " + config.DevPreviewToken
	askDrafts   = "X-Preview: drafts"
)

// edit stores a document as the CMS holds it while an editor types.
func (f *vendorStubs) edit(id, title string) { f.t.Helper(); f.publish(id, "es", title) }

// previewing starts a service whose CMS has a published document, a draft and a release of it.
func previewing(t *testing.T) (*service, *vendorStubs) {
	t.Helper()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.published("public-title")
	stubs.edit("drafts.h", "secret-draft")
	stubs.edit("versions.rSpring.h", "secret-release")
	return startService(t, stubs.env()), stubs
}

// TestPreview reads one document as each perspective shows it.
func TestPreview(t *testing.T) {
	t.Parallel()
	s, _ := previewing(t)
	for header, want := range map[string]string{
		"X-Preview: drafts":         "secret-draft",
		"X-Preview: rSpring,drafts": "secret-release",
		"X-Nothing: 1":              "public-title",
	} {
		for method, got := range map[string]response{
			"POST": s.query(askHero, nil, previewAuth, header),
			"GET":  s.do("GET", "/graphql?query="+url.QueryEscape(askHero), "", previewAuth, header),
		} {
			if got.status != 200 || !bytes.Contains(got.body, []byte(want)) {
				t.Errorf("%s with %s: %d %s", method, header, got.status, got.body)
			}
			private := got.header.Get("Cache-Control") == "private, no-store" &&
				got.header.Get("ETag")+got.header.Get("Cache-Tag")+got.header.Get("Surrogate-Key") == ""
			if private == (want == "public-title") {
				t.Errorf("%s with %s: %v", method, header, got.header)
			}
		}
	}

	for header, status := range map[string]int{
		"X-Preview: published":        400,
		"X-Preview: raw":              400,
		"X-Preview: drafts,rSpring":   400,
		"X-Preview: rSpring":          400,
		"X-Preview: rA,rB,drafts":     400,
		"X-Preview: r../../x,drafts":  400,
		"X-Preview: rSpring, drafts ": 400,
	} {
		if got := s.do("POST", "/api/quote/estimate", `{"selections":{}}`, previewAuth, header); got.status != status {
			t.Errorf("%s: %d %s", header, got.status, got.body)
		}
	}
}

// TestPreviewOfPrices computes by rules that are not published, and submits nothing with them.
func TestPreviewOfPrices(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	s.writeContent(`[{"_id":"quoteRules","_type":"quoteRules","currency":"EUR","spreadPercent":50,"roundTo":100,"minimum":0,"validDays":30},
		{"_id":"o","_type":"quoteOption","group":"projectType","slug":{"current":"web-app"},"price":1000},
		{"_id":"drafts.o","_type":"quoteOption","group":"projectType","slug":{"current":"web-app"},"price":5000}]`)
	vars := map[string]any{"selections": map[string]any{"projectType": "web-app"}}

	eventually(t, "the published price", func() bool {
		got := s.through("REST", "estimateQuote", vars)
		return got.data["min"] == 1000.0 && got.data["revision"] != nil
	})
	for _, endpoint := range []string{"REST", "GraphQL"} {
		got := s.through(endpoint, "estimateQuote", vars, previewAuth, askDrafts)
		if got.data["min"] != 5000.0 || got.data["revision"] != nil {
			t.Errorf("%s: %s", endpoint, got.raw)
		}
	}
	if got := s.through("REST", "estimateQuote", vars, previewAuth, askDrafts); got.data["preview"] != true {
		t.Errorf("it does not say that it is a preview: %s", got.raw)
	}
}

// TestPreviewIsNotMixedUp reads both kinds of content at once, with equal requests.
func TestPreviewIsNotMixedUp(t *testing.T) {
	t.Parallel()
	s, stubs := previewing(t)
	var readers sync.WaitGroup
	for i := range 200 {
		readers.Go(func() {
			for n := range 50 {
				want, not, headers := "public-title", "secret", []string(nil)
				if (i+n)%2 == 0 {
					want, not, headers = "secret-draft", "public-title", []string{previewAuth, askDrafts}
				}
				got := s.query(askHero, nil, headers...)
				if !bytes.Contains(got.body, []byte(want)) || bytes.Contains(got.body, []byte(not)) {
					t.Errorf("want %s: %d %s", want, got.status, got.body)
					return
				}
				if n == i%50 {
					s.do("POST", "/api/cache/clear?all=true", "", cacheAuth)
				}
			}
		})
	}
	readers.Wait()

	// One fetch that is under way answers many; two begin in a second.
	began := time.Now()
	previews := func() (n int) {
		for _, r := range stubs.cms.Requests() {
			if r.Params.Get("perspective") == "drafts" {
				n++
			}
		}
		return n
	}
	before := previews()
	for time.Since(began) < 3*time.Second {
		s.query(askHero, nil, previewAuth, askDrafts)
	}
	if n := previews() - before; n > 7 || n < 4 {
		t.Errorf("%d fetches of drafts in three seconds, want two a second", n)
	}
}

// TestPreviewWithoutAToken tries to read drafts in every way but the right one.
func TestPreviewWithoutAToken(t *testing.T) {
	t.Parallel()
	s, _ := previewing(t)

	// Whoever previews leaves nothing behind: neither by GET nor by a registered document.
	hash := `"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + fmt.Sprintf("%x", sha256.Sum256([]byte(askHero))) + `"}}`
	get := "/graphql?query=" + url.QueryEscape(askHero)
	body, _ := json.Marshal(askHero)
	s.do("GET", get, "", previewAuth, askDrafts)
	s.do("POST", "/graphql", `{"query":`+string(body)+`,`+hash+`}`, previewAuth, askDrafts)

	for name, got := range map[string]response{
		"GET":         s.do("GET", get, ""),
		"a hash":      s.do("POST", "/graphql", `{`+hash+`}`),
		"only token":  s.query(askHero, nil, previewAuth),
		"a parameter": s.do("GET", get+"&X-Preview=drafts&perspective=drafts", "", previewAuth),
		"an argument": s.query(`{ content(documentType: "heroSection", locale: es, id: "drafts.h") { fields } }`, nil),
		"an old tag":  s.do("GET", get, "", `If-None-Match: "x"`),
	} {
		if bytes.Contains(got.body, []byte("secret")) {
			t.Errorf("%s: %s", name, got.body)
		}
	}

	for name, headers := range map[string][]string{
		"no token":          {askDrafts},
		"the cache's token": {askDrafts, cacheAuth},
		"operator's token":  {askDrafts, "Authorization: Bearer " + config.DevAdminToken},
		"an empty token":    {askDrafts, "Authorization: Bearer "},
		"a part":            {askDrafts, "Authorization: Bearer " + config.DevPreviewToken[:8]},
		"a session":         {askDrafts, "Cookie: siteapi_session=x"},
		"a page elsewhere":  {askDrafts, "Origin: https://evil.example"},
	} {
		for _, got := range []response{s.query(askHero, nil, headers...), s.do("GET", get, "", headers...)} {
			if got.status != 401 || bytes.Contains(got.body, []byte("title")) {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
	}

	// The token opens nothing else.
	if got := s.do("POST", "/api/cache/clear?all=true", "", previewAuth); got.status != 401 {
		t.Errorf("clearing the cache: %d", got.status)
	}
	if got := s.query(`{ leads { totalCount } }`, nil, previewAuth, askDrafts); !bytes.Contains(got.body, []byte("errors")) {
		t.Errorf("leads: %s", got.body)
	}
	events := s.do("POST", "/graphql", `{"query":"subscription { contentChanged { keys } }"}`,
		previewAuth, "Accept: text/event-stream")
	if events.status != 401 {
		t.Errorf("events without the header: %d", events.status)
	}

	// A page of another origin may not even ask to send the header.
	preflight := s.do("OPTIONS", "/graphql", "", "Origin: https://evil.example",
		"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x-preview")
	if strings.Contains(strings.ToLower(preflight.header.Get("Access-Control-Allow-Headers")), "x-preview") {
		t.Errorf("CORS: %v", preflight.header)
	}
}

// TestPreviewWhileTheCMSFails shows no copy, and leaves the public site alone.
func TestPreviewWhileTheCMSFails(t *testing.T) {
	t.Parallel()
	s, stubs := previewing(t)
	s.query(askHero, nil)
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusForbidden} {
		stubs.cms.Recover()
		stubs.cms.Fail(faulttest.Answer(status).On("query").Times(-1))
		got := s.query(askHero, nil, previewAuth, askDrafts)
		if !bytes.Contains(got.body, []byte("UPSTREAM_UNAVAILABLE")) || bytes.Contains(got.body, []byte("title")) {
			t.Errorf("the CMS answers %d: %s", status, got.body)
		}
		if got := s.query(askHero, nil); !bytes.Contains(got.body, []byte("public-title")) {
			t.Errorf("the public site: %s", got.body)
		}
	}
}

// contentEvents follows contentChanged and sends the time of each event.
func (s *service) contentEvents() (events <-chan time.Time, leave func()) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+"/graphql",
		strings.NewReader(`{"query":"subscription { contentChanged { keys } }"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type":  "application/json",
		"Accept":        "text/event-stream",
		"X-Preview":     "drafts",
		"Authorization": "Bearer " + config.DevPreviewToken,
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		s.t.Fatalf("following changes: %v %v", resp, err)
	}

	times := make(chan time.Time, 100)
	go func() {
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "data:") {
				times <- time.Now()
			}
		}
	}()
	<-times // the first one comes at once
	return times, func() { _ = resp.Body.Close() }
}

// TestPreviewEvents edits a draft while pages show it.
func TestPreviewEvents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refused bool
		within  time.Duration
	}{
		"stream":  {false, time.Second},
		"without": {true, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, stubs := previewing(t)
			if tc.refused {
				stubs.cms.Fail(faulttest.Answer(http.StatusServiceUnavailable).On("live/events").Times(-1))
			}
			streams := func() (n int) {
				for _, r := range stubs.cms.Requests() {
					if r.Params.Get("includeDrafts") == "true" {
						n++
					}
				}
				return n
			}
			if streams() != 0 {
				t.Error("drafts are followed although nobody previews")
			}

			first, leaveFirst := s.contentEvents()
			second, leaveSecond := s.contentEvents()
			eventually(t, "drafts are followed", func() bool { return streams() > 0 })
			time.Sleep(2500 * time.Millisecond) // the first question after changes
			for len(first)+len(second) > 0 {
				select {
				case <-first:
				case <-second:
				}
			}

			var slowest time.Duration
			for i := range 5 {
				title, began := fmt.Sprintf("secret-%d.", i), time.Now()
				stubs.edit("drafts.h", title)
				for _, events := range []<-chan time.Time{first, second} {
					select {
					case at := <-events:
						slowest = max(slowest, at.Sub(began))
					case <-time.After(time.Minute):
						t.Fatal("no event")
					}
				}
				if got := s.query(askHero, nil, previewAuth, askDrafts); !bytes.Contains(got.body, []byte(title)) {
					t.Errorf("after its event: %s", got.body)
				}
			}
			if slowest > tc.within+time.Second { // a second for a busy machine
				t.Errorf("an event came after %v, want %v", slowest, tc.within)
			}
			t.Logf("%v at most", slowest)
			if n := streams(); n != 1 && !tc.refused {
				t.Errorf("%d streams for two pages", n)
			}

			leaveFirst()
			leaveSecond()
			asked := func() int { return stubs.requests("query", "_id, _rev") + streams() }
			eventually(t, "nobody follows drafts", func() bool {
				before := asked()
				time.Sleep(2500 * time.Millisecond)
				return asked() == before
			})
		})
	}
}
