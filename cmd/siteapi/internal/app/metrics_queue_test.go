package app

import (
	"strings"
	"testing"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream/faulttest"
)

// counter returns the sum of the counters, gauges or counts of histograms with some
// labels. It waits until there is one: a scrape lacks the metrics of a database that is
// busy.
func counter(t *testing.T, s *service, name string, labels map[string]string) (value float64) {
	t.Helper()
	eventually(t, name+" is scraped", func() bool {
		value = scraped(t, s, name, labels)
		return value >= 0
	})
	return value
}

// scraped returns the current sum, -1 if there is no such metric.
func scraped(t *testing.T, s *service, name string, labels map[string]string) float64 {
	t.Helper()
	sum := -1.0
	families, err := s.app.metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			same := 0
			for _, l := range m.GetLabel() {
				if labels[l.GetName()] == l.GetValue() {
					same++
				}
			}

			if same == len(labels) {
				sum = max(sum, 0) + m.GetCounter().GetValue() + m.GetGauge().GetValue() +
					float64(m.GetHistogram().GetSampleCount())
			}
		}
	}

	return sum
}

func TestDeliveryMetrics(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{NoSchemas: true})
	s := startService(t, stubs.env(map[string]string{"DELIVERY_RETRY_MAX": "1s"}), quick)

	value := func(name string, labels ...string) float64 {
		set := map[string]string{}
		for _, l := range labels {
			k, v, _ := strings.Cut(l, "=")
			set[k] = v
		}
		return counter(t, s, "siteapi_"+name, set)
	}

	for _, target := range []string{"cms", "crm"} {
		if value("deliveries", "target="+target, "state=failed") != 0 ||
			value("lead_undelivered_seconds", "target="+target) != 0 {
			t.Errorf("a new service does not start its series for the %s at 0", target)
		}
	}

	stubs.cms.Fail(faulttest.Answer(401).On("mutate").Times(-1))
	id := s.submit(t, "measured")
	eventually(t, "the CRM has it", func() bool {
		return value("delivery_tries_total", "target=crm", "outcome=delivered") == 1
	})
	if got := value("crm_gaps_total"); got != 16 {
		t.Errorf("%v gaps, want one for each of the sixteen properties", got)
	}

	eventually(t, "the CMS refuses it", func() bool {
		return value("delivery_tries_total", "target=cms", "outcome=refused") > 0
	})
	if age := value("lead_undelivered_seconds", "target=cms"); age <= 0 || age > 60 {
		t.Errorf("the oldest undelivered lead is %v s old", age)
	}
	eventually(t, "the CRM has all", func() bool {
		return value("lead_undelivered_seconds", "target=crm") == 0
	})

	stubs.recover()
	if out, err := s.siteapi("deliveries", "retry", "--all"); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	eventually(t, "it arrives", func() bool { return s.deliveries(id)["cms"].State == "delivered" })
	eventually(t, "the CMS has all", func() bool {
		return value("lead_undelivered_seconds", "target=cms") == 0
	})
}

func TestFailedLeadsCountAsUndelivered(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, stubs.env(), quick)
	stubs.cms.Fail(faulttest.Answer(422).On("mutate"))
	id := s.submit(t, "failed")
	eventually(t, "it failed", func() bool { return s.deliveries(id)["cms"].State == "failed" })
	eventually(t, "it has an age", func() bool {
		return counter(t, s, "siteapi_lead_undelivered_seconds", map[string]string{"target": "cms"}) > 0
	})
}

// A delivery is tried for three days; a target that refuses the token is tried again
// within 15 minutes by default.
func TestDeliverySettings(t *testing.T) {
	t.Parallel()
	for retryMax, want := range map[string]int{"1s": 6000, "": 380, "24h": 23} {
		s := startService(t, map[string]string{"DELIVERY_RETRY_MAX": retryMax})
		if got := s.deliveries(s.submit(t, "tried"))["crm"].MaxAttempts; got != want {
			t.Errorf("%s: %d tries, want %d", retryMax, got, want)
		}
	}
}
