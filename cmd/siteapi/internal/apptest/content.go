package apptest

import (
	"fmt"
	"net/http"
	"strings"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/upstream/faulttest"
)

// Published makes a title the whole content of the CMS.
func (f *Vendors) Published(title string) {
	f.T.Helper()
	doc := fmt.Appendf(nil, `{"_id":"h","_type":"heroSection","language":"es","title":%q}`, title)
	if err := f.CMS.Replace(doc); err != nil {
		f.T.Fatal(err)
	}
}

// CmsDown lets the CMS fail until the stubs recover.
func (f *Vendors) CmsDown() {
	f.CMS.Fail(faulttest.Answer(http.StatusInternalServerError).Times(-1))
}

// Shows waits until an instance serves a title.
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

// AskHero asks for the hero in Spanish.
const AskHero = `{ content(documentType: "heroSection", locale: es) { fields } }`
