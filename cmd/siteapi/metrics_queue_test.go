package main

import (
	"maps"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// counter returns the value of a counter or gauge as it is scraped; -1: there is none.
func counter(t *testing.T, s *service, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := s.app.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			if maps.Equal(have, labels) || len(labels) == 0 && len(have) == 0 {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

func TestDeliveryMetrics(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{NoSchemas: true})
	s := startService(t, far.env(map[string]string{"DELIVERY_RETRY_MAX": "1s"}), quick)
	value := func(name string, labels ...string) float64 {
		set := map[string]string{}
		for _, l := range labels {
			k, v, _ := strings.Cut(l, "=")
			set[k] = v
		}
		return counter(t, s, "siteapi_"+name, set)
	}
	for _, target := range []string{"cms", "crm"} {
		if value("deliveries", "target="+target, "state=failed") != 0 || value("lead_undelivered_seconds", "target="+target) != 0 || value("delivery_circuit_open", "target="+target) != 0 {
			t.Errorf("a new service does not start its series for the %s at 0", target)
		}
	}
	far.cms.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 401, On: "mutate", Times: always})
	id := s.submit(t, "measured")
	eventually(t, "the CRM has it", func() bool { return value("deliveries", "target=crm", "state=delivered") == 1 })
	if got := value("crm_gaps_total"); got != 10 {
		t.Errorf("%v gaps, want one for each of the ten properties", got)
	}
	eventually(t, "the CMS's circuit is open", func() bool { return value("delivery_circuit_open", "target=cms") == 1 })
	if got := value("delivery_tries_total", "target=cms", "outcome=refused"); got != 1 {
		t.Errorf("%v tries were refused", got)
	}
	eventually(t, "the lead is overdue", func() bool { return value("deliveries_overdue") == 1 })
	if age := value("lead_undelivered_seconds", "target=cms"); age < 1 || age > 60 {
		t.Errorf("the oldest undelivered lead is %v s old", age)
	}
	if age := value("lead_undelivered_seconds", "target=crm"); age != 0 {
		t.Errorf("the CRM has all, and its oldest undelivered lead is %v s old", age)
	}
	eventually(t, "the log says so", func() bool {
		return strings.Contains(s.log.String(), `"level":"error","deliveries":1`) && strings.Contains(s.log.String(), "deliveries are overdue")
	})
	far.recover()
	if out, err := s.siteapi("deliveries", "retry", "--all"); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	eventually(t, "it arrives", func() bool { return s.deliveries(id)["cms"].State == "delivered" })
	eventually(t, "the circuit is closed", func() bool { return value("delivery_circuit_open", "target=cms") == 0 })
	if age := value("lead_undelivered_seconds", "target=cms"); age != 0 {
		t.Errorf("the oldest undelivered lead is %v s old, though all arrived", age)
	}
}

func TestLatenessIsForgotten(t *testing.T) {
	t.Parallel()
	m := &metrics{}
	m.overdue(3, time.Time{})
	if got := m.late.number(time.Now()); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
	if got := m.late.number(time.Now().Add(lateFor + time.Second)); got != 0 {
		t.Errorf("long after the queue's last word: %d", got)
	}
}

func TestFailedLeadsCountAsUndelivered(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	far.cms.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 422, On: "mutate"})
	id := s.submit(t, "failed")
	eventually(t, "it failed", func() bool { return s.deliveries(id)["cms"].State == "failed" })
	time.Sleep(10 * time.Millisecond)
	if age := counter(t, s, "siteapi_lead_undelivered_seconds", map[string]string{"target": "cms"}); age <= 0 {
		t.Errorf("its age is %v", age)
	}
}

func TestDeliveryTiming(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		retryMax                        string
		attempts                        int
		first, backoff, circuit, refuse time.Duration
	}{
		{"", 864, time.Second, 15 * time.Minute, 5 * time.Minute, 15 * time.Minute},
		{"24h", 300, time.Second, 24 * time.Hour, 5 * time.Minute, 24 * time.Hour},
		{"10m", 1296, time.Second, 10 * time.Minute, 5 * time.Minute, 10 * time.Minute},
		{"1m", 5000, time.Second, time.Minute, time.Minute, time.Minute},
		{"1s", 5000, time.Second, time.Second, time.Second, time.Second},
	} {
		s, err := config.Read(func(name string) string {
			return map[string]string{"ENVIRONMENT": "development", "DELIVERY_RETRY_MAX": tt.retryMax}[name]
		})
		if err != nil {
			t.Fatal(err)
		}
		got := deliveryTiming(s, work{}.timing)
		if n := deliveryAttempts(s.DeliveryRetryMax); n != tt.attempts || got.BackoffFirst != tt.first || got.BackoffMax != tt.backoff ||
			got.CircuitMax != tt.circuit || got.RefusedPause != tt.refuse || got.OverdueAfter != time.Hour {
			t.Errorf("%q: %d tries, %+v", tt.retryMax, n, got)
		}
	}
	for name, value := range map[string]string{"DELIVERY_RETRY_MAX": "100ms"} {
		_, err := config.Read(func(n string) string { return map[string]string{"ENVIRONMENT": "development", name: value}[n] })
		if err == nil || !strings.Contains(err.Error(), name+": must be") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}
