package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/integrations/upstream/faulttest"
)

// checkup is the report of the doctor.
type checkup struct {
	State  string
	Checks []struct{ Name, State, Detail, Advice string }
}

// doctor runs the command with some settings changed.
func (s *site) doctor(env []string, args ...string) (c checkup, code int) {
	s.t.Helper()
	changed := *s
	changed.env = append(append([]string{}, s.env...), env...)

	out, code := changed.run(append([]string{"doctor", "--json"}, args...)...)
	readJSON(s.t, out, &c)

	for _, secret := range []string{"hush", "@example.com"} {
		if strings.Contains(out, secret) {
			s.t.Errorf("%q is in %s", secret, out)
		}
	}
	return c, code
}

// says fails unless a check has a state and words, and gives advice if it is not OK.
func (c checkup) says(t *testing.T, check, state, words string) {
	t.Helper()
	for _, d := range c.Checks {
		if d.Name == check && d.State == state && strings.Contains(d.Detail+" "+d.Advice, words) &&
			(d.Advice != "") == (state != "OK") {
			return
		}
	}
	t.Errorf("%s does not say %s: %q, but\n%+v", check, state, words, c.Checks)
}

// strict returns settings for production in which the doctor finds nothing.
func strict() []string {
	return []string{
		"ENVIRONMENT=production",
		"CACHE_API_TOKEN=hush-0123456789-0123456789",
		"CMS_WEBHOOK_SECRET=hush-9876543210-9876543210",
		"CMS_WEBHOOK_SIGNING_SECRET=hush-5555555555-5555555555",
		"ADMIN_API_TOKEN=hush-7777777777-7777777777",
		"CONTENT_TYPES=heroSection",
		"CORS_ALLOWED_ORIGINS=https://site.example",
		"RATE_LIMITS=on",
		"SITE_URL=https://api.example",
		"TRUSTED_PROXIES=127.0.0.1",
	}
}

func TestDoctorFindsNothing(t *testing.T) {
	t.Parallel()
	s := newFarSite(t, strict()...)
	s.start()

	if err := os.Chmod(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.arrives(s.submit("lead"))
	documents := len(s.stubs.cms.Documents())

	c, code := s.doctor(nil, "--strict", "--server", s.base)
	for _, d := range c.Checks {
		// The disk of a busy machine may be slow.
		if d.State != "OK" && !strings.Contains(d.Detail, "a commit took") {
			t.Errorf("%d %+v", code, d)
		}
	}

	for check, words := range map[string]string{
		"settings":    "for production",
		"data folder": "written and synced",
		"deliveries":  "none is late",
		"cache":       "in the memory",
		"cms":         "documents in en",
		"crm":         "answered",
		"service":     "is ready",
	} {
		c.says(t, check, "OK", words)
	}

	if len(s.stubs.cms.Documents()) != documents || len(s.stubs.crm.Contacts()) != 1 {
		t.Error("the doctor left something at the CMS or the CRM")
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, ".*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}

	s.says(said{"doctor --server " + s.base,
		[]string{"ok      settings     they can be used", "ok      cms"}, []string{"\x1b"}})

	c, _ = s.doctor(nil, "--server", "http://127.0.0.1:1")
	c.says(t, "service", "WARNING", "a process has the database open")

	// A service that does not run is a warning, unless it was never started.
	s.stop(t)
	c, _ = s.doctor(nil, "--server", "http://127.0.0.1:1")
	c.says(t, "service", "WARNING", "no process has the database open")
	c, _ = newSite(t).doctor(nil, "--server", "http://127.0.0.1:1")
	c.says(t, "service", "OK", "none answers")
}

func TestDoctorOnSettings(t *testing.T) {
	t.Parallel()
	s := newSite(t, append(strict(), "CMS_DRIVER=file", "CMS_FILE="+ownContent(t))...)
	risky := []string{
		"CACHE_API_TOKEN=hush",
		"SITE_URL=http://x.example",
		"GRAPHQL_PLAYGROUND=on",
		"RATE_LIMITS=off",
		"CORS_ALLOWED_ORIGINS=*",
		"ADMIN_ADDR=:9090",
	}

	c, code := s.doctor(risky)
	if code != 0 || c.State != "WARNING" {
		t.Errorf("warnings alone: %d %+v", code, c)
	}

	for _, words := range []string{
		"short enough to be guessed",
		"SITE_URL is not an https",
		"GRAPHQL_PLAYGROUND",
		"RATE_LIMITS=off",
		"CORS_ALLOWED_ORIGINS=*",
		"ADMIN_ADDR",
		"CRM_DRIVER=file",
	} {
		c.says(t, "settings", "WARNING", words)
	}

	if _, code := s.doctor(risky, "--strict"); code != 2 {
		t.Errorf("warnings, strictly: %d", code)
	}

	empty, _ := s.doctor([]string{"CONTENT_TYPES=", "CORS_ALLOWED_ORIGINS=", "ADMIN_API_TOKEN="})
	for _, name := range []string{"CONTENT_TYPES", "CORS_ALLOWED_ORIGINS", "ADMIN_API_TOKEN"} {
		empty.says(t, "settings", "WARNING", name+" is empty")
	}

	c, code = s.doctor([]string{"TRUSTED_PROXIES=::/0"})
	if c.says(t, "settings", "FAILED", "pretend to be any client"); code != 2 {
		t.Errorf("a failure: %d", code)
	}

	// Before the first start the doctor creates nothing.
	fresh := newSite(t)
	fresh.dir += "/none"
	c, code = fresh.doctor([]string{"DATA_DIR=" + fresh.dir})
	for _, check := range []string{"data folder", "database", "cms"} {
		c.says(t, check, "WARNING", "first start")
	}
	if _, err := os.Stat(fresh.dir); code != 0 || err == nil {
		t.Errorf("looking for a folder made it: %d", code)
	}

	s.refuses(map[string]string{"doctor x": "one argument too many", "doctor --server ftp://x": "--server"})
}

// Wrong settings are reported one by one, and what does not depend on them is checked.
func TestDoctorGoesOnAfterWrongSettings(t *testing.T) {
	t.Parallel()
	s := newSite(t, strict()...)
	c, code := s.doctor([]string{
		"CACHE_URL=x://hush",
		"LISTEN_ADDR=8080",
		"CMS_DRIVER=sanity",
		"SANITY_PROJECT_ID=hush!",
	})
	if code != 2 {
		t.Errorf("exit code %d", code)
	}

	for _, words := range []string{
		"CACHE_URL: must",
		"LISTEN_ADDR: must",
		"SANITY_PROJECT_ID: must",
		"SANITY_TOKEN: is required",
	} {
		c.says(t, "settings", "FAILED", words)
	}
	for _, check := range []string{"cache", "cms", "prices", "mail"} {
		c.says(t, check, "WARNING", "not checked")
	}
	c.says(t, "data folder", "OK", "written and synced")
	c.says(t, "database", "WARNING", "first start")

	c, _ = s.doctor([]string{"DATABASE_URL=mysql://hush"})
	c.says(t, "settings", "FAILED", "DATABASE_URL: must")
	c.says(t, "settings", "FAILED", "CMS_DRIVER: is required in production")
	c.says(t, "database", "WARNING", "not checked")
	c.says(t, "cache", "OK", "in the memory")
}

func TestDoctorOnUpstreams(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.stubs = newVendorStubs(t, sanitytest.Options{ReadToken: "hush-reader"}, hubspottest.Options{})
	s.env = append(s.env, s.stubs.environ()...)

	answers := func(status int) func() {
		return func() {
			s.stubs.cms.Fail(faulttest.Answer(status).Times(-1))
		}
	}

	for _, tt := range []struct {
		fail                func()
		env                 string
		check, state, words string
	}{
		{nil, "CONTENT_TYPES=herosection,heroSection", "content", "WARNING", "document of type herosection"},
		{nil, "SANITY_API_URL=http://127.0.0.1:1", "cms", "FAILED", "are not lost"},
		{nil, "SANITY_TOKEN=hush-reader", "cms leads", "FAILED", "role Editor"},
		{answers(429), "A=b", "cms", "FAILED", "quota"},
		{func() { _ = s.stubs.cms.Replace() }, "A=b",
			"content", "WARNING", "no published document of type siteSettings"},
		{nil, "HUBSPOT_API_URL=http://127.0.0.1:1", "crm", "FAILED", "are not lost"},
		{nil, "HUBSPOT_TOKEN=hush-wrong", "crm", "FAILED", "see whether HUBSPOT_TOKEN is valid"},
		{nil, "SANITY_DATASET=unknown", "cms", "FAILED", "see SANITY_PROJECT_ID, SANITY_DATASET"},
		{nil, "HUBSPOT_API_VERSION=2001-01", "crm", "FAILED", "see HUBSPOT_API_VERSION"},
	} {
		if tt.fail != nil {
			tt.fail()
		}

		c, _ := s.doctor([]string{tt.env})
		c.says(t, tt.check, tt.state, tt.words)
		s.stubs.recover()
	}

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	c, code := s.doctor(nil, "--server", other.URL)
	if c.says(t, "service", "FAILED", "is not this service"); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

func TestDoctorOnBackends(t *testing.T) {
	t.Parallel()
	cache, database := valkeyserver.Start(t), pgserver.Start(t)
	s := newSite(t, "CACHE_URL="+cache.URL(), "DATABASE_URL="+database.NewDatabase(t))
	c, _ := s.doctor(nil, "--server", "http://127.0.0.1:1")
	c.says(t, "cache", "OK", "valkey: stored, read and removed")
	c.says(t, "service", "WARNING", "none answers at http://127.0.0.1:1")

	cache.Stop()
	c, code := s.doctor([]string{"DATABASE_URL=" + database.URL("nosuch")})
	c.says(t, "cache", "FAILED", "")
	c.says(t, "database", "FAILED", "nosuch")

	away, _ := s.doctor([]string{"DATABASE_URL=postgres://u@/db?host=/no/such/folder"})
	away.says(t, "database", "FAILED", "no such file")
	if code != 2 {
		t.Errorf("exit code %d", code)
	}
}

func TestDoctorOnDeliveries(t *testing.T) {
	t.Parallel()
	s, _, _, _ := troubled(t)
	bot := newLead("bot")
	bot["website"] = "https://spam.example"
	s.post("/api/quote/submit", bot)
	c, _ := s.doctor(nil, "--server", s.base)
	c.says(t, "deliveries", "WARNING", "1 leads were refused by the cms for good")
	c.says(t, "reviews", "WARNING", "1 leads are in review")
}
