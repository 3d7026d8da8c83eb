package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/store/storetest/pgserver"
)

// checkup is what the doctor says.
type checkup struct {
	State  string
	Checks []diagnosis
}

// doctor runs the command beside a service, with some settings changed.
func (s *service) doctor(t *testing.T, env map[string]string, args ...string) (checkup, error) {
	t.Helper()
	out, err := s.siteapiWith(env, append([]string{"doctor", "--json", "--server", s.base}, args...)...)
	var c checkup
	if json.Unmarshal([]byte(out), &c) != nil {
		t.Fatalf("not JSON: %v %s", err, out)
	}
	for _, secret := range []string{"hush", "@example.com"} {
		if strings.Contains(out, secret) {
			t.Errorf("%q is in %s", secret, out)
		}
	}
	return c, err
}

// says fails unless a check has a finding in that state, with those words and an advice
// where something is amiss.
func (c checkup) says(t *testing.T, check, state, words string) {
	t.Helper()
	for _, d := range c.Checks {
		if d.Check == check && d.State == state && strings.Contains(d.Detail, words) && (d.Advice != "") == (state != stateOK) {
			return
		}
	}
	t.Errorf("%s does not say %s: %q, but\n%+v", check, state, words, c.Checks)
}

// strict are settings for production in which a doctor finds nothing.
func strict(more map[string]string) map[string]string {
	env := map[string]string{
		"ENVIRONMENT": "production", "CACHE_API_TOKEN": "hush-0123456789-0123456789", "CMS_WEBHOOK_SECRET": "hush-9876543210-9876543210",
		"CMS_WEBHOOK_SIGNING_SECRET": "hush-5555555555-5555555555", "RATE_LIMITS": "on", "SITE_URL": "https://api.example",
	}
	for name, value := range more {
		env[name] = value
	}
	return env
}

func TestDoctorFindsNothing(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(strict(nil)), quick)
	if err := os.Chmod(s.dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.submitAt(t, "lead", time.Hour)
	eventually(t, "it arrives", func() bool {
		return s.deliveries("lead")["crm"].State == "delivered" && s.deliveries("lead")["cms"].State == "delivered"
	})
	c, err := s.doctor(t, nil, "--strict")
	for _, d := range c.Checks {
		// The disk of a busy machine may be slow.
		if d.State != stateOK && !strings.Contains(d.Detail, "a commit took") {
			t.Errorf("%v %+v", err, d)
		}
	}
	for check, words := range map[string]string{
		"settings": "for production", "exposure": "are off", "proxies": "none are trusted", "webhook": "1 token(s), 1 signing secret(s)",
		"data folder": "written and synced", "database": "SQLite in DATA_DIR: 1 submissions, written and committed", "deliveries": "none is late",
		"cache": "in the memory", "cms": "sanity: ", "crm": "hubspot: answered", "clock": "as by the CMS, the CRM", "service": "is ready",
	} {
		c.says(t, check, stateOK, words)
	}
	docs := len(far.cms.Documents())
	if _, err := s.doctor(t, nil); err != nil || len(far.cms.Documents()) != docs || len(far.crm.Contacts()) != 1 {
		t.Errorf("the doctor left something behind: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dataDir, ".*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	out, err := s.siteapi("doctor", "--server", s.base)
	if err != nil || !strings.Contains(out, "ok    database     SQLite") {
		t.Errorf("%v %s", err, out)
	}
}

func TestDoctorOnSettings(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	base := strict(map[string]string{"CMS_DRIVER": "file", "CRM_DRIVER": "file"})
	for _, tt := range []struct {
		name                string
		env                 map[string]string
		check, state, words string
	}{
		{"short secrets", map[string]string{"CACHE_API_TOKEN": "hush"}, "settings", stateWarn, "CACHE_API_TOKEN: has a value of 4"},
		{"one secret for two", map[string]string{"CMS_WEBHOOK_SECRET": base["CACHE_API_TOKEN"]}, "settings", stateWarn, "share a value"},
		{"talkative", map[string]string{"LOG_LEVEL": "debug"}, "settings", stateWarn, "LOG_LEVEL=debug"},
		{"contacts in files", nil, "settings", stateWarn, "CRM_DRIVER=file"},
		{"no address", map[string]string{"CRM_DRIVER": "hubspot", "HUBSPOT_TOKEN": "hush", "HUBSPOT_API_URL": "http://127.0.0.1:1", "SITE_URL": ""}, "settings", stateWarn, "SITE_URL is not set"},
		{"an open address", map[string]string{"SITE_URL": "http://x.example"}, "settings", stateWarn, "not https"},
		{"playground", map[string]string{"GRAPHQL_PLAYGROUND": "on"}, "exposure", stateWarn, "GRAPHQL_PLAYGROUND"},
		{"introspection", map[string]string{"GRAPHQL_INTROSPECTION": "on"}, "exposure", stateWarn, "GRAPHQL_INTROSPECTION"},
		{"no limits", map[string]string{"RATE_LIMITS": "off"}, "exposure", stateWarn, "RATE_LIMITS"},
		{"any origin", map[string]string{"CORS_ALLOWED_ORIGINS": "*"}, "exposure", stateWarn, "CORS_ALLOWED_ORIGINS"},
		{"open metrics", map[string]string{"ADMIN_ADDR": ":9090"}, "exposure", stateWarn, "ADMIN_ADDR=:9090"},
		{"near metrics", map[string]string{"ADMIN_ADDR": "127.0.0.1:9090"}, "exposure", stateOK, "are off"},
		{"development", map[string]string{"ENVIRONMENT": "development", "GRAPHQL_PLAYGROUND": "on"}, "exposure", stateOK, "for developers"},
		{"everybody is a proxy", map[string]string{"TRUSTED_PROXIES": "::/0"}, "proxies", stateFail, "everybody is believed"},
		{"half the world", map[string]string{"TRUSTED_PROXIES": "128.0.0.0/1"}, "proxies", stateWarn, "very large network"},
		{"a proxy nobody knows", map[string]string{"LISTEN_ADDR": "127.0.0.1:8080"}, "proxies", stateWarn, "does not name it"},
		{"a proxy that is known", map[string]string{"LISTEN_ADDR": "127.0.0.1:8080", "TRUSTED_PROXIES": "127.0.0.1"}, "proxies", stateOK, "1 trusted networks"},
		{"no webhook", map[string]string{"ENVIRONMENT": "development", "CMS_WEBHOOK_SECRET": ","}, "webhook", stateWarn, "is not set"},
		{"unsigned webhooks", map[string]string{"CMS_DRIVER": "sanity", "SANITY_PROJECT_ID": "p", "SANITY_TOKEN": "hush", "SANITY_API_URL": "http://127.0.0.1:1", "CMS_WEBHOOK_SIGNING_SECRET": ""},
			"webhook", stateWarn, "SIGNING_SECRET is not set"},
		{"sample content", nil, "cms", stateWarn, "sample content is being served"},
		{"no content file", map[string]string{"CMS_FILE": "/nowhere/site.json"}, "cms", stateFail, "/nowhere/site.json"},
	} {
		env := map[string]string{}
		for _, m := range []map[string]string{base, tt.env} {
			for name, value := range m {
				env[name] = value
			}
		}
		c, err := s.doctor(t, env)
		c.says(t, tt.check, tt.state, tt.words)
		if tt.state == stateFail && exitCode(err) != exitFound {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := s.doctor(t, base); err != nil {
		t.Errorf("warnings alone: %v", err)
	}
	if _, err := s.doctor(t, base, "--strict"); exitCode(err) != exitFound {
		t.Errorf("warnings, strictly: %v", err)
	}
	c, err := s.doctor(t, map[string]string{"ENVIRONMENT": "production", "LOG_LEVEL": "loud"})
	if exitCode(err) != exitFound || c.State != stateFail || len(c.Checks) != 3 {
		t.Errorf("%v %+v", err, c)
	}
	c.says(t, "settings", stateFail, "CACHE_API_TOKEN: is required")
	c.says(t, "settings", stateFail, "LOG_LEVEL: must be one of")
	for args, want := range map[string]string{"doctor x": "one argument too many", "doctor --server ftp://x": "--server"} {
		if out, err := s.siteapi(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %s", args, err, out)
		}
	}
}

func TestDoctorOnUpstreams(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{ReadToken: "hush-reader"}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	for _, tt := range []struct {
		name                string
		fail                func()
		env                 map[string]string
		check, state, words string
		advice              string
	}{
		{"the CMS is away", nil, map[string]string{"SANITY_API_URL": "http://127.0.0.1:1"}, "cms", stateFail, "unavailable", "are not lost"},
		{"the CMS refuses the token", nil, map[string]string{"SANITY_TOKEN": "hush-wrong"}, "cms", stateFail, "refused", "SANITY_TOKEN"},
		{"the CMS lets read only", nil, map[string]string{"SANITY_TOKEN": "hush-reader"}, "cms", stateFail, "submissions can't be stored", "role Editor"},
		{"the CMS has no such query", func() {
			far.cms.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 400, Times: always})
		}, nil, "cms", stateFail, "rejected", "SANITY_PROJECT_ID"},
		{"the CMS has had enough", func() {
			far.cms.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 429, Times: always})
		}, nil, "cms", stateFail, "limited", "quota"},
		{"the settings are not published", func() {
			if err := far.cms.Replace(); err != nil {
				t.Error(err)
			}
		}, nil, "cms", stateWarn, "no published document of type siteSettings", "publish it"},
		{"the CRM is away", nil, map[string]string{"HUBSPOT_API_URL": "http://127.0.0.1:1"}, "crm", stateFail, "unavailable", "are not lost"},
		{"the CRM refuses the token", nil, map[string]string{"HUBSPOT_TOKEN": "hush-wrong"}, "crm", stateFail, "refused", "HUBSPOT_TOKEN"},
	} {
		if tt.fail != nil {
			tt.fail()
		}
		c, _ := s.doctor(t, tt.env)
		c.says(t, tt.check, tt.state, tt.words)
		found := false
		for _, d := range c.Checks {
			found = found || d.Check == tt.check && strings.Contains(d.Advice, tt.advice)
		}
		if !found {
			t.Errorf("%s: nobody advises %q: %+v", tt.name, tt.advice, c.Checks)
		}
		far.recover()
	}
}

func TestDoctorOnBackends(t *testing.T) {
	t.Parallel()
	cacheServer, database := valkeyserver.Start(t), pgserver.Start(t)
	s := startService(t, map[string]string{"CACHE_URL": cacheServer.URL(), "DATABASE_URL": database.NewDatabase(t)}, quick)
	c, err := s.doctor(t, nil)
	if err != nil {
		t.Errorf("%v %+v", err, c)
	}
	c.says(t, "cache", stateOK, "valkey: stored, read and removed")
	c.says(t, "database", stateOK, "PostgreSQL: 0 submissions")
	c.says(t, "clock", stateOK, "as by PostgreSQL")
	stats := s.do(http.MethodGet, "/api/cache/clear", "")
	if !strings.Contains(string(stats.body), `"size":0`) && !strings.Contains(string(stats.body), `"size":3`) {
		t.Errorf("the doctor left an entry behind: %s", stats.body)
	}
	cacheServer.Stop()
	c, err = s.doctor(t, map[string]string{"DATABASE_URL": database.URL("nosuch")})
	if exitCode(err) != exitFound {
		t.Errorf("%v", err)
	}
	c.says(t, "cache", stateFail, "")
	c.says(t, "database", stateFail, "nosuch")
	c.says(t, "deliveries", stateOK, "can't be opened")
}

// doctorOf returns a doctor for a service, whose eyes a test may change.
func (s *service) doctorOf(t *testing.T) *doctor {
	t.Helper()
	settings, err := config.Read(func(name string) string { return s.env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return &doctor{
		settings: settings, log: s.app.log, server: s.base, client: &http.Client{Timeout: 3 * time.Second},
		now: time.Now, patience: 10 * time.Second, user: os.Geteuid(), free: freeSpace,
	}
}

func TestDoctorOnTheFolder(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	examine := func(change func(d *doctor)) checkup {
		t.Helper()
		d := s.doctorOf(t)
		change(d)
		return checkup{Checks: d.examine(t.Context())}
	}
	space := func(n int64) func(*doctor) {
		return func(d *doctor) { d.free = func(string) (int64, bool) { return n, true } }
	}
	if err := os.Chmod(s.dataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	examine(func(*doctor) {}).says(t, "data folder", stateWarn, "every user of this machine")
	if err := os.Chmod(s.dataDir, 0o750); err != nil {
		t.Fatal(err)
	}
	examine(space(10<<30)).says(t, "data folder", stateOK, "10.0 GB free")
	examine(space(500<<20)).says(t, "data folder", stateWarn, "500.0 MB free")
	examine(space(1<<20)).says(t, "data folder", stateFail, "1.0 MB free: submissions will be refused")
	examine(func(d *doctor) { d.free = func(string) (int64, bool) { return 0, false } }).says(t, "data folder", stateOK, "room unknown")

	stranger := examine(func(d *doctor) { d.user++ })
	stranger.says(t, "data folder", stateFail, "belongs to user")
	for _, check := range []string{"database", "cms", "crm"} {
		stranger.says(t, check, stateFail, "not looked at")
	}
	elsewhere := func(path string) checkup {
		t.Helper()
		return examine(func(d *doctor) { d.settings.DataDir = path })
	}
	c := elsewhere(filepath.Join(s.dataDir, "none"))
	c.says(t, "data folder", stateWarn, "is not there")
	c.says(t, "database", stateWarn, "there is no database")
	c.says(t, "cms", stateWarn, "no content file")
	c.says(t, "crm", stateOK, "at the first start")
	if exists(filepath.Join(s.dataDir, "none")) {
		t.Error("looking for a folder made it")
	}
	elsewhere(filepath.Join(s.dataDir, "content.json")).says(t, "data folder", stateFail, "is a file")
	elsewhere(filepath.Join(s.dataDir, "content.json", "x")).says(t, "data folder", stateFail, "DATA_DIR: ")
	if err := os.Mkdir(filepath.Join(s.dataDir, asideMark+"x"), 0o700); err != nil {
		t.Fatal(err)
	}
	examine(func(*doctor) {}).says(t, "data folder", stateWarn, "hold what restores have replaced")
	s.stop()
	if err := os.WriteFile(filepath.Join(s.dataDir, databaseFile), []byte(strings.Repeat("ruin", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	examine(func(*doctor) {}).says(t, "database", stateFail, "SQLite in DATA_DIR: ")
}

func TestDoctorOnTheClock(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	off := func(d time.Duration) checkup {
		t.Helper()
		doc := s.doctorOf(t)
		if far == nil {
			doc.settings.SanityAPIURL, doc.settings.HubSpotAPIURL = "http://127.0.0.1:1", "http://127.0.0.1:1"
		}
		doc.now = func() time.Time { return time.Now().Add(d) }
		return checkup{Checks: doc.checkClock(t.Context())}
	}
	named := func(c checkup) checkup {
		for i := range c.Checks {
			c.Checks[i].Check = "clock"
		}
		return c
	}
	named(off(0)).says(t, "clock", stateOK, "as by the CMS, the CRM")
	named(off(time.Minute)).says(t, "clock", stateWarn, "fast by the C")
	named(off(-time.Hour)).says(t, "clock", stateFail, "slow by the C")
	far = nil
	named(off(-time.Hour)).says(t, "clock", stateOK, "no other clock")
	s.submitAt(t, "ahead", -2*time.Hour)
	named(off(0)).says(t, "clock", stateFail, "slow by the newest submission")
}

func TestDoctorOnDeliveries(t *testing.T) {
	t.Parallel()
	s, _, _, _, _ := troubled(t)
	held := odd()
	s.keep(t, held)
	d := s.doctorOf(t)
	d.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	c := checkup{Checks: d.examine(t.Context())}
	c.says(t, "deliveries", stateWarn, "1 leads were refused by the cms for good")
	c.says(t, "deliveries", stateWarn, "1 leads are retrying for the crm, the oldest for 2h")
	c.says(t, "deliveries", stateWarn, "1 leads wait for review")
}

func TestDoctorOnTheService(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	answering := func(status int, body string) string {
		return httpServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for server, want := range map[string][2]string{
		s.base:                   {stateOK, "is ready"},
		"http://127.0.0.1:0":     {stateOK, "no port of its own"},
		"http://127.0.0.1:1":     {stateWarn, "a service runs on this data folder and does not answer"},
		answering(200, "<html>"): {stateFail, "is not this service"},
		answering(503, `{"status":"unavailable","dependencies":{"database":{"status":"unavailable"},"cms":{"status":"ok"}}}`): {stateFail, "is unavailable: database"},
		answering(200, `{"status":"ok","dependencies":{"crm":{"status":"unavailable"},"cms":{"status":"unavailable"}}}`):      {stateWarn, "goes on without: cms, crm"},
	} {
		d := s.doctorOf(t)
		d.server = server
		found := d.checkService(t.Context())
		if len(found) != 1 || found[0].State != want[0] || !strings.Contains(found[0].Detail, want[1]) {
			t.Errorf("%s: %+v, want %q", server, found, want)
		}
	}
	s.stop()
	d := s.doctorOf(t)
	d.server = "http://127.0.0.1:1"
	if found := d.checkService(t.Context()); found[0].State != stateOK || !strings.Contains(found[0].Detail, "none runs") {
		t.Errorf("%+v", found)
	}
	d.settings.DatabaseURL = d.settings.CacheURL // any will do: nobody can tell who else runs
	if found := d.checkService(t.Context()); found[0].State != stateOK || !strings.Contains(found[0].Detail, "none listens") {
		t.Errorf("%+v", found)
	}
	d.server = "http://" + silent.Addr().String()
	if found := d.checkService(t.Context()); found[0].State != stateFail || !strings.Contains(found[0].Detail, "does not answer") {
		t.Errorf("%+v", found)
	}
}

func TestOpenWire(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"postgres://db.example.com/x": true, "postgres://93.184.216.34/x": true, "postgres://10.1.2.3/x": false, "postgres://localhost/x": false,
		"postgres://127.0.0.1/x": false, "postgres://[::1]/x": false, "postgres://db/x": false, "postgres:///x": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := openWire(u, false); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if openWire(u, true) {
			t.Errorf("%s with TLS counts as open", text)
		}
	}
}
