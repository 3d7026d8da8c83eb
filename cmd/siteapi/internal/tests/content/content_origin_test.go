package content

import (
	"path/filepath"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
)

// TestContentOfAnotherConfiguration restarts a service with another content file and
// other document types. Content of the earlier configuration in the cache server and the
// data folder is never served, whether the CMS works or fails.
func TestContentOfAnotherConfiguration(t *testing.T) {
	t.Parallel()
	valkey, dir := valkeyserver.Start(t), t.TempDir()
	content := func(title string) (env []string) {
		file := &apptest.Client{T: t, DataDir: t.TempDir()}
		file.WriteContent(`[{"_id":"h","_type":"heroSection","language":"es","title":"` + title + `"},
			{"_id":"f","_type":"faq","language":"es","title":"a question"},
			{"_id":"siteSettings","_type":"siteSettings","contactEmail":"` + title + `@example.com"}]`)
		return []string{
			"CACHE_URL=" + valkey.URL(), "CMS_FILE=" + filepath.Join(file.DataDir, "content.json"),
		}
	}

	const settings = `{ SiteSettings(id: "siteSettings") { contactEmail } }`
	old := content("oldtitle")
	r := apptest.Launch(t, dir, append(old, "CONTENT_TYPES=heroSection")...)
	r.Shows("oldtitle")
	_ = r.End(9)

	r = apptest.Launch(t, dir, append(old, "CONTENT_TYPES=heroSection,faq")...)
	if got := r.Query(`{ content(documentType: "faq", locale: es) { fields } }`); !strings.Contains(got, "a question") {
		t.Errorf("after a restart with another type: %s", got)
	}
	_ = r.End(9)

	r = apptest.Launch(t, dir, append(content("newtitle"), "CONTENT_TYPES=heroSection,faq")...)
	wantTitle(r, "newtitle")
	if got := r.Query(settings); !strings.Contains(got, "newtitle@") {
		t.Errorf("after a restart with another file: %s", got)
	}
	_ = r.End(9)

	stubs := apptest.NewVendors(t)
	stubs.FailCMS()
	r = apptest.Launch(t, dir, stubs.Env("CACHE_URL="+valkey.URL())...)
	if got := r.Query(settings); !strings.Contains(got, "UPSTREAM_UNAVAILABLE") {
		t.Errorf("with another CMS, which is down: %s", got)
	}
}

// TestInstancesOfTwoConfigurations runs two instances with different content on one cache
// server, as a rolling restart does. They do not keep replacing each other's entries, and
// an invalidation on one reaches both.
func TestInstancesOfTwoConfigurations(t *testing.T) {
	t.Parallel()
	valkey, stubs := valkeyserver.Start(t), apptest.NewVendors(t)
	stubs.Publish("first title")
	env := func(types string) []string {
		return stubs.Env("CACHE_URL="+valkey.URL(), "CONTENT_TYPES="+types, "CMS_WATCH=off")
	}
	a := apptest.Launch(t, t.TempDir(), env("heroSection")...)
	b := apptest.Launch(t, t.TempDir(), env("heroSection,faq")...)
	a.Shows("first title")
	b.Shows("first title")

	before := len(stubs.CMS.Requests())
	for range 200 {
		wantTitle(a, "first title")
		wantTitle(b, "first title")
	}
	if n := len(stubs.CMS.Requests()) - before; n > 20 {
		t.Errorf("400 reads caused %d requests to the CMS", n)
	}

	stubs.Publish("second title")
	a.InvalidateAll()
	wantTitle(a, "second title")
	b.Shows("second title")
}
