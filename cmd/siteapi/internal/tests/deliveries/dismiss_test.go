package deliveries

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream/faulttest"
	"siteapi/schema"
)

// A failed delivery is dismissed with a reason. It then is neither reported nor missed, and
// its lead can expire. A retry brings it back. The reason is erased with the lead, so the
// audit does not repeat it.
func TestDismissDelivery(t *testing.T) {
	apptest.OnBothDatabases(t, func(t *testing.T, database string) {
		const reason = "Ana Pop called: she has withdrawn it."
		stubs := apptest.NewVendors(t)
		s := apptest.Start(t, stubs.Env("DATABASE_URL="+database, apptest.Quick)...)
		stubs.CMS.Fail(faulttest.Respond(422).On("mutate").Times(-1))
		id := s.Submit("dismissed")
		apptest.Eventually(t, "the CMS rejects it", func() bool {
			d := s.Deliveries(id)
			return d["cms"].State == lead.Failed && d["crm"].State == lead.Delivered
		})
		cms, crm := s.Deliveries(id)["cms"].ID, s.Deliveries(id)["crm"].ID

		dismiss := `mutation { dismissDelivery(id: "%d", reason: %q) { delivery { state } } }`
		for _, a := range []struct {
			role      schema.Role
			operation string
			code      string
		}{
			{schema.RoleViewer, fmt.Sprintf(dismiss, cms, reason), "FORBIDDEN"},
			{schema.RoleSales, fmt.Sprintf(dismiss, cms, " \u200b "), "BAD_USER_INPUT"},
			{schema.RoleSales, fmt.Sprintf(dismiss, cms, strings.Repeat("a", 501)), "BAD_USER_INPUT"},
			{schema.RoleSales, fmt.Sprintf(dismiss, crm, reason), "BAD_USER_INPUT"}, // it has arrived
			{schema.RoleSales, fmt.Sprintf(dismiss, cms+1000, reason), "NOT_FOUND"},
			{schema.RoleSales, fmt.Sprintf(dismiss, -1, reason), "NOT_FOUND"},
			{schema.RoleSales, fmt.Sprintf(dismiss, cms, reason), ""},
			{schema.RoleSales, fmt.Sprintf(dismiss, cms, reason), "BAD_USER_INPUT"}, // only once
		} {
			if _, code := s.OperateAs(a.role, a.operation); code != a.code {
				t.Errorf("%s as %s: %q, want %q", a.operation, a.role, code, a.code)
			}
		}

		if d := s.Deliveries(id)["cms"]; d.State != lead.Dismissed || d.Why() != reason {
			t.Errorf("the delivery is %+v", d)
		}
		apptest.Eventually(t, "the metrics leave it out", func() bool {
			return apptest.Counter(t, s, "siteapi_deliveries", map[string]string{"target": "cms", "state": "failed"}) == 0 &&
				apptest.Counter(t, s, "siteapi_lead_undelivered_seconds", map[string]string{"target": "cms"}) == 0
		})
		s.Prints("deliveries verify")
		entries := string(s.Response(schema.RoleAdmin, `{ audit(first: 500) { edges { node { action detail } } } }`))
		if strings.Count(entries, `"DISMISSED"`) != 1 || strings.Contains(entries, "Ana") {
			t.Errorf("the audit has %s", entries)
		}

		s.Prints(fmt.Sprint("deliveries retry ", cms))
		s.Reaches(id, "cms", lead.Failed)
		for want := range int64(2) {
			if n, err := s.App.Data.Store.PruneLeads(t.Context(), time.Now().Add(time.Hour)); n != want || err != nil {
				t.Errorf("retention deleted %d leads, want %d: %v", n, want, err)
			}
			s.OperateAs(schema.RoleSales, fmt.Sprintf(dismiss, cms, reason))
		}
	})
}
