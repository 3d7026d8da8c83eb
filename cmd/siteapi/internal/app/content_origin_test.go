package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store/storetest/pgserver"
)

// TestContentOfAnotherConfiguration restarts a service with another content file and
// other document types. What the cache server and the data folder hold of the earlier
// configuration is not served, neither while the CMS works nor while it fails.
func TestContentOfAnotherConfiguration(t *testing.T) {
	t.Parallel()
	valkey, dir := valkeyserver.Start(t), t.TempDir()
	content := func(title string) (env []string) {
		file := &service{t: t, dataDir: t.TempDir()}
		file.writeContent(`[{"_id":"h","_type":"heroSection","language":"es","title":"` + title + `"},
			{"_id":"f","_type":"faq","language":"es","title":"a question"},
			{"_id":"siteSettings","_type":"siteSettings","contactEmail":"` + title + `@example.com"}]`)
		return []string{
			"CACHE_URL=" + valkey.URL(), "CMS_FILE=" + filepath.Join(file.dataDir, "content.json"),
		}
	}

	const settings = `{ SiteSettings(id: "siteSettings") { contactEmail } }`
	old := content("oldtitle")
	r := launch(t, dir, append(old, "CONTENT_TYPES=heroSection")...)
	r.shows("oldtitle")
	_ = r.end(9)

	r = launch(t, dir, append(old, "CONTENT_TYPES=heroSection,faq")...)
	if got := r.query(`{ content(documentType: "faq", locale: es) { fields } }`); !strings.Contains(got, "a question") {
		t.Errorf("after a restart with another type: %s", got)
	}
	_ = r.end(9)

	r = launch(t, dir, append(content("newtitle"), "CONTENT_TYPES=heroSection,faq")...)
	r.serves("newtitle")
	if got := r.query(settings); !strings.Contains(got, "newtitle@") {
		t.Errorf("after a restart with another file: %s", got)
	}
	_ = r.end(9)

	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.cmsDown()
	r = launch(t, dir, stubs.environ(map[string]string{"CACHE_URL": valkey.URL()})...)
	if got := r.query(settings); !strings.Contains(got, "UPSTREAM_UNAVAILABLE") {
		t.Errorf("with another CMS, which fails: %s", got)
	}
}

// TestInstancesOfTwoConfigurations runs two instances that make different content on one
// cache server, as a rolling restart does. They don't keep replacing each other's
// entries, and an invalidation at one reaches both.
func TestInstancesOfTwoConfigurations(t *testing.T) {
	t.Parallel()
	valkey, stubs := valkeyserver.Start(t), newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.published("first title")
	env := func(types string) []string {
		return stubs.environ(map[string]string{"CACHE_URL": valkey.URL(), "CONTENT_TYPES": types})
	}
	a := launch(t, t.TempDir(), env("heroSection")...)
	b := launch(t, t.TempDir(), env("heroSection,faq")...)
	a.shows("first title")
	b.shows("first title")

	before := len(stubs.cms.Requests())
	for range 200 {
		a.serves("first title")
		b.serves("first title")
	}
	if n := len(stubs.cms.Requests()) - before; n > 20 {
		t.Errorf("400 reads made %d requests of the CMS", n)
	}

	stubs.published("second title")
	a.invalidateAll()
	a.serves("second title")
	b.shows("second title")
}

// TestInvalidationOutlivesTheCacheServer kills a cache server that saves to disk after an
// invalidation, so that it comes back with the earlier entries. Neither the instance that
// invalidated, nor another one, nor one that starts then serves them.
func TestInvalidationOutlivesTheCacheServer(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t)
	for name, remove := range map[string]struct{ path, body, auth string }{
		"invalidate": {"/api/cache/invalidate", `{"type":"all"}`, cacheAuth},
		"clear":      {"/api/cache/clear?pattern=content:*", "", cacheAuth},
		"webhook":    {"/api/webhooks/cms", `{"_id":"h","_type":"heroSection","language":"es"}`, hookAuth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			valkey := valkeyserver.Start(t, "--save", "3600 1")
			stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
			// A watch would renew entries on its own, also while the server is saving.
			env := stubs.environ(map[string]string{
				"CACHE_URL":    valkey.URL(),
				"DATABASE_URL": pg.NewDatabase(t),
				"CMS_WATCH":    "off",
			})

			a, b := launch(t, t.TempDir(), env...), launch(t, t.TempDir(), env...)
			stubs.published("old title")
			a.invalidateAll()
			a.shows("old title")
			b.shows("old title")
			if _, err := valkey.Do("SAVE"); err != nil {
				t.Fatal(err)
			}

			stubs.published("new title")
			if got := a.do("POST", remove.path, remove.body, remove.auth); got.status != 200 {
				t.Fatalf("removing: %d %s", got.status, got.body)
			}
			valkey.Stop()
			if err := valkey.Start(); err != nil {
				t.Fatal(err)
			}
			// After a webhook the entry may be replaced at this moment.
			eventually(t, "the entry is there again", func() bool {
				reply, err := valkey.Do("EXISTS", "siteapi:entry:content:locale:es")
				return err == nil && fmt.Sprint(reply) == "1"
			})

			c := launch(t, t.TempDir(), env...)
			for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
				for _, r := range []*running{a, c, b} {
					r.serves("new title")
				}
			}
		})
	}
}

// TestInvalidationNeedsTheDatabase stops the database. Nothing is acknowledged that
// could be forgotten, while reads go on.
func TestInvalidationNeedsTheDatabase(t *testing.T) {
	t.Parallel()
	pg, stubs := pgserver.Start(t), newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	stubs.published("old title")
	r := launch(t, t.TempDir(), stubs.environ(map[string]string{"DATABASE_URL": pg.NewDatabase(t)})...)
	r.shows("old title")
	pg.Stop(t)

	stubs.published("new title")
	for path, body := range map[string]string{
		"/api/cache/invalidate":     `{"type":"all"}`,
		"/api/cache/clear?all=true": "",
	} {
		got := r.do("POST", path, body, cacheAuth)
		if got.status != http.StatusServiceUnavailable || !json.Valid(got.body) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := r.do("POST", "/api/webhooks/cms", `{"_id":"h","_type":"heroSection"}`, hookAuth); got.status != 503 {
		t.Errorf("webhook: %d %s", got.status, got.body)
	}
	r.shows("new title")
}
