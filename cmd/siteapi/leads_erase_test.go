package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
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

// populate has a person leave traces everywhere: two leads of hers, one as a
// repetition beside somebody else's, a session with no more than a hint; and somebody else.
func (s *service) populate(t *testing.T) (hers []string, theirs string) {
	t.Helper()
	hers = []string{s.submit(t, "hers"), ""}
	again := lead("hers-2")
	again["contact"].(object)["email"] = "HERS@example.com"
	got := s.through("REST", "submitQuote", object{"input": again})
	hers[1], _ = got.data["submissionId"].(string)
	first, other := lead("shared"), lead("shared")
	other["contact"].(object)["email"] = "hers@example.com"
	theirs, _ = s.through("REST", "submitQuote", object{"input": first}, "Idempotency-Key: k").data["submissionId"].(string)
	s.through("REST", "submitQuote", object{"input": other}, "Idempotency-Key: k")
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
	for unit, n := range map[string]int{"deliveries": 4, "documents": 2, "contacts": 1, "submissions": 2, "repetitions": 1, "sessions": 1} {
		if p := r.at(unit); p.Found != n || p.Erased != 0 || p.State != holdingFound {
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
	for unit, n := range map[string]int{"deliveries": 4, "documents": 2, "contacts": 1, "PDFs": 2, "submissions": 2, "repetitions": 1, "sessions": 1} {
		p := r.at(unit)
		if unit == "PDFs" {
			n = max(n, p.Erased) // one may have been drawn twice, before and after a change of content
		}
		if p.Found != n || p.Erased != n || p.State != holdingErased {
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
		if p.Found != 0 || p.Erased != 0 || p.State != holdingEmpty {
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

// A delivery that waits never arrives after the erasure; one that is being tried is
// waited for.
func TestEraseBeforeDelivery(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	far.crm.Fail(hubspottest.Hang().Times(1))
	id := s.submit(t, "hers")
	eventually(t, "the CRM is being told", func() bool { return s.deliveries(id)["crm"].State == "running" })
	began := time.Now()
	r, err := s.erase(t, "hers@example.com", "--yes", "--server", s.base)
	if err != nil || !r.Complete {
		t.Errorf("%v %+v", err, r)
	}
	t.Logf("waited %v for the try", time.Since(began).Round(time.Millisecond))
	far.recover()
	time.Sleep(500 * time.Millisecond)
	if len(far.contacts("hers@example.com")) != 0 || len(far.documents("hers")) != 0 {
		t.Error("a delivery arrived after the erasure")
	}
	if list, err := s.siteapi("deliveries", "list", "--json", "--state", "all"); err != nil || strings.TrimSpace(list) != "[]" {
		t.Errorf("left in the queue: %v %s", err, list)
	}
}

// A document that only the CMS knows is found by its address.
func TestEraseWhatTheDatabaseForgot(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	hers, _ := s.populate(t)
	for _, id := range hers {
		if err := s.app.data.archive.Erase(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.erase(t, "hers@example.com", "--yes", "--server", s.base)
	if err != nil || r.at("documents").Erased != 2 || r.at("submissions").State != holdingEmpty || len(far.documents("hers")) != 0 {
		t.Errorf("%v %+v", err, r)
	}
}

// The memory of a running service has to be reached for a complete erasure.
func TestEraseWithoutTheService(t *testing.T) {
	t.Parallel()
	other := func(status int, body string) func(t *testing.T) string {
		return func(t *testing.T) string {
			return httpServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}))
		}
	}
	for name, c := range map[string]struct {
		server func(t *testing.T) string
		want   string
	}{
		"nobody listens": {func(*testing.T) string { return "http://127.0.0.1:1" }, "does not answer"},
		"another token":  {other(401, `{}`), "another CACHE_API_TOKEN"},
		"another server": {other(200, `<html>`), "is not this service"},
		"overload":       {other(429, `{}`), "answers 429"},
		"trouble":        {other(503, `{}`), "answers 503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startService(t, nil, quick)
			hers, theirs := s.populate(t)
			r, err := s.erase(t, "hers@example.com", "--yes", "--server", c.server(t))
			if p := r.at("PDFs"); exitCode(err) != exitFailed || err == nil || r.Complete || p.State != holdingFailed || !strings.Contains(p.Detail, c.want) {
				t.Errorf("%v %+v, want %q", err, p, c.want)
			}
			s.checkGone(t, hers, theirs) // the rest is done: nothing waits for a cache
			r, err = s.erase(t, "hers@example.com", "--yes", "--server", s.base)
			if p := r.at("PDFs"); err != nil || !r.Complete || p.Erased < 2 {
				t.Errorf("the repetition: %v %+v", err, p)
			}
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
	if err != nil || !r.Complete || len(r.Remains) != 4 || r.at("sessions").Erased != 1 || r.at("repetitions").Erased != 1 {
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

// cutShort is a far end that is reached when an erasure is cut short.
type cutShort struct {
	cmsDriver
	erase func(ctx context.Context, ids []string) error
}

func (c cutShort) Erase(ctx context.Context, ids []string) error { return c.erase(ctx, ids) }

// erasure returns one over the parts of a service that does its work.
func (s *service) erasure(t *testing.T) *erasure {
	t.Helper()
	documents, err := openCMS(s.app.settings, s.app.log, nil)
	if err != nil {
		t.Fatal(err)
	}
	contacts, err := openCRM(s.app.settings, s.app.log, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	pdfs, err := newPDFCache(s.app.settings, s.app.log, s.base)
	if err != nil {
		t.Fatal(err)
	}
	return &erasure{
		email: "hers@example.com", cms: documents, crm: contacts, pdfs: pdfs, data: s.app.data, tryTime: time.Second,
		pause: 10 * time.Millisecond, say: func(string) {}, shrink: func(context.Context) error { return nil },
		receipt: receipt{Erasing: true},
	}
}

// An erasure that was cut short at any point is completed by the next one.
func TestEraseCutShort(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	hers, theirs := s.populate(t)
	for name, after := range map[string]bool{"before the documents are gone": false, "after the documents are gone": true} {
		e := s.erasure(t)
		ctx, cut := context.WithCancel(t.Context())
		whole := e.cms
		e.cms = cutShort{whole.(cmsDriver), func(ctx context.Context, ids []string) error {
			var err error
			if after {
				err = whole.Erase(ctx, ids)
			}
			cut()
			return errors.Join(err, ctx.Err())
		}}
		if err := e.run(ctx); e.receipt.verdict() == nil {
			t.Errorf("%s: %v, it calls itself complete", name, err)
		}
		if !s.has(t, hers[0]) {
			t.Errorf("%s: the database forgot first", name)
		}
	}
	e := s.erasure(t)
	if err := e.run(t.Context()); err != nil || e.receipt.verdict() != nil {
		t.Errorf("the next one: %v %+v", err, e.receipt)
	}
	s.checkGone(t, hers, theirs)
	if len(far.contacts("hers@example.com")) != 0 || len(far.documents("hers"))+len(far.documents("hers-2")) != 0 {
		t.Error("the far ends hold something still")
	}
}

// A lead that comes in while its address is being erased is not passed over.
func TestEraseWhileALeadArrives(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.populate(t)
	e := s.erasure(t)
	whole := e.cms
	e.cms = cutShort{whole.(cmsDriver), func(ctx context.Context, ids []string) error {
		again := lead("hers-3")
		again["contact"].(object)["email"] = "hers@example.com"
		s.through("REST", "submitQuote", object{"input": again})
		return whole.Erase(ctx, ids)
	}}
	err := e.run(t.Context())
	if p := e.receipt.at("submissions"); err != nil || e.receipt.verdict() == nil || p.State != holdingFailed || !strings.Contains(p.Detail, "arrived meanwhile") {
		t.Errorf("%v %+v", err, p)
	}
}

// Trouble of the database itself ends the erasure with an error.
func TestEraseWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s := startService(t, nil, quick)
	s.populate(t)
	e := s.erasure(t)
	e.shrink = func(context.Context) error { return store.ErrUnavailable }
	if err := e.run(t.Context()); err != nil || e.receipt.at("submissions").State != holdingFailed || e.receipt.verdict() == nil {
		t.Errorf("%v %+v", err, e.receipt.at("submissions"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.erasure(t).run(ctx); err == nil {
		t.Error("an erasure without a database succeeded")
	}
	out, err := s.siteapiWith(map[string]string{"DATA_DIR": t.TempDir()}, "leads", "erase", "--email", "a@b.co")
	if err == nil || !strings.Contains(err.Error(), "there is no database") {
		t.Errorf("%v %s", err, out)
	}
}

// The try of a process that died is waited for no longer than a living one could take.
func TestEraseBesideADeadProcess(t *testing.T) {
	t.Parallel()
	far := newFarEnds(t, sanitytest.Options{}, hubspottest.Options{})
	s := startService(t, far.env(), quick)
	id := s.submit(t, "hers")
	eventually(t, "it arrives", func() bool {
		return s.deliveries(id)["crm"].State == "delivered" && s.deliveries(id)["cms"].State == "delivered"
	})
	s.stop()
	s.damage(t, `UPDATE river_job SET state = 'running', finalized_at = NULL, attempted_at = CURRENT_TIMESTAMP WHERE queue = 'crm'`)
	settings, err := readSettings(func(name string) string { return s.env[name] })
	if err != nil {
		t.Fatal(err)
	}
	d, err := openExisting(t.Context(), settings, s.app.log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.close() }()
	s.app.data = d
	e := s.erasure(t)
	told := ""
	e.say, e.tryTime = func(text string) { told = text }, 300*time.Millisecond
	if err := e.run(t.Context()); err != nil || e.receipt.verdict() != nil || !strings.Contains(told, "waiting for 1 deliveries") {
		t.Errorf("%v %+v, said %q", err, e.receipt, told)
	}
	if s.has(t, id) || len(far.contacts("hers@example.com")) != 0 {
		t.Error("something is left")
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
