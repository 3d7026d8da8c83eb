package http

import (
	"encoding/json"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"

	"siteapi/cmd/siteapi/internal/app"
	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream/faulttest"
)

// described returns the labels of each metric that the service may show, by name.
func described(t *testing.T) map[string][]string {
	t.Helper()
	vendors := apptest.NewVendors(t, sanitytest.Options{}, hubspottest.Options{})
	s := apptest.Start(t, map[string]string{
		"CRM_DRIVER":      "hubspot",
		"HUBSPOT_API_URL": vendors.CRM.URL(),
		"HUBSPOT_TOKEN":   hubspottest.Token,
		"CDN_PURGE_URL":   "http://127.0.0.1:1",
		"CDN_PURGE_KIND":  "varnish",
		"CDN_PURGE_TOKEN": "purge-token",
	})
	s.Do("GET", "/healthz", "") // waits until it is listening

	// The CRM refuses to tell from the start: what is wrong shows all the same.
	vendors.CRM.Fail(faulttest.Answer(403).Times(-1))
	s.Submit(t, "crm")
	if _, err := s.App.Pull.Once(t.Context()); err == nil {
		t.Error("the CRM told what became of leads")
	}

	descs := make(chan *prometheus.Desc, 1000)
	s.App.Metrics.Registry.Describe(descs)
	close(descs)

	form := regexp.MustCompile(`fqName: "([^"]+)".*constLabels: \{(.*?)\}, variableLabels: \{(.*?)\}`)
	all := map[string][]string{}
	for d := range descs {
		m := form.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("a description of another form: %s", d)
		}

		labels := []string{"instance", "job"} // Prometheus adds these
		for _, l := range strings.Split(m[2]+","+m[3], ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(l), "=")
			labels = append(labels, name)
		}
		all[m[1]] = labels
	}

	families, err := s.App.Metrics.Registry.Gather()
	apptest.Eventually(t, "the database answers in time for its metrics", func() bool {
		families, err = s.App.Metrics.Registry.Gather()
		names := map[string]bool{}
		for _, f := range families {
			names[f.GetName()] = true
		}
		return err == nil && names["siteapi_deliveries"] && names["siteapi_leads_in_review"] &&
			names["siteapi_crm_pull_seconds"]
	})

	for _, f := range families {
		labels := []string{"instance", "job"}
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		all[f.GetName()] = append(labels, all[f.GetName()]...)
	}

	return all
}

var (
	metricName = regexp.MustCompile(`\b(siteapi|go|process)_[a-z0-9_]+\b`)
	selector   = regexp.MustCompile(`\b((?:siteapi|go|process)_[a-z0-9_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	suffix     = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// checkExpr fails for a metric or a label that the service does not have.
func checkExpr(t *testing.T, where, expr string, known map[string][]string) {
	t.Helper()
	find := func(name string) ([]string, bool) {
		labels, ok := known[name]
		if !ok && suffix.MatchString(name) {
			labels, ok = known[suffix.ReplaceAllString(name, "")]
		}
		return labels, ok
	}

	names := metricName.FindAllString(expr, -1)
	if len(names) == 0 && !strings.HasPrefix(expr, "up{") {
		t.Errorf("%s asks for none of our metrics: %s", where, expr)
	}
	for _, name := range names {
		if _, ok := find(name); !ok {
			t.Errorf("%s: there is no metric %s: %s", where, name, expr)
		}
	}

	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		labels, _ := find(s[1])
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			if !slices.Contains(labels, m[1]) {
				t.Errorf("%s: %s has no label %s", where, s[1], m[1])
			}
		}
	}

	if strings.Count(expr, "(") != strings.Count(expr, ")") ||
		strings.Count(expr, "{") != strings.Count(expr, "}") {
		t.Errorf("%s: brackets don't match: %s", where, expr)
	}
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	known := described(t)
	data, err := os.ReadFile("deploy/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}

	var board struct {
		Title  string
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}

	shown := ""
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q lies badly", p.ID, p.Title)
		}
		ids[p.ID] = true

		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q is empty", p.Title)
		}
		for _, target := range p.Targets {
			checkExpr(t, p.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"), known)
			shown += target.Expr + "\n"
		}
	}

	for name := range known {
		if strings.HasPrefix(name, "siteapi_") && !strings.Contains(shown, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	known := described(t)
	names := map[string]bool{}
	data, err := os.ReadFile("deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(data, &rules, yaml.Strict()); err != nil {
		t.Fatal(err)
	}

	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if names[r.Alert] || r.Alert == "" || r.Annotations["summary"] == "" ||
				r.Annotations["description"] == "" ||
				!slices.Contains([]string{"page", "ticket"}, r.Labels["severity"]) {
				t.Errorf("rule %q of %s is not complete, or there twice", r.Alert, g.Name)
			}

			names[r.Alert] = true
			checkExpr(t, r.Alert, strings.TrimSpace(r.Expr), known)
		}
	}

	if len(names) < 15 {
		t.Errorf("%d rules", len(names))
	}
}

// Each metric shows an event once it has happened.
func TestLoadMetrics(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil, apptest.Quick)
	settings := `{ SiteSettings(id: "siteSettings") { contactEmail } }`
	for range 3 {
		s.Query(settings, nil)
	}

	in := apptest.ValidLead("metered")
	in["website"] = "x"
	s.Through("REST", "submitQuote", object{"input": in})

	connection, err := net.Dial("tcp", strings.TrimPrefix(s.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	apptest.Eventually(t, "the connection is counted", func() bool {
		return apptest.Counter(t, s, "siteapi_connections", nil) >= 1
	})

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
		{"siteapi_database_connections", map[string]string{"state": "idle"}, 1, 100},
		{"siteapi_database_bytes", nil, 4096, 1e9},
		{"siteapi_database_seconds", map[string]string{"operation": "submit", "outcome": "ok"}, 1, 1},
		{"siteapi_connections", nil, 1, 100},
		{"siteapi_http_requests_under_way", map[string]string{"class": "all"}, 0, 0},
		{"siteapi_build_info", map[string]string{"version": app.Version()}, 1, 1},
	} {
		if got := apptest.Counter(t, s, want.name, want.labels); got < want.least || got > want.most {
			t.Errorf("%s %v is %v, want %v to %v", want.name, want.labels, got, want.least, want.most)
		}
	}
}
