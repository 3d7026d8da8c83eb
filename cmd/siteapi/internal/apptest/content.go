package apptest

import (
	"fmt"
	"strings"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/upstream/faulttest"
)

// Publish replaces the content of the CMS with one hero section.
func (f *Vendors) Publish(title string) {
	f.T.Helper()
	doc := fmt.Appendf(nil, `{"_id":"h","_type":"heroSection","language":"es","title":%q}`, title)
	if err := f.CMS.Replace(doc); err != nil {
		f.T.Fatal(err)
	}
}

// FailCMS makes the CMS fail until Recover is called.
func (f *Vendors) FailCMS() {
	f.CMS.Fail(faulttest.Respond(500).Times(-1))
}

// Shows waits until the service returns a title.
func (r *Process) Shows(title string) {
	r.T.Helper()
	Eventually(r.T, title+" is served", func() bool { return strings.Contains(r.Query(AskHero), title) })
}

// InvalidateAll invalidates the content of every language.
func (r *Process) InvalidateAll() {
	r.T.Helper()
	if got := r.Do("POST", "/api/cache/invalidate", `{"type":"all"}`, CacheAuth); got.Status != 200 {
		r.T.Fatalf("invalidating: %d %s", got.Status, got.Body)
	}
}

const (
	CacheAuth = "Authorization: Bearer " + config.DevCacheToken
	HookAuth  = "Authorization: Bearer " + config.DevWebhookSecret
)

// AskHero queries the Spanish hero section.
const AskHero = `{ content(documentType: "heroSection", locale: es) { fields } }`
