package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/quote"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
)

// damage changes the stored data past the service, which must be stopped.
func (s *service) damage(t *testing.T, query string) {
	t.Helper()
	db, err := sqlite.OpenDB(t.Context(), filepath.Join(s.dataDir, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

// erase runs `leads erase` and returns its receipt.
func (s *service) erase(t *testing.T, email string, more ...string) (receipt, error) {
	t.Helper()
	out, err := s.siteapi(append([]string{"leads", "erase", "--json", "--email", email}, more...)...)
	var r receipt
	if json.Unmarshal([]byte(out), &r) != nil {
		t.Fatalf("not a receipt: %v %s", err, out)
	}
	return r, err
}

// at returns what a receipt says of the place where something is counted.
func (r receipt) at(unit string) holding {
	for _, p := range r.Places {
		if p.Unit == unit {
			return *p
		}
	}
	return holding{}
}

// populate has a person leave traces everywhere: two leads of hers, a session with no
// more than a hint; and somebody else.
func (s *service) populate(t *testing.T) (hers []string, theirs string) {
	t.Helper()
	hers = []string{s.submit(t, "hers"), ""}
	again := lead("hers-2")
	again["contact"].(object)["email"] = "HERS@example.com"
	got := s.through("REST", "submitQuote", object{"input": again})
	hers[1], _ = got.data["submissionId"].(string)
	theirs, _ = s.through("REST", "submitQuote", object{"input": lead("shared")}).data["submissionId"].(string)
	s.through("REST", "trackQuote", object{"input": object{"sessionId": "hint", "formData": object{"email": "Hers@example.com", "firstName": "Ana"}}})
	s.through("REST", "trackQuote", object{"input": object{"sessionId": "hint-2", "formData": object{"email": "shared@example.com", "firstName": "Ana"}}})
	for _, id := range append([]string{theirs}, hers...) {
		if id == "" {
			t.Fatal("a lead was not taken")
		}
		eventually(t, "everything arrives", func() bool {
			d := s.deliveries(id)
			return d["cms"].State == "delivered" && d["crm"].State == "delivered"
		})
		eventually(t, "its PDF is drawn", func() bool { return s.do(http.MethodGet, "/api/quote/pdf?id="+id, "").status == http.StatusOK })
	}
	return hers, theirs
}

// checkGone fails if anything is left of her, or if anything is missing of them.
func (s *service) checkGone(t *testing.T, hers []string, theirs string) {
	t.Helper()
	for _, id := range hers {
		if r := s.do(http.MethodGet, "/api/quote/pdf?id="+id, ""); r.status != http.StatusNotFound {
			t.Errorf("the PDF of %s answers %d", id, r.status)
		}
		if s.has(t, id) || len(s.deliveries(id)) != 0 {
			t.Errorf("something of %s is stored", id)
		}
	}
	for id, want := range map[string]quote.Hints{"hint": {}, "hint-2": {Email: "shared@example.com", FirstName: "Ana"}} {
		if got, err := s.app.data.quotes.Session(t.Context(), id); err != nil || got.Hints != want {
			t.Errorf("session %s holds %+v %v, want %+v", id, got.Hints, err, want)
		}
	}
	if !s.has(t, theirs) || len(s.deliveries(theirs)) != 2 {
		t.Error("somebody else's lead is gone")
	}
}

func TestEraseEverywhere(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	hers, theirs := s.populate(t)

	// A rehearsal changes nothing.
	r, err := s.erase(t, " hers@Example.com ")
	if exitCode(err) != exitFound || r.Erasing || r.Complete || r.Email != "hers@example.com" || len(r.Submissions) != 2 {
		t.Errorf("%v %+v", err, r)
	}
	for unit, n := range map[string]int{"deliveries": 4, "documents": 2, "contacts": 1, "submissions": 2, "sessions": 1} {
		if p := r.at(unit); *p.Found != n || p.Erased != 0 || p.State != holdingFound {
			t.Errorf("a rehearsal says of %s: %+v, want %d found", unit, p, n)
		}
	}
	if !s.has(t, hers[0]) || len(far.contacts("hers@example.com")) != 1 || len(s.deliveries(hers[0])) != 2 {
		t.Error("the rehearsal erased something")
	}

	path := filepath.Join(t.TempDir(), "receipt.json")
	r, err = s.erase(t, "hers@example.com", "--yes", "--server", s.base, "--receipt", path)
	if err != nil || !r.Complete || r.FinishedAt.Before(r.StartedAt) || len(r.Remains) != 3 {
		t.Errorf("%v %+v", err, r)
	}
	for unit, n := range map[string]int{"deliveries": 4, "documents": 2, "contacts": 1, "PDFs": 2, "submissions": 2, "sessions": 1} {
		p := r.at(unit)
		if unit == "PDFs" {
			n = max(n, p.Erased) // one may have been drawn twice, before and after a change of content
		}
		if *p.Found != n || p.Erased != n || p.State != holdingErased {
			t.Errorf("the receipt says of %s: %+v, want %d erased", unit, p, n)
		}
	}
	var filed receipt
	if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, &filed) != nil || !filed.Complete {
		t.Errorf("the filed receipt: %v %s", err, data)
	}
	s.checkGone(t, hers, theirs)
	if len(far.contacts("hers@example.com")) != 0 || len(far.documents("hers")) != 0 || len(far.documents("hers-2")) != 0 {
		t.Error("the far ends hold something still")
	}
	far.checkLead(t, "shared", theirs)
	s.stop()
	files, _ := filepath.Glob(filepath.Join(s.dataDir, databaseFile+"*"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err != nil || strings.Contains(strings.ToLower(string(data)), "hers@example") {
			t.Errorf("%s holds the address still (%v)", file, err)
		}
	}
	if strings.Contains(strings.ToLower(s.log.String()), "hers@") {
		t.Error("the log holds the address")
	}

	// Once more, without a service: there is nothing left to do.
	r, err = s.erase(t, "hers@example.com", "--yes")
	if err != nil || !r.Complete || !strings.Contains(r.at("PDFs").Detail, "no service is running") {
		t.Errorf("again: %v %+v", err, r)
	}
	for _, p := range r.Places {
		if *p.Found != 0 || p.Erased != 0 || p.State != holdingEmpty {
			t.Errorf("again: %+v", p)
		}
	}
	if r, err = s.erase(t, "hers@example.com"); err != nil {
		t.Errorf("a rehearsal that finds nothing: %v %+v", err, r)
	}
	if err := os.Mkdir(filepath.Join(s.dataDir, asideMark+"x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r, _ = s.erase(t, "hers@example.com"); !strings.Contains(strings.Join(r.Remains, "\n"), "1 folders "+asideMark) {
		t.Errorf("what a restore has kept is not named: %q", r.Remains)
	}
}

func TestEraseWithFileDrivers(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	hers, theirs := s.populate(t)
	out, err := s.siteapi("leads", "erase", "--email", "hers@example.com", "--yes", "--server", s.base)
	if err != nil || !strings.Contains(out, "complete: nothing is left") || !strings.Contains(out, "backups made before this") {
		t.Errorf("%v %s", err, out)
	}
	s.checkGone(t, hers, theirs)
	err = filepath.WalkDir(s.dataDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(strings.ToLower(string(data)), "hers@example") {
			t.Errorf("%s holds the address", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What fails in one place is said, what others need for a repetition is kept, and the
// repetition completes it.
func TestErasePlacesThatFail(t *testing.T) {
	t.Parallel()
	cms := func(f sanitytest.Fault) func(*farEnds) {
		return func(far *farEnds) { f.Times = always; far.cms.Fail(f) }
	}
	tests := []struct {
		name string
		fail func(far *farEnds)
		unit string // of the place that fails
		not  string // of one that is done all the same
	}{
		{"the CMS can't be asked", cms(sanitytest.Fault{Mode: sanitytest.Answer, Status: 503}), "documents", "contacts"},
		{"the CMS refuses the token", cms(sanitytest.Fault{Mode: sanitytest.Answer, Status: 401}), "documents", "contacts"},
		{"the CMS does not delete", cms(sanitytest.Fault{Mode: sanitytest.Answer, Status: 503, On: "mutate"}), "documents", "contacts"},
		{"the CRM is away", func(far *farEnds) { far.crm.Fail(hubspottest.Answer(503, nil).Times(-1)) }, "contacts", "documents"},
		{"the CRM does not delete", func(far *farEnds) {
			far.crm.Fail(hubspottest.Answer(403, nil).On("POST", "/objects/contacts/gdpr-delete").Times(-1))
		}, "contacts", "documents"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
			s := startService(t, far.env(), quick)
			hers, theirs := s.populate(t)
			tt.fail(far)
			r, err := s.erase(t, "hers@example.com", "--yes", "--server", s.base)
			if exitCode(err) != exitFailed || err == nil || r.Complete || !strings.Contains(err.Error(), "repeat the command") {
				t.Errorf("%v %+v", err, r)
			}
			if p := r.at(tt.unit); p.State != holdingFailed || p.Detail == "" || strings.Contains(p.Detail, "hers@") {
				t.Errorf("the receipt says %+v", p)
			}
			if p := r.at(tt.not); p.State != holdingErased {
				t.Errorf("the receipt says %+v", p)
			}
			if p := r.at("submissions"); p.State != holdingKept || !s.has(t, hers[0]) {
				t.Errorf("the database did not keep what a repetition needs: %+v", p)
			}
			far.recover()
			if r, err := s.erase(t, "hers@example.com", "--yes", "--server", s.base); err != nil || !r.Complete {
				t.Errorf("the repetition: %v %+v", err, r)
			}
			s.checkGone(t, hers, theirs)
			if len(far.contacts("hers@example.com")) != 0 || len(far.documents("hers"))+len(far.documents("hers-2")) != 0 {
				t.Error("the far ends hold something still")
			}
			far.checkLead(t, "shared", theirs)
		})
	}
}

// With a shared cache nobody has to be asked.
func TestEraseWithValkey(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	s := startService(t, map[string]string{"CACHE_URL": server.URL()}, quick)
	hers, theirs := s.populate(t)
	r, err := s.erase(t, "hers@example.com", "--yes")
	if err != nil || r.at("PDFs").Erased < 2 {
		t.Errorf("%v %+v", err, r.at("PDFs"))
	}
	s.checkGone(t, hers, theirs)
	server.Stop()
	if r, err = s.erase(t, "hers@example.com", "--yes"); err == nil || r.at("PDFs").State != holdingFailed {
		t.Errorf("with the cache away: %v %+v", err, r)
	}
}

func TestEraseWithPostgres(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	s := startService(t, map[string]string{"DATABASE_URL": server.NewDatabase(t)}, quick)
	hers, theirs := s.populate(t)
	r, err := s.erase(t, "hers@example.com", "--yes", "--server", s.base)
	if err != nil || !r.Complete || len(r.Remains) != 4 || r.at("sessions").Erased != 1 {
		t.Errorf("%v %+v", err, r)
	}
	s.checkGone(t, hers, theirs)
	// Nobody can tell whether other instances run.
	s.stop()
	if r, err = s.erase(t, "hers@example.com", "--yes", "--server", "http://127.0.0.1:1"); err == nil || r.at("PDFs").State != holdingFailed {
		t.Errorf("%v %+v", err, r)
	}
}

func TestEraseRefuses(t *testing.T) {
	t.Parallel()
	s := startService(t, nil)
	for args, want := range map[string]string{
		"leads erase --yes":                            "--email: must be one e-mail address",
		"leads erase --email ana":                      "must be one e-mail address",
		"leads erase --email a@b.co,c@d.co":            "must be one e-mail address",
		"leads erase --email @":                        "must be one e-mail address",
		"leads erase --email a@b.co --server ftp://x":  "--server",
		"leads erase --email a@b.co x":                 "one argument too many",
		"leads erase --email a@b.co --receipt /no/way": "--output",
	} {
		if out, err := s.siteapi(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q\n%s", args, err, want, out)
		}
	}
}

// The address may come by standard input, which no list of processes shows.
func TestEraseFromStandardInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := launch(t, dir)
	_, answer := r.post("/api/quote/submit", lead("hers"))
	run := func(input string, args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"leads", "erase", "--email", "-", "--server", r.base}, args...)...)
		cmd.Env = []string{"ENVIRONMENT=development", "DATA_DIR=" + dir}
		cmd.Stdin = strings.NewReader(input)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run(""); code != exitFailed || !strings.Contains(out, "must be one e-mail address") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := run("hers@example.com\n"); code != exitFound || !strings.Contains(out, "with --yes it is") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := run("hers@example.com", "--yes"); code != 0 || !strings.Contains(out, "complete") {
		t.Errorf("%d %s", code, out)
	}
	resp, err := http.Get(r.base + "/api/quote/pdf?id=" + answer["submissionId"].(string))
	if err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("%v %v", resp, err)
	}
}

// siteapiWith runs a command with some settings changed.
func (s *service) siteapiWith(env map[string]string, args ...string) (string, error) {
	s.t.Helper()
	changed := &service{t: s.t, env: maps.Clone(s.env)}
	maps.Copy(changed.env, env)
	return changed.siteapi(args...)
}

// httpServer serves a handler until the end of the test.
func httpServer(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}
