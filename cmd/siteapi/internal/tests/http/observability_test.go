package http

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream/faulttest"
)

var (
	metricName = regexp.MustCompile(`\b(siteapi|go|process)_[a-z0-9_]+\b`)
	suffix     = regexp.MustCompile(`_(bucket|count|sum)$`)
	fullName   = regexp.MustCompile(`fqName: "([^"]+)"`)
)

// metricNames returns the names of the metrics of a service with a failing CRM and a CDN
// to purge.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	vendors := apptest.NewVendors(t)
	s := apptest.Start(t,
		"CRM_DRIVER=hubspot",
		"HUBSPOT_API_URL="+vendors.CRM.URL(),
		"HUBSPOT_TOKEN="+hubspottest.Token,
		"HUBSPOT_DEAL_STAGE=default/appointmentscheduled",
		"CDN_PURGE_URL=http://127.0.0.1:1",
		"CDN_PURGE_KIND=varnish",
		"CDN_PURGE_TOKEN=purge-token",
	)
	vendors.CRM.Fail(faulttest.Respond(403).Times(-1))
	s.Submit("crm")

	names := map[string]bool{}
	descs := make(chan *prometheus.Desc, 1000)
	s.App.Metrics.Registry.Describe(descs)
	close(descs)
	for d := range descs {
		names[fullName.FindStringSubmatch(d.String())[1]] = true
	}

	apptest.Eventually(t, "the database answers in time for its metrics", func() bool {
		families, err := s.App.Metrics.Registry.Gather()
		for _, f := range families {
			names[f.GetName()] = true
		}
		return err == nil && names["siteapi_deliveries"] && names["siteapi_crm_pull_seconds"]
	})
	return names
}

// The dashboard and the alerts use only metrics that exist, and the dashboard shows all
// metrics of the service.
func TestDashboardAndAlerts(t *testing.T) {
	t.Parallel()
	known := metricNames(t)
	dashboard := apptest.File(t, "cmd/siteapi/deploy/dashboard.json")
	alerts := apptest.File(t, "cmd/siteapi/deploy/alerts.yaml")
	for _, name := range metricName.FindAllString(dashboard+alerts, -1) {
		if !known[name] && !known[suffix.ReplaceAllString(name, "")] {
			t.Errorf("there is no metric %s", name)
		}
	}
	for name := range known {
		if strings.HasPrefix(name, "siteapi_") && !strings.Contains(dashboard, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// The metrics reflect what the service has just done.
func TestLoadMetrics(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, apptest.Quick)
	s.Query(`{ SiteSettings(id: "siteSettings") { contactEmail } }`, nil)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.Base, "http://"))
	must(t, err)
	defer func() { _ = conn.Close() }()
	apptest.Eventually(t, "the connection is counted", func() bool {
		return apptest.Counter(t, s, "siteapi_connections", nil) >= 1
	})

	s.Submit("metered", `"website": "x"`)

	for _, want := range []struct {
		name   string
		labels map[string]string
		least  float64
		most   float64
	}{
		{"siteapi_cache_reads_total", map[string]string{"family": "content", "outcome": "miss"}, 1, 10},
		{"siteapi_dependency_up", map[string]string{"dependency": "database"}, 1, 1},
		{"siteapi_leads_in_review", nil, 1, 1},
		{"siteapi_events_total", map[string]string{"event": "spam_signal", "detail": "honeypot"}, 1, 1},
		{"siteapi_database_bytes", nil, 4096, 1e9},
		{"siteapi_database_seconds", map[string]string{"operation": "submit", "outcome": "ok"}, 1, 1},
		{"siteapi_connections", nil, 1, 100},
		{"siteapi_http_requests_under_way", map[string]string{"class": "all"}, 0, 0},
	} {
		if got := apptest.Counter(t, s, want.name, want.labels); got < want.least || got > want.most {
			t.Errorf("%s %v is %v, want %v to %v", want.name, want.labels, got, want.least, want.most)
		}
	}
}

// What alerts and the dashboard count exists before the first event: Prometheus sees no increase
// from nothing to 1.
func TestCountersBeginWithZero(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	families, err := s.App.Metrics.Registry.Gather()
	must(t, err)

	label := regexp.MustCompile(`(\w+)=~?\\?"([^"\\]*)`)
	counted := regexp.MustCompile(`increase\((siteapi_\w+)(?:\{(.*?)\})?\[`)
	text := apptest.File(t, "cmd/siteapi/deploy/alerts.yaml") + apptest.File(t, "cmd/siteapi/deploy/dashboard.json")
	for _, found := range counted.FindAllStringSubmatch(text, -1) {
		wanted := map[string]*regexp.Regexp{}
		for _, l := range label.FindAllStringSubmatch(found[2], -1) {
			if l[1] != "instance" {
				wanted[l[1]] = regexp.MustCompile("^(?:" + l[2] + ")$")
			}
		}
		series := 0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				same := 0
				for _, l := range m.GetLabel() {
					if re := wanted[l.GetName()]; re != nil && re.MatchString(l.GetValue()) {
						same++
					}
				}
				if f.GetName() == found[1] && same == len(wanted) {
					series++
				}
			}
		}
		if series == 0 {
			t.Errorf("a new service has no %s", found[0])
		}
	}
}

// Prometheus accepts the alert rules, and those about the age of something fire once it is
// older than they say.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("promtool")
	apptest.SkipWithout(t, err)

	dir := t.TempDir()
	cases := "rule_files: [plain.yaml]\ntests:\n"
	for _, alert := range []struct {
		name, metric string
		hours        int // the age from which it fires
	}{
		{"SiteapiDeletionRequested", "siteapi_deletion_request_seconds", 5 * 24},
		{"SiteapiLeadsInReview", "siteapi_lead_in_review_seconds", 24},
	} {
		for _, late := range []bool{false, true} {
			seconds, fires := alert.hours*3600-60, ""
			if late {
				seconds += 120
				fires = "{exp_labels: {job: siteapi, severity: ticket}}"
			}
			cases += fmt.Sprintf(`- interval: 1m
  input_series: [{series: '%s{job="siteapi"}', values: '%d+0x20'}]
  promql_expr_test: []
  alert_rule_test:
  - {eval_time: 10m, alertname: %s, exp_alerts: [%s]}
`, alert.metric, seconds, alert.name, fires)
		}
	}

	// The summaries have the age, which the test need not know.
	text := apptest.File(t, "cmd/siteapi/deploy/alerts.yaml")
	plain := regexp.MustCompile(`(?m)^        annotations:\n(          .*\n)+`).ReplaceAllString(text, "")
	for name, content := range map[string]string{"alerts.yaml": text, "plain.yaml": plain, "cases.yaml": cases} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml"}, {"test", "rules", "cases.yaml"}} {
		promtool := exec.CommandContext(t.Context(), "promtool", args...)
		promtool.Dir = dir
		if out, err := promtool.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v %s", args[0], err, out)
		}
	}
}
