package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// TestMendedTokenBringsEverything has both targets refuse the token for a while. Once they
// take it again everything arrives by itself, no later than DELIVERY_RETRY_MAX.
func TestMendedTokenBringsEverything(t *testing.T) {
	t.Parallel()
	out, code := command(t, []string{"ENVIRONMENT=development"}, "config")
	if code != 0 || !strings.Contains(out, "DELIVERY_RETRY_MAX") {
		t.Fatalf("config: %d %s", code, out)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "DELIVERY_RETRY_MAX") && !strings.Contains(line, "15m") {
			t.Errorf("by default: %s", line)
		}
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
			r := launch(t, t.TempDir(), stubs.environ(map[string]string{"DELIVERY_RETRY_MAX": "1s"})...)
			stubs.cms.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: status, On: "mutate", Times: always})
			stubs.crm.Fail(hubspottest.Answer(status, nil).Times(-1))
			var ids []string
			for i := range 10 {
				status, answer := r.post("/api/quote/submit", lead(fmt.Sprintf("mended-%d", i)))
				if status != http.StatusOK {
					t.Fatalf("submitting: %d %v", status, answer)
				}
				ids = append(ids, answer["submissionId"].(string))
			}
			eventually(t, "both targets refuse", func() bool {
				inCMS, inCRM := stubs.faults()
				return inCMS > 1 && inCRM > 1
			})
			stubs.recover()
			for i, id := range ids {
				session := fmt.Sprintf("mended-%d", i)
				eventually(t, session+" arrives", func() bool {
					return len(stubs.documents(session)) == 1 && len(stubs.contacts(session+"@example.com")) == 1
				})
				stubs.checkLead(t, session, id)
			}
		})
	}
}
