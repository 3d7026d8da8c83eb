package commands

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store/storetest/pgserver"
)

// strictSettings returns settings of production without a problem, but for what privacy asks for.
func strictSettings() []string {
	return []string{
		"ENVIRONMENT=production",
		"CACHE_API_TOKEN=hush-0123456789-0123456789",
		"CMS_WEBHOOK_SECRET=hush-9876543210-9876543210",
		"CMS_WEBHOOK_SIGNING_SECRET=hush-5555555555-5555555555",
		"ADMIN_API_TOKEN=hush-7777777777-7777777777",
		"CONTENT_TYPES=heroSection",
		"CORS_ALLOWED_ORIGINS=https://site.example",
		"LEAD_RETENTION=730d",
		"RATE_LIMITS=on",
		"SITE_URL=https://api.example",
		"TRACK_CONTACT=consent",
		"TRUSTED_PROXIES=127.0.0.1",
	}
}

func TestDoctorFindsNothing(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t, strictSettings()...).Start()

	must(t, os.Chmod(s.Dir, 0o700))
	s.Arrives(s.Submit("lead"))
	documents := len(s.Stubs.CMS.Documents())

	c, code := s.Doctor(nil, "--server", s.Base)
	for _, d := range c.Checks {
		// The disk of a busy machine may be slow.
		off := []string{"sign-in", "assistants", "edge", "cache", "preview", "mail", "networks"}
		if (d.State == "SKIPPED") != slices.Contains(off, d.Name) || d.State != "OK" && d.State != "SKIPPED" &&
			!strings.Contains(d.Detail, "a commit took") {
			t.Errorf("%d %+v", code, d)
		}
	}

	for check, words := range map[string]string{
		"settings":    "for production",
		"data folder": "written and synced",
		"deliveries":  "none is late",
		"cms":         "documents in en",
		"crm":         "answered",
		"service":     "is ready",
	} {
		c.Reports(t, check, "OK", words)
	}

	remaining, _ := filepath.Glob(filepath.Join(s.Dir, ".*"))
	if len(s.Stubs.CMS.Documents()) != documents || len(s.Stubs.CRM.Contacts()) != 1 || len(remaining) != 0 {
		t.Errorf("the doctor left data in the CMS or the CRM, or files: %q", remaining)
	}
	s.Prints("doctor --server "+s.Base, "ok      settings     valid for production", "ok      cms")

	// A service that does not answer is a warning, unless it was never started.
	c, _ = s.Doctor(nil, "--server", "http://127.0.0.1:1")
	c.Reports(t, "service", "WARNING", "no service is running at http://127.0.0.1:1")
	c, _ = apptest.NewSite(t).Doctor(nil, "--server", "http://127.0.0.1:1")
	c.Reports(t, "service", "SKIPPED", "no service is running")

	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	c, code = s.Doctor(nil, "--server", other.URL)
	if c.Reports(t, "service", "FAILED", "is not this service"); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

func TestDoctorOnSettings(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t, append(strictSettings(), "CMS_DRIVER=file", "CMS_FILE="+apptest.OwnContent(t))...)
	risky := []string{
		"CACHE_API_TOKEN=hush",
		"SITE_URL=http://x.example",
		"RATE_LIMITS=off",
		"ADMIN_ADDR=:9090",
		"LEAD_RETENTION=0s",
		"TRACK_CONTACT=on",
	}

	c, code := s.Doctor(risky)
	if code != 0 || c.State != "WARNING" {
		t.Errorf("warnings alone: %d %+v", code, c)
	}

	for _, words := range []string{
		"short enough to be guessed",
		"SITE_URL is not an https",
		"RATE_LIMITS=off",
		"ADMIN_ADDR",
		"CRM_DRIVER=file",
		"LEAD_RETENTION is not set",
		"TRACK_CONTACT=on",
	} {
		c.Reports(t, "settings", "WARNING", words)
	}
	empty, _ := s.Doctor([]string{"CONTENT_TYPES="})
	empty.Reports(t, "settings", "WARNING", "CONTENT_TYPES is empty")

	c, code = s.Doctor([]string{"TRUSTED_PROXIES=::/0"})
	if c.Reports(t, "settings", "FAILED", "pretend to be any client"); code != 2 {
		t.Errorf("a failure: %d", code)
	}

	// Before the first start the doctor creates nothing.
	fresh := apptest.NewSite(t)
	fresh.Dir += "/none"
	c, code = fresh.Doctor([]string{"DATA_DIR=" + fresh.Dir})
	for _, check := range []string{"data folder", "database", "cms"} {
		c.Reports(t, check, "WARNING", "first start")
	}
	if _, err := os.Stat(fresh.Dir); code != 0 || err == nil {
		t.Errorf("the doctor created the folder: %d", code)
	}

	s.Refuses(map[string]string{"doctor --server ftp://x": "--server"})
}

// Each invalid setting is reported, and checks that do not depend on it still run.
func TestDoctorContinuesAfterInvalidSettings(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t, strictSettings()...)
	c, code := s.Doctor([]string{"LISTEN_ADDR=8080", "CMS_DRIVER=sanity", "SANITY_PROJECT_ID=hush!"})
	if code != 2 {
		t.Errorf("exit code %d", code)
	}
	for _, words := range []string{"LISTEN_ADDR: must", "SANITY_PROJECT_ID: must", "SANITY_TOKEN: is required"} {
		c.Reports(t, "settings", "FAILED", words)
	}
	for _, check := range c.Checks {
		if check.Name == "settings" && check.State == "OK" {
			t.Error("it also reports that the settings are valid")
		}
	}
	c.Reports(t, "cms", "SKIPPED", "its settings are invalid")
	c.Reports(t, "service", "SKIPPED", "its settings are invalid") // it would ask the default address
	c.Reports(t, "data folder", "OK", "written and synced")
	c.Reports(t, "cache", "SKIPPED", "in the memory")

	file := filepath.Join(t.TempDir(), "content.json")
	if err := os.WriteFile(file, []byte("[{]"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = apptest.NewSite(t)
	for _, tt := range []struct {
		env       string
		unchecked []string
	}{
		{"CMS_FILE=" + file, []string{"cms", "cms leads", "content", "preview", "prices"}},
		{"HUBSPOT_API_URL=hush", []string{"crm"}},
		{"DATABASE_URL=mysql://hush",
			[]string{"instances", "database", "deliveries", "reviews", "deletions", "edge", "webhook", "prices", "networks"}},
	} {
		c, _ := s.Doctor([]string{tt.env}, "--server", "http://127.0.0.1:1")
		setting, _, _ := strings.Cut(tt.env, "=")
		c.Reports(t, "settings", "FAILED", setting+": ")

		var unchecked, failed []string
		for _, check := range c.Checks {
			if strings.Contains(check.Detail, "its settings are invalid") {
				unchecked = append(unchecked, check.Name)
			}
			if check.State == "FAILED" {
				failed = append(failed, check.Name)
			}
		}
		if !slices.Equal(unchecked, tt.unchecked) || !slices.Equal(failed, []string{"settings"}) {
			t.Errorf("with an invalid %s, not checked: %q, failed: %q", setting, unchecked, failed)
		}
	}
}

func TestDoctorOnUpstreams(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t)
	for _, tt := range []struct{ env, check, state, words string }{
		{"CONTENT_TYPES=herosection,heroSection", "content", "WARNING", "document of type herosection"},
		{"SANITY_TOKEN=" + apptest.ReadToken, "cms leads", "FAILED", "role Editor"},
		{"HUBSPOT_API_URL=http://127.0.0.1:1", "crm", "FAILED", "are not lost"},
		{"HUBSPOT_TOKEN=hush-wrong", "crm", "FAILED", "check whether HUBSPOT_TOKEN is valid"},
		{"HUBSPOT_DEAL_STAGE=default/nothing", "crm", "FAILED", "does not have this pipeline and stage: `siteapi crm setup` lists"},
		{"HUBSPOT_DEAL_STAGE=Old/New", "crm", "FAILED", "this pipeline or stage is archived"},
		{"HUBSPOT_API_VERSION=v3", "crm", "WARNING", "lacks the properties contacts.quote_contact_created"},
	} {
		c, _ := s.Doctor([]string{tt.env})
		c.Reports(t, tt.check, tt.state, tt.words)
	}

	for _, doc := range []string{
		`{"_id":"heroSection-de","_type":"heroSection","language":"de-AT"}`,
		`{"_id":"zz","_type":"quoteOption","group":"feature","slug":{"current":"blog"},"label":{"en":"Again"}}`,
		`{"_id":"siteSettings","_type":"siteSettings","contactPhones":[{"number":"1"}],"contactEmail":7}`,
	} {
		must(t, s.Stubs.CMS.Publish(json.RawMessage(doc)))
	}
	s.Stubs.CMS.Unpublish("quoteRules")
	s.Stubs.CRM.Restrict(hubspottest.Options{Lacks: []string{"crm.objects.deals.write"}})
	c, _ := s.Doctor([]string{"HUBSPOT_DEAL_STAGE=default/appointmentscheduled"})
	c.Reports(t, "prices", "WARNING", "choices but no price rules")
	c.Reports(t, "content", "WARNING", `since the site does not use their language: "heroSection-de" (de)`)
	c.Reports(t, "content", "WARNING", `document "zz": document `)
	c.Reports(t, "content", "WARNING", `document "siteSettings": contactPhones[0] lacks a number or a display location`)
	c.Reports(t, "content", "WARNING", `document "siteSettings": contactEmail has the wrong type`)
	c.Reports(t, "crm", "FAILED", "the token lacks a scope: MISSING_SCOPES")
}

// An entry of the content file that is no document of its own is left out, and named.
func TestDoctorOnMalformedEntries(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "content.json")
	must(t, os.WriteFile(file, []byte(`[{"_id":"siteSettings","_type":"siteSettings"},`+
		`{"_id":"hero","_type":"heroSection"},{"_id":"hero","_type":"heroSection"},{"_type":"heroSection"}]`), 0o600))

	s := apptest.NewSite(t)
	c, _ := s.Doctor([]string{"CMS_FILE=" + file, "CONTENT_TYPES=heroSection"}, "--server", "http://127.0.0.1:1")
	c.Reports(t, "content", "WARNING", `entry 3: a second document has the _id "hero"`)
	c.Reports(t, "content", "WARNING", `entry 4: _id "" is missing`)

	// Settings in one language leave SiteSettings null in the others.
	must(t, os.WriteFile(file, []byte(`[{"_id":"abc","_type":"siteSettings","language":"es"},`+
		`{"_id":"hero","_type":"heroSection"}]`), 0o600))
	c, _ = s.Doctor([]string{"CMS_FILE=" + file, "CONTENT_TYPES=heroSection"}, "--server", "http://127.0.0.1:1")
	c.Reports(t, "content", "WARNING", "there is no published document of type siteSettings in en, ro")
	must(t, os.WriteFile(file, []byte(`[{"_id":"siteSettings","_type":"siteSettings","language":"es"},`+
		`{"_id":"hero","_type":"heroSection"}]`), 0o600))
	c, _ = s.Doctor([]string{"CMS_FILE=" + file, "CONTENT_TYPES=heroSection"}, "--server", "http://127.0.0.1:1")
	c.Reports(t, "content", "WARNING", "its language es does not count")
	for _, found := range c.Checks {
		if strings.Contains(found.Detail, "no published document") {
			t.Errorf("the settings of all languages: %s", found.Detail)
		}
	}
}

// A lead in a currency that the CRM's account does not have is rejected. Operators and
// the doctor get the reason.
func TestDoctorOnRejectedDeal(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t, "HUBSPOT_DEAL_STAGE=default/appointmentscheduled")
	s.Stubs.CMS.Unpublish("quoteRules") // the range that is sent stands
	s.Start()
	id := s.Submit("pounds", `"estimate": {"currency": "GBP"}`)
	s.Reaches(id, "crm", "failed")

	const reason = "the account does not have the currency of the quote"
	s.Prints("leads show "+id, reason)
	c, _ := s.Doctor(nil, "--server", s.Base)
	c.Reports(t, "deliveries", "WARNING", "1 leads were permanently rejected by the crm: hubspot: storing the deal: rejected (HTTP 400): "+reason)
	c.Reports(t, "crm", "OK", "answered")
}

// What several instances lack is reported as soon as the database or the cache is on a
// server. Each row has the settings that it lacks.
func TestDoctorOnInstances(t *testing.T) {
	t.Parallel()
	const (
		postgres = "DATABASE_URL=postgres://db.invalid/siteapi"
		valkey   = "CACHE_URL=valkey://127.0.0.1:1"
		sanity   = "CMS_DRIVER=sanity SANITY_PROJECT_ID=abc12345 SANITY_TOKEN=t SANITY_API_URL=http://127.0.0.1:1"
		hubspot  = "CRM_DRIVER=hubspot HUBSPOT_TOKEN=t HUBSPOT_API_URL=http://127.0.0.1:1"
		proxies  = "TRUSTED_PROXIES=10.0.0.0/8"
	)
	s := apptest.NewSite(t)
	for settings, lacks := range map[string]string{
		"":                                     "", // one machine with files
		sanity + " " + hubspot + " " + proxies: "", // one machine with vendors and a proxy
		"CACHE_URL=memory://":                  "",

		postgres:                 "CACHE_URL CMS_DRIVER CRM_DRIVER TRUSTED_PROXIES",
		valkey:                   "DATABASE_URL CMS_DRIVER CRM_DRIVER TRUSTED_PROXIES",
		postgres + " " + valkey:  "CMS_DRIVER CRM_DRIVER TRUSTED_PROXIES",
		postgres + " " + sanity:  "CACHE_URL CRM_DRIVER TRUSTED_PROXIES",
		valkey + " " + hubspot:   "DATABASE_URL CMS_DRIVER TRUSTED_PROXIES",
		postgres + " " + proxies: "CACHE_URL CMS_DRIVER CRM_DRIVER",
		"CACHE_URL=rediss://h:1": "DATABASE_URL CMS_DRIVER CRM_DRIVER TRUSTED_PROXIES",
		postgres + " " + valkey + " " + sanity + " " + hubspot:                 "TRUSTED_PROXIES",
		postgres + " " + valkey + " " + sanity + " " + hubspot + " " + proxies: "",
	} {
		c, _ := s.Doctor(strings.Fields(settings), "--server", "http://127.0.0.1:1")
		var got []string
		for _, check := range c.Checks {
			if check.Name == "instances" && check.State == "WARNING" {
				got = append(got, regexp.MustCompile(`^[A-Z_]+`).FindString(check.Detail))
			}
		}
		if strings.Join(got, " ") != lacks {
			t.Errorf("with %q it lacks %q, want %q", settings, got, lacks)
		}
	}
}

func TestDoctorOnBackends(t *testing.T) {
	t.Parallel()
	cache, database := valkeyserver.Start(t), pgserver.Start(t)
	s := apptest.NewSite(t, "CACHE_URL="+cache.URL(), "DATABASE_URL="+database.NewDatabase(t))
	c, _ := s.Doctor(nil, "--server", "http://127.0.0.1:1")
	c.Reports(t, "cache", "OK", "valkey: stored, read and removed")

	cache.Stop()
	c, code := s.Doctor([]string{"DATABASE_URL=" + database.URL("nosuch")})
	c.Reports(t, "cache", "FAILED", "")
	c.Reports(t, "database", "FAILED", "nosuch")
	if code != 2 {
		t.Errorf("exit code %d", code)
	}
}
