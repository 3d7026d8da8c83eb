package apptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/cmd/siteapi/internal/telemetry"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest/pgserver"
	"siteapi/schema"
)

// checkup is the report of the doctor.
type checkup struct {
	State  string
	Checks []struct{ Name, State, Detail, Advice string }
}

// Doctor runs `siteapi doctor` with additional settings.
func (s *Site) Doctor(env []string, args ...string) (c checkup, code int) {
	s.T.Helper()
	out, code := Command(s.T, slices.Concat(s.Env, env), append([]string{"doctor", "--json"}, args...)...)
	ReadJSON(s.T, out, &c)

	for _, secret := range []string{"hush", "@example.com"} {
		if strings.Contains(out, secret) {
			s.T.Errorf("%q is in %s", secret, out)
		}
	}
	return c, code
}

// Reports fails unless a check has a state and its text contains words. Every check that
// needs attention must give advice.
func (c checkup) Reports(t *testing.T, check, state, words string) {
	t.Helper()
	for _, d := range c.Checks {
		if d.Name == check && d.State == state && strings.Contains(d.Detail+" "+d.Advice, words) &&
			(d.Advice != "") == (state == "WARNING" || state == "FAILED") {
			return
		}
	}
	t.Errorf("%s does not report %s: %q\n%+v", check, state, words, c.Checks)
}

// Receipt is the receipt of an erasure.
type Receipt schema.ErasureReceipt

// At returns the entry of the place that counts in a unit.
func (r Receipt) At(unit string) (found schema.ErasurePlace) {
	for _, p := range r.Places {
		if p.Unit == unit {
			found = *p
		}
	}
	return found
}

// Counts fails unless a receipt has these counts and this state for a unit.
func (r Receipt) Counts(t *testing.T, unit string, found, removed int, state schema.ErasureState) {
	t.Helper()
	if p := r.At(unit); p.Found == nil || *p.Found != found || p.Erased != removed || p.State != state {
		t.Errorf("the receipt has for %s: %+v, want %d found and %d erased, %s",
			unit, p, found, removed, state)
	}
}

// Site is the binary with a data folder and, if Stubs is set, stubs of the CMS and CRM.
type Site struct {
	*Process
	T     *testing.T
	Dir   string
	Env   []string
	Stubs *Vendors
}

// NewSite returns a site that is not started yet.
func NewSite(t *testing.T, env ...string) *Site {
	t.Helper()
	dir := t.TempDir()
	return &Site{
		T:   t,
		Dir: dir,
		Env: append([]string{
			"ENVIRONMENT=development",
			"DATA_DIR=" + dir,
			"DELIVERY_RETRY_MAX=1s",
		}, env...),
	}
}

// OnBothDatabases runs a test with SQLite and with PostgreSQL, and passes it the
// DATABASE_URL.
func OnBothDatabases(t *testing.T, test func(t *testing.T, database string)) {
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

// NewRemoteSite returns a site that uses stubs of the CMS and CRM. It is not started yet.
func NewRemoteSite(t *testing.T, env ...string) *Site {
	t.Helper()
	stubs := NewVendors(t)
	s := NewSite(t, append(stubs.Env(), env...)...)
	s.Stubs = stubs
	return s
}

// Start launches the binary.
func (s *Site) Start() *Site {
	s.T.Helper()
	s.Process = Launch(s.T, s.Dir, s.Env...)
	return s
}

// Stop stops the binary with a SIGTERM.
func (s *Site) Stop(t *testing.T) {
	t.Helper()
	if err := s.End(syscall.SIGTERM); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// Run runs a command with the settings of the site. It returns its output with errors,
// and its exit code.
func (s *Site) Run(args ...string) (string, int) {
	s.T.Helper()
	return Command(s.T, s.Env, args...)
}

// Assistant connects to the tools of operators over the standard input and output of a command.
func (s *Site) Assistant(t *testing.T) *mcp.ClientSession {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Binary, "mcp")
	cmd.Env = s.Env
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// JSON runs a command that prints JSON.
func (s *Site) JSON(to any, args ...string) {
	s.T.Helper()
	out, _ := s.Run(append(args, "--json")...)
	ReadJSON(s.T, out, to)
}

// ReadJSON decodes the JSON in a command's output. It begins at the start of a line.
func ReadJSON(t *testing.T, out string, to any) {
	t.Helper()
	begin := regexp.MustCompile(`(?m)^[\[{]`).FindStringIndex(out)
	if begin == nil {
		t.Fatalf("not JSON: %s", out)
	}
	if err := json.NewDecoder(strings.NewReader(out[begin[0]:])).Decode(to); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// DeliveriesOf returns the latest deliveries of a lead, by target in lower case, with those
// whose lead is gone.
func (s *Site) DeliveriesOf(id string) map[string]schema.Delivery {
	s.T.Helper()
	var list []schema.Delivery
	s.JSON(&list, "deliveries", "list", "--state", "all", "--limit", "0")
	list = slices.DeleteFunc(list, func(d schema.Delivery) bool { return d.Lead != nil && d.Lead.ID != id })

	byTarget := map[string]schema.Delivery{}
	for _, d := range slices.Backward(list) { // the oldest first
		byTarget[strings.ToLower(string(d.Target))] = d
	}
	return byTarget
}

// Reaches waits until the delivery of a lead to a target has a state.
func (s *Site) Reaches(id, target, state string) {
	s.T.Helper()
	Eventually(s.T, fmt.Sprintf("the delivery to the %s is %s", target, state), func() bool {
		return strings.EqualFold(string(s.DeliveriesOf(id)[target].State), state)
	})
}

// Arrives waits until a lead is delivered to every target.
func (s *Site) Arrives(id string) {
	s.T.Helper()
	s.Reaches(id, "cms", "delivered")
	s.Reaches(id, "crm", "delivered")
	if s.DeliveriesOf(id)["sales_mail"].ID != "" { // mails are files in development
		s.Reaches(id, "sales_mail", "delivered")
	}
}

// Damage changes the SQLite database without the service.
func (s *Site) Damage(query string) {
	s.T.Helper()
	db, err := sqlite.OpenDB(s.T.Context(), s.Dir+"/"+systems.DatabaseFile)
	must(s.T, err)
	defer db.Close()
	_, err = db.ExecContext(s.T.Context(), query)
	must(s.T, err)
}

// Opener opens the systems of the site, with additional settings, while no service runs.
func (s *Site) Opener(env ...string) systems.Opener {
	s.T.Helper()
	settings, err := config.Read(Lookup(defaults(s.Dir, env)))
	must(s.T, err)
	return systems.Opener{Settings: settings, Log: zerolog.Nop(), Metrics: telemetry.NewMetrics("")}
}

// Store writes leads and tracked sessions to the database unchanged, while no service
// runs.
func (s *Site) Store(visits []lead.Visit, leads ...lead.Lead) {
	s.T.Helper()
	db, err := s.Opener().Database(s.T.Context())
	must(s.T, err)

	for _, v := range visits {
		err = errors.Join(err, db.Store.Track(s.T.Context(), v))
	}
	for _, l := range leads {
		_, _, failed := db.Store.Submit(s.T.Context(), store.NewLead{Lead: l, ContentKey: l.ID})
		err = errors.Join(err, failed)
	}
	must(s.T, errors.Join(err, db.Close()))
}

// Printed is the output of a command.
type Printed struct {
	t         *testing.T
	args, Out string
}

// with fails unless the output contains strings in this order.
func (p Printed) with(texts []string) Printed {
	p.t.Helper()
	remaining := p.Out
	for _, want := range texts {
		_, after, ok := strings.Cut(remaining, want)
		if remaining = after; !ok {
			p.t.Errorf("%s does not print %q in its place:\n%s", p.args, want, p.Out)
			break
		}
	}
	return p
}

// Without fails if the output contains one of the strings.
func (p Printed) Without(texts ...string) {
	p.t.Helper()
	for _, not := range texts {
		if strings.Contains(p.Out, not) {
			p.t.Errorf("%s prints %q:\n%s", p.args, not, p.Out)
		}
	}
}

// Prints fails unless a command succeeds and prints strings, in this order.
func (s *Site) Prints(args string, texts ...string) Printed {
	s.T.Helper()
	out, code := s.Run(strings.Fields(args)...)
	if code != 0 {
		s.T.Errorf("%s: exit code %d, %s", args, code, out)
	}
	return Printed{s.T, args, out}.with(texts)
}

// Refuses fails unless each command fails and prints its message once.
func (s *Site) Refuses(list map[string]string) {
	s.T.Helper()
	for args, want := range list {
		if out, code := s.Run(strings.Fields(args)...); code != 1 || strings.Count(out, want) != 1 {
			s.T.Errorf("%s: exit code %d, want %q once:\n%s", args, code, want, out)
		}
	}
}

// NoPersonalData fails if an output contains data of the sample visitors.
func NoPersonalData(t *testing.T, out string) {
	t.Helper()
	for _, part := range []string{"@", "Ana", "Ionescu", "721 000", "721000", "Țară"} {
		if strings.Contains(out, part) {
			t.Errorf("%q is in\n%s", part, out)
		}
	}
}
