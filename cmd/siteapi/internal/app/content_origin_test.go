package app

import (
	"path/filepath"
	"strings"
	"testing"

	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
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
