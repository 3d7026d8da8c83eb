package leads

import (
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// newOperatedSite returns a running site and a browser at its inbox that is not logged
// in.
func newOperatedSite(t *testing.T, env ...string) (*apptest.Site, *apptest.Browser) {
	t.Helper()
	admin := apptest.FreeAddress(t)
	s := apptest.NewSite(t, append(env, "ADMIN_ADDR="+admin, "ADMIN_API_TOKEN=secret-of-operators")...).Start()
	return s, apptest.NewBrowser(t, admin)
}

// submitSpam submits a lead that goes into review, and returns its id.
func submitSpam(s *apptest.Site, session string) string {
	s.T.Helper()
	id := s.Submit(session, `"website": "https://spam.example"`)
	return id
}
