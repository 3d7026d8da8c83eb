package deliveries

import (
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream/faulttest"
)

func TestDeliveryMetrics(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	stubs.CRM.Restrict(hubspottest.Options{Lacks: []string{"crm.schemas"}})
	s := apptest.Start(t, stubs.Env("DELIVERY_RETRY_MAX=1s", apptest.Quick)...)

	value := func(name string, labels ...string) float64 {
		set := map[string]string{}
		for _, l := range labels {
			k, v, _ := strings.Cut(l, "=")
			set[k] = v
		}
		return apptest.Counter(t, s, "siteapi_"+name, set)
	}

	stubs.CMS.Fail(faulttest.Respond(422).On("mutate"))
	id := s.Submit("measured")
	apptest.Eventually(t, "the CRM has the lead", func() bool {
		return value("delivery_tries_total", "target=crm", "outcome=delivered") == 1 &&
			value("lead_undelivered_seconds", "target=crm") == 0
	})
	if got := value("crm_gaps_total"); got != 17 {
		t.Errorf("%v gaps, want one for each of the seventeen properties", got)
	}
	apptest.Eventually(t, "the CMS rejects it", func() bool {
		return value("delivery_tries_total", "target=cms", "outcome=rejected") == 1 &&
			value("lead_undelivered_seconds", "target=cms") > 0 && value("deliveries", "target=cms", "state=failed") == 1
	})

	s.Prints("deliveries retry --all")
	s.Reaches(id, "cms", "delivered")
	apptest.Eventually(t, "no lead waits for the CMS", func() bool {
		return value("lead_undelivered_seconds", "target=cms") == 0
	})
}

// DELIVERY_RETRY_MAX limits the pause between two tries, 15 minutes by default. The
// number of tries follows from it, so that a delivery is retried for three days.
func TestDeliverySettings(t *testing.T) {
	t.Parallel()
	for retryMax, want := range map[string]int{"1s": 6000, "": 380, "24h": 23} {
		s := apptest.Start(t, "DELIVERY_RETRY_MAX="+retryMax)
		if got := s.Deliveries(s.Submit("tried"))["crm"].MaxAttempts; got != want {
			t.Errorf("DELIVERY_RETRY_MAX=%s: %d tries, want %d", retryMax, got, want)
		}
	}
}
