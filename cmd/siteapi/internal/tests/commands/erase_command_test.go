package commands

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/integrations/upstream/faulttest"
	"siteapi/schema"
)

// erase runs `leads erase` while the service runs, and returns the receipt from its file.
func erase(s *apptest.Site, args ...string) (r apptest.Receipt, code int) {
	s.T.Helper()
	path := filepath.Join(s.T.TempDir(), "receipt.json")
	if !slices.Contains(args, "--email") {
		args = append(args, "--email", "hers@example.com")
	}
	out, code := s.Run(append([]string{
		"leads", "erase", "--json", "--output", path, "--server", s.Base,
	}, args...)...)
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &r) != nil {
		s.T.Errorf("the receipt: %v %s, %s", err, data, out)
	}
	return r, code
}

func TestEraseEverywhere(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t,
		append(apptest.LiveEnv(), "HUBSPOT_DEAL_STAGE=default/appointmentscheduled")...).Start()
	hers, theirs := populate(s)
	s.Stubs.CRM.Edit(hers[0], map[string]string{"dealstage": "closedwon", "dealname": "Hersfirst's shop"}, time.Now())
	s.Operate(`mutation { addLeadNote(lead: "` + hers[0] + `", text: "hers-note: wants a call") { lead { state } } }`)
	if found := tracesInFiles(s); len(found) < len(personalTexts) {
		t.Errorf("before the erasure the data folder has only %q", found)
	}
	if cms, crm := tracesInStubs(s); len(cms) < 14 || len(crm) < 10 {
		t.Errorf("before the erasure the CMS has only %q, the CRM %q", cms, crm)
	}

	// A dry run changes nothing.
	r, code := erase(s, "--email", " hers@Example.com ")
	if code != 2 || !r.DryRun || r.Complete || schema.ValueOr(r.Email, "") != "hers@example.com" {
		t.Errorf("%d %+v", code, r)
	}

	// In development each lead has two mails besides its deliveries to CMS and CRM.
	counts := map[string]int{
		"deliveries": 8,
		"files":      4,
		"documents":  2,
		"contacts":   1,
		"deals":      2,
		"leads":      2,
		"sessions":   1,
		"consents":   1,
	}
	for unit, n := range counts {
		r.Counts(t, unit, n, 0, "FOUND")
	}

	if p := r.At("PDFs"); p.Found != nil || p.State != "UNKNOWN" {
		t.Errorf("the receipt has for the cache: %+v", p)
	}

	// This erasure checkpoints the write-ahead log, and clears all PDFs.
	erase(s, "--email", "unknown@example.com", "--yes")
	for _, id := range hers {
		pdf(s, id)
	}

	// Invalid arguments are rejected before anything is erased.
	s.Refuses(map[string]string{
		"leads erase --email hers@example.com --yes --output /nowhere/receipt.json": "writing a file",
		"leads erase --email a@b.co,c@d.co":                                         "must be an e-mail address",
		"leads erase --yes --email a@b.co --email c@d.co":                           `"--email" flag: must be given only once`,
	})
	s.Arrives(hers[0])

	if r, code = erase(s, "--yes"); code != 0 || !r.Complete || len(r.Remains) == 0 ||
		strings.Contains(strings.Join(r.Remains, " "), "PostgreSQL") {
		t.Errorf("%d %+v", code, r)
	}

	for unit, n := range counts {
		r.Counts(t, unit, n, n, "ERASED")
	}
	if r.At("PDFs").Erased < 2 {
		t.Errorf("the receipt has for the cache: %+v", r.At("PDFs"))
	}

	if p := r.At("deals"); !strings.HasSuffix(schema.ValueOr(p.Detail, ""), "sales moved them on: "+lead.Reference(hers[0])) {
		t.Errorf("the receipt has for deals: %+v", p)
	}
	for _, deal := range s.Stubs.CRM.Deals() {
		id := deal.Properties["quote_submission_id"]
		if deal.InBin != (id == hers[1]) || (len(deal.Contacts) != 0) != (id == theirs) {
			t.Errorf("after the erasure: %+v", deal)
		}
	}

	checkErased(s, hers, theirs)
	s.Stubs.CheckLead(t, "theirs", theirs)
	checkNoTraces(s)
	s.Stop(t)
	checkNoTraces(s)

	// A repetition after the service has stopped finds nothing to erase.
	if r, code = erase(s, "--yes"); code != 0 || !r.Complete {
		t.Errorf("again: %d %+v", code, r)
	}
	for _, p := range r.Places {
		r.Counts(t, p.Unit, 0, 0, "NOTHING_THERE")
	}
}

// A failure at one place is reported, and a repetition completes the erasure.
func TestErasePartialFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		fault        faulttest.Fault
		failed, done string // units
		counted      bool   // whether the number of items is known
	}{
		{"the CMS can't be queried", faulttest.Respond(401), "documents", "contacts", false},
		{"the CMS does not delete", faulttest.Respond(503).On("mutate"), "documents", "contacts", true},
		{"the CRM is unavailable", faulttest.Respond(503), "contacts", "documents", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := apptest.NewRemoteSite(t).Start()
			s.T = t
			hers, theirs := populate(s)
			if tt.failed == "contacts" {
				s.Stubs.CRM.Fail(tt.fault.Times(-1))
			} else {
				s.Stubs.CMS.Fail(tt.fault.Times(-1))
			}

			r, code := erase(s, "--yes")
			if p := r.At(tt.failed); code != 1 || r.Complete || p.State != "FAILED" ||
				p.Erased != 0 || p.Detail == nil || (p.Found != nil) != tt.counted || strings.Contains(*p.Detail, "hers@") {
				t.Errorf("%d %+v", code, r)
			}

			if p := r.At(tt.done); p.State != "ERASED" {
				t.Errorf("the receipt has %+v", p)
			}

			r.Counts(t, "leads", 2, 0, "KEPT")

			s.Stubs.Recover()
			if r, code := erase(s, "--yes"); code != 0 || !r.Complete {
				t.Errorf("the repetition: %d %+v", code, r)
			}
			checkErased(s, hers, theirs)
		})
	}
}

// An erasure waits for a running delivery, and a waiting delivery never arrives after it.
// A lead that arrives during the erasure is kept, and the erasure is incomplete.
func TestEraseBeforeDelivery(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t).Start()
	s.Stubs.CRM.Fail(faulttest.Of(faulttest.Hang).On("GET /contacts/")) // the delivery, not the pull of outcomes
	id := s.Submit("hers")
	s.Reaches(id, "crm", "running")

	again := apptest.NewLead("hers-2", `"contact": {"email": "hers@example.com"}`)
	arrived := make(chan struct{})
	go func() {
		defer close(arrived)
		apptest.Eventually(t, "the erasure looks for documents", func() bool {
			return slices.ContainsFunc(s.Stubs.CMS.Requests(), func(r sanitytest.Request) bool {
				return strings.Contains(r.Params.Get("query")+string(r.Body), "lower(contact.email)")
			})
		})
		s.Post("/api/quote/submit", again)
	}()

	r, code := erase(s, "--yes")
	<-arrived
	if p := r.At("leads"); code != 1 || r.Complete || p.State != "FAILED" ||
		!strings.Contains(schema.ValueOr(p.Detail, ""), "arrived in the meantime") {
		t.Errorf("with a lead that arrives during the erasure: %d %+v", code, r)
	}
	if r, code := erase(s, "--yes"); code != 0 || !r.Complete {
		t.Errorf("again: %d %+v", code, r)
	}

	s.Stubs.Recover()
	s.Arrives(s.Submit("later"))
	if len(s.Stubs.Contacts("hers@example.com"))+len(s.Stubs.Documents("hers"))+len(s.DeliveriesOf(id)) != 0 {
		t.Error("a delivery arrived after the erasure")
	}
}

// An erasure is complete only if it clears the memory of the running service. The other
// places are erased regardless.
func TestEraseWithoutTheService(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	id := s.Submit("hers")
	s.Arrives(id)
	if pdf(s, id) != 200 {
		t.Error("no PDF")
	}

	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(401)
	}))
	t.Cleanup(other.Close)
	for _, address := range []string{other.URL, "http://127.0.0.1:1"} {
		r, code := erase(s, "--yes", "--server", address)
		if p := r.At("PDFs"); code != 1 || r.Complete || p.State != "FAILED" || !strings.Contains(schema.ValueOr(p.Detail, ""), address) {
			t.Errorf("%s: %d %+v", address, code, p)
		}
	}

	if r, code := erase(s, "--yes"); code != 0 || !r.Complete || r.At("PDFs").Erased == 0 {
		t.Errorf("the repetition: %d %+v", code, r)
	}
	checkNoTraces(s)
}

// With PostgreSQL and Valkey an erasure clears the shared cache, and the printed table
// reports the result.
func TestEraseWithPostgresAndValkey(t *testing.T) {
	t.Parallel()
	database, cache := pgserver.Start(t), valkeyserver.Start(t)
	s := apptest.NewSite(t, "DATABASE_URL="+database.NewDatabase(t), "CACHE_URL="+cache.URL()).Start()
	id := s.Submit("hers")
	s.Arrives(id)
	if pdf(s, id) != 200 {
		t.Error("no PDF")
	}

	out := s.Prints("leads erase --email hers@example.com --yes").Out
	if !regexp.MustCompile(`complete +true`).MatchString(out) || !strings.Contains(out, "VACUUM") {
		t.Error(out)
	}

	if status := pdf(s, id); status != 404 {
		t.Errorf("the PDF has status %d", status)
	}
	cache.Stop()
	if r, code := erase(s, "--yes"); code != 1 || r.At("PDFs").State != "FAILED" {
		t.Errorf("with the cache unavailable: %d %+v", code, r)
	}
}

// The address can be read from standard input, which keeps it out of process lists. Every
// address that a visitor can submit can be erased.
func TestEraseFromStandardInput(t *testing.T) {
	t.Parallel()
	s := apptest.NewSite(t).Start()
	s.Submit("hers", `"contact": {"email": "\"José, b\"@example.com"}`)

	for input, want := range map[string]string{
		"":                               "must not be empty",
		`"JosÉ, b"@example.com` + "\n":   `"complete": true`,
		"a@example.com\nb@example.com\n": "must not contain line breaks",
	} {
		cmd := exec.CommandContext(t.Context(), apptest.Binary,
			"leads", "erase", "--email", "-", "--json", "--server", s.Base, "--yes")
		cmd.Env, cmd.Stdin = s.Env, strings.NewReader(input)
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), want) {
			t.Errorf("%q: %s", input, out)
		}
	}
	if remaining := stored(s); len(remaining) != 0 {
		t.Errorf("remaining leads: %q", remaining)
	}
}

// Commands whose settings differ from those of the service are rejected, because they
// would find nothing in the CMS and the CRM and report success.
func TestCommandsWithOtherSettings(t *testing.T) {
	t.Parallel()
	s := apptest.NewRemoteSite(t).Start()
	id := s.Submit("hers")
	s.Arrives(id)

	right := s.Env
	s.Env = []string{"ENVIRONMENT=development", "DATA_DIR=" + s.Dir}
	s.Refuses(map[string]string{
		"leads erase --yes --email hers@example.com --server " + s.Base: "CMS_DRIVER=sanity",
		"deliveries verify --fix": "CRM_DRIVER=hubspot",
		"crm pull":                "CRM_DRIVER=file",
	})
	if got := stored(s); !slices.Equal(got, []string{id}) {
		t.Errorf("stored leads: %q", got)
	}

	s.Env = right
	if r, code := erase(s, "--yes"); code != 0 || !r.Complete {
		t.Errorf("with the settings of the service: %d %+v", code, r)
	}
}
