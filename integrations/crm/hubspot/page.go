package hubspot

import (
	"context"
	"net/url"
	"strconv"
	"sync"
	"time"

	"siteapi/integrations/upstream"
)

// pages has the address of the account's pages, once HubSpot has named it.
type pages struct {
	mu    sync.Mutex // guards the fields below
	base  *url.URL   // nil: not known
	asked time.Time
}

// askAgain is the time after which the account is asked again for its details.
const askAgain = 10 * time.Minute

// details are the details of the account that its pages depend on.
type details struct {
	PortalID int64
	UIDomain string
}

func (a *details) complete() bool { return a.PortalID > 0 && a.UIDomain != "" }

// pageOf returns the address of the page that shows a record, by HubSpot's id of its type. It
// is empty if the token may not read the details of the account: a lead is stored without it.
func (d *Driver) pageOf(ctx context.Context, recordType, id string) string {
	if id == "" {
		return ""
	}
	p := &d.pages
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.base == nil && time.Since(p.asked) > askAgain {
		p.asked = time.Now()
		var own details
		err := d.call(ctx, upstream.Request{
			Op:   "reading the details of the account",
			Path: "/account-info/" + d.Version + "/details",
		}, &own)
		if err == nil {
			p.base = &url.URL{Scheme: "https", Host: own.UIDomain}
			p.base = p.base.JoinPath("contacts", strconv.FormatInt(own.PortalID, 10), "record")
		}
	}
	if p.base == nil {
		return ""
	}
	return p.base.JoinPath(recordType, id).String()
}
