package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/operator"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
)

// site is the binary with a data folder, and with stubs of the CMS and CRM if it has any.
type site struct {
	*running
	t     *testing.T
	dir   string
	env   []string
	stubs *vendorStubs
}

// newSite returns a site that does not run yet.
func newSite(t *testing.T, env ...string) *site {
	t.Helper()
	dir := t.TempDir()
	return &site{
		t:   t,
		dir: dir,
		env: append([]string{
			"ENVIRONMENT=development",
			"DATA_DIR=" + dir,
			"DELIVERY_RETRY_MAX=1s",
		}, env...),
	}
}

// newOperatedSite returns a running site, and the browser of an operator who has not signed in.
func newOperatedSite(t *testing.T, env ...string) (*site, *browser) {
	t.Helper()
	admin := freeAddress(t)
	s := newSite(t, append(env, "ADMIN_ADDR="+admin, "ADMIN_API_TOKEN=secret-of-operators")...).start()
	return s, &browser{t: t, base: "http://" + admin}
}

// onBothDatabases runs a test with SQLite and with PostgreSQL. It gets the DATABASE_URL.
func onBothDatabases(t *testing.T, test func(t *testing.T, database string)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, pgserver.Start(t).NewDatabase(t))
	})
}

// newFarSite returns a site with remote drivers that does not run yet.
func newFarSite(t *testing.T, env ...string) *site {
	t.Helper()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	s := newSite(t, append(stubs.environ(), env...)...)
	s.stubs = stubs
	return s
}

// start launches the binary.
func (s *site) start() *site {
	s.t.Helper()
	s.running = launch(s.t, s.dir, s.env...)
	return s
}

// stop stops the binary as a signal would.
func (s *site) stop(t *testing.T) {
	t.Helper()
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// run runs a command beside the site and returns its output, with errors, and exit code.
func (s *site) run(args ...string) (string, int) {
	s.t.Helper()
	return command(s.t, s.env, args...)
}

// json runs a command that prints JSON.
func (s *site) json(to any, args ...string) {
	s.t.Helper()
	out, _ := s.run(append(args, "--json")...)
	readJSON(s.t, out, to)
}

// readJSON reads the JSON in a command's output, which begins a line of its own.
func readJSON(t *testing.T, out string, to any) {
	t.Helper()
	begin := regexp.MustCompile(`(?m)^[\[{]`).FindStringIndex(out)
	if begin == nil {
		t.Fatalf("not JSON: %s", out)
	}
	if err := json.NewDecoder(strings.NewReader(out[begin[0]:])).Decode(to); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// submit submits a lead of a session of its own, with <session>@example.com.
func (s *site) submit(session string) (id string) {
	s.t.Helper()
	status, answer := s.post("/api/quote/submit", newLead(session))
	id, _ = answer["submissionId"].(string)
	if status != http.StatusOK || id == "" {
		s.t.Fatalf("submitting: %d %v", status, answer)
	}
	return id
}

// listedDelivery is a delivery as the commands print it.
type listedDelivery struct {
	ID                  int64
	Lead, Target, State string
	Attempts            int
	NextAt              time.Time
	Reason              string
	Errors              []string
}

// deliveriesOf returns the latest deliveries of a lead, by target.
func (s *site) deliveriesOf(id string) map[string]listedDelivery {
	s.t.Helper()
	var list []schema.Delivery
	s.json(&list, "deliveries", "list", "--submission", id, "--state", "all")
	byTarget := map[string]listedDelivery{}
	for _, d := range slices.Backward(list) { // the oldest first
		one := listedDelivery{
			Lead:     d.Lead.ID,
			Target:   strings.ToLower(string(d.Target)),
			State:    strings.ToLower(string(d.State)),
			Attempts: d.AttemptCount,
			NextAt:   schema.ValueOr(d.NextAttemptAt, time.Time{}),
			Reason:   schema.ValueOr(d.Reason, ""),
		}
		one.ID, _ = strconv.ParseInt(d.ID, 10, 64)
		for _, a := range d.Attempts {
			one.Errors = append(one.Errors, a.Error)
		}
		byTarget[one.Target] = one
	}
	return byTarget
}

// reaches waits until the delivery of a lead to a target has a state.
func (s *site) reaches(id, target, state string) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the delivery to the %s is %s", target, state), func() bool {
		return s.deliveriesOf(id)[target].State == state
	})
}

// arrives waits until a lead has arrived everywhere.
func (s *site) arrives(id string) {
	s.t.Helper()
	s.reaches(id, "cms", "delivered")
	s.reaches(id, "crm", "delivered")
	if _, ok := s.deliveriesOf(id)["sales_mail"]; ok { // in development, where mails are files
		s.reaches(id, "sales_mail", "delivered")
	}
}

// pdf returns the status of a lead's PDF.
func (s *site) pdf(id string) int {
	s.t.Helper()
	resp, err := http.Get(s.base + "/api/quote/pdf?id=" + id)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// damage changes the SQLite database past the service.
func (s *site) damage(query string) {
	s.t.Helper()
	db, err := sqlite.OpenDB(s.t.Context(), s.dir+"/"+operator.DatabaseFile)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(s.t.Context(), query); err != nil {
		s.t.Fatal(err)
	}
}

// keep stores leads and tracked states as they are given, while no service runs.
func (s *site) keep(visits []lead.Visit, leads ...lead.Lead) {
	s.t.Helper()
	settings, err := config.Read(func(name string) string {
		return map[string]string{"ENVIRONMENT": "development", "DATA_DIR": s.dir}[name]
	})
	if err != nil {
		s.t.Fatal(err)
	}

	db, err := openDatabase(s.t.Context(), settings, deliveries{}, zerolog.Nop())
	if err != nil {
		s.t.Fatal(err)
	}

	for _, v := range visits {
		if err := db.Quotes.Track(s.t.Context(), v); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, q := range leads {
		if _, _, err := db.Quotes.Submit(s.t.Context(),
			store.NewLead{Lead: q, ContentKey: q.ID}); err != nil {
			s.t.Fatal(err)
		}
	}

	if err := db.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// said is a command line with the texts that its output must have, in this order, and the
// texts that it must not have.
type said struct {
	args string
	want []string
	not  []string
}

// says checks commands that succeed.
func (s *site) says(list ...said) {
	s.t.Helper()
	for _, a := range list {
		out, code := s.run(strings.Fields(a.args)...)
		if code != 0 {
			s.t.Errorf("%s: exit code %d, %s", a.args, code, out)
		}

		remaining := out
		for _, want := range a.want {
			_, after, ok := strings.Cut(remaining, want)
			if remaining = after; !ok {
				s.t.Errorf("%s does not say %q where it belongs:\n%s", a.args, want, out)
				break
			}
		}

		for _, not := range a.not {
			if strings.Contains(out, not) {
				s.t.Errorf("%s says %q:\n%s", a.args, not, out)
			}
		}
	}
}

// refuses checks command lines that fail; each prints its message once.
func (s *site) refuses(list map[string]string) {
	s.t.Helper()
	for args, want := range list {
		if out, code := s.run(strings.Fields(args)...); code != 1 || strings.Count(out, want) != 1 {
			s.t.Errorf("%s: exit code %d, want %q once:\n%s", args, code, want, out)
		}
	}
}

// noPersonalData fails if an output names a visitor.
func noPersonalData(t *testing.T, out string) {
	t.Helper()
	for _, part := range []string{"@", "Ana", "Ionescu", "721 000", "721000", "Țară"} {
		if strings.Contains(out, part) {
			t.Errorf("%q is in\n%s", part, out)
		}
	}
}
