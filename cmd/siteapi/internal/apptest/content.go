package apptest

import (
	"fmt"
	"strings"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/upstream/faulttest"
	"siteapi/schema"
)

// Publish replaces the content of the CMS with one hero section.
func (f *Vendors) Publish(title string) {
	f.T.Helper()
	doc := fmt.Appendf(nil, `{"_id":"h","_type":"heroSection","language":"es","title":%q}`, title)
	must(f.T, f.CMS.Replace(doc))
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
func (c *Client) InvalidateAll() {
	c.T.Helper()
	c.accepts("/api/cache/invalidate", `{"type":"all"}`, CacheAuth)
}

// Publish replaces the content file, and waits until the service has read it in every
// language. A lead that is submitted earlier does not wait for it: it is accepted without
// the firm's words, prices and wordings.
func (c *Client) Publish(content string) {
	c.T.Helper()
	c.WriteContent(content)
	c.InvalidateAll()
	for _, locale := range schema.Locales() {
		query := fmt.Sprintf(`{ SiteSettings(id: "siteSettings", locale: %s) { title } }`, locale)
		Eventually(c.T, "the content is read in "+string(locale), func() bool {
			return !strings.Contains(string(c.Query(query, nil).Body), "UPSTREAM_UNAVAILABLE")
		})
	}
}

// ReceiveWebhook sends the webhook of a publication of [Vendors.Publish].
func (c *Client) ReceiveWebhook() {
	c.T.Helper()
	c.accepts("/api/webhooks/cms", `{"_id":"h","_type":"heroSection","language":"es"}`, HookAuth)
}

func (c *Client) accepts(path, body, auth string) {
	c.T.Helper()
	if got := c.Do("POST", path, body, auth); got.Status != 200 {
		c.T.Fatalf("%s: %s", path, got)
	}
}

const (
	CacheAuth = "Authorization: Bearer " + config.DevCacheToken
	HookAuth  = "Authorization: Bearer " + config.DevWebhookSecret
)

// AskHero queries the Spanish hero section.
const AskHero = `{ content(documentType: "heroSection", locale: es) { fields } }`
