package hubspot_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/crm/hubspot"
	ht "siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/lead"
	"siteapi/integrations/upstream"
	"siteapi/integrations/upstream/faulttest"
)

const ana = crmtest.Ana

// account is a driver with a stub behind it.
type account struct {
	*hubspot.Driver
	stub *ht.Server

	mu      sync.Mutex
	omitted []string
}

// reported returns the messages about omitted properties.
func (a *account) reported() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.omitted)
}

func (a *account) subject() crmtest.Subject {
	return crmtest.Subject{
		Driver: a.Driver,
		Contact: func(email string) (map[string]string, bool) {
			c, ok := a.stub.Contact(email)
			return c.Properties, ok
		},
		Add: func(properties map[string]string) { a.stub.Add(properties) },
	}
}

// open starts a stub. The client keeps no connections, because otherwise Go's transport
// repeats a read whose connection was reset, and hides the driver's own handling.
func open(t *testing.T, so ht.Options) *account {
	t.Helper()
	a := &account{stub: ht.New(so)}
	t.Cleanup(a.stub.Close)
	a.Driver = hubspot.New(hubspot.Options{
		BaseURL:   a.stub.URL(),
		Token:     ht.Token,
		Version:   cmp.Or(so.Version, "v3"),
		Transport: &http.Transport{DisableKeepAlives: true},
		OnOmitted: func(text string) {
			a.mu.Lock()
			a.omitted = append(a.omitted, text)
			a.mu.Unlock()
		},
	})
	return a
}

// prepared starts a stub with the quote properties.
func prepared(t *testing.T, so ht.Options) *account {
	t.Helper()
	a := open(t, so)
	if _, err := a.Setup(t.Context()); err != nil {
		t.Fatalf("setting up: %v", err)
	}
	return a
}

// expectKind checks that an error is of a kind and contains nothing private.
func expectKind(t *testing.T, err error, want upstream.Kind) *upstream.Error {
	t.Helper()
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Kind != want || e.System != "hubspot" || e.Op == "" {
		t.Fatalf("got %v, want an *upstream.Error, %s", err, want)
	}
	for _, private := range []string{ana, "example.com", "Ștefania", "Núñez", "721 000", "Brânză", ht.Token} {
		if strings.Contains(err.Error(), private) {
			t.Errorf("the error contains %q: %v", private, err)
		}
	}
	return e
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]ht.Options{
		"v3":              {},
		"version by date": {Version: "2026-03"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crmtest.Run(t, func(t *testing.T) crmtest.Subject { return prepared(t, o).subject() })
		})
	}
}

// outcome is a fault, the kind of error it causes, and how long the queue should pause.
type outcome struct {
	fault faulttest.Fault
	want  upstream.Kind
	after time.Duration // Retry-After
	pause time.Duration // assumed without a Retry-After
}

func outcomes() []outcome {
	all := []outcome{
		{faulttest.Of(faulttest.Hang), upstream.Unavailable, 0, 0},
		{faulttest.Of(faulttest.Reset), upstream.Unavailable, 0, 0},
		{faulttest.Of(faulttest.Drip), upstream.Unavailable, 0, 0},
		{faulttest.Of(faulttest.Oversized), upstream.Unavailable, 0, 0},
		{ht.Garbage(), upstream.Unavailable, 0, 0},
		{faulttest.Answer(200).With(`{}`), upstream.Unavailable, 0, 0},
		{faulttest.Answer(403).With(`{}`), upstream.Refused, 0, 0},
		{faulttest.Answer(409).With(`{}`), upstream.Unavailable, 0, 0},
		{faulttest.Answer(500).With("<html>ana.pop@example.com</html>"), upstream.Unavailable, 0, 0},
		{ht.Limited("DAILY", ""), upstream.Limited, 0, 15 * time.Minute},
		{ht.Limited("DAILY", "7200"), upstream.Limited, 2 * time.Hour, 0},
		{ht.Limited("TEN_SECONDLY_ROLLING", ""), upstream.Limited, 0, 10 * time.Second},
		{ht.Limited("SECONDLY", ""), upstream.Limited, 0, time.Second},
		{faulttest.Answer(429).With("slow down"), upstream.Limited, 0, 10 * time.Second},
		{faulttest.Answer(429).With(`{"policyName":7,"message":["x"]}`), upstream.Limited, 0, 10 * time.Second},
	}

	for kind, statuses := range map[upstream.Kind][]int{
		upstream.Unavailable: {302, 408, 409, 423, 477, 500, 502, 503, 504, 524},
		upstream.Rejected:    {400, 413, 422},
		upstream.Refused:     {401, 402, 403, 405, 410},
	} {
		for _, status := range statuses {
			all = append(all, outcome{faulttest.Answer(status), kind, 0, 0})
		}
	}
	return all
}

func hangs(f faulttest.Fault) bool {
	return f.Mode == faulttest.Hang || f.Mode == faulttest.Drip
}

// TestOutcomes lets each request that a lead takes fail in each way, before and after
// HubSpot acts on it, for a new and for a known contact. Afterwards the lead must arrive
// once, with the right values.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, step := range []struct {
		name, method string
		known, acted bool
	}{
		{"reading a new contact", http.MethodGet, false, false},
		{"creating", http.MethodPost, false, false},
		{"creating, after storing", http.MethodPost, false, true},
		{"updating", http.MethodPatch, true, false},
		{"updating, after storing", http.MethodPatch, true, true},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			for _, o := range outcomes() {
				a := prepared(t, ht.Options{})

				want := crmtest.Want(ana)
				if step.known {
					a.stub.Add(map[string]string{
						"email":                 ana,
						"firstname":             "Before",
						"lifecyclestage":        "customer",
						"quote_contact_created": "true",
					})
					want["firstname"], want["lifecyclestage"] = "Before", "customer"
				}

				fault := o.fault
				if step.acted {
					fault = fault.AfterActing()
				}
				a.stub.Fail(fault.On(step.method + " /contacts"))

				patience := time.Minute
				if hangs(o.fault) {
					patience = time.Second
				}

				ctx, cancel := context.WithTimeout(t.Context(), patience)
				e := expectKind(t, a.Upsert(ctx, crmtest.Contact(ana, nil)), o.want)
				cancel()

				if e.RetryAfter != o.after || e.Pause != o.pause {
					t.Errorf("%s: Retry-After %v and pause %v, want %v and %v",
						o.fault, e.RetryAfter, e.Pause, o.after, o.pause)
				}

				a.stub.Recover()
				for range 2 {
					if err := a.Upsert(t.Context(), crmtest.Contact(ana, nil)); err != nil {
						t.Fatalf("%s: after recovery: %v", o.fault, err)
					}
				}

				a.subject().Expect(t, ana, want)
				if n := len(a.stub.Contacts()); n != 1 {
					t.Errorf("%s: %d contacts", o.fault, n)
				}
			}
		})
	}
}

// TestLookupAndErasureFail checks that no address counts as missing or erased if the
// lookup or the deletion failed.
func TestLookupAndErasureFail(t *testing.T) {
	t.Parallel()
	for _, o := range outcomes() {
		if hangs(o.fault) { // this would take the whole time-out
			continue
		}
		t.Run(o.fault.String(), func(t *testing.T) {
			t.Parallel()

			a := open(t, ht.Options{})
			a.stub.Add(map[string]string{"email": ana})
			if o.pause != 10*time.Second { // a lookup would wait that long
				a.stub.Fail(o.fault.On("POST /batch/read"))
				missing, err := a.Missing(t.Context(), []string{ana})
				if o.pause != time.Second {
					expectKind(t, err, o.want)
				} else if err != nil || len(missing) != 0 {
					t.Errorf("a short limit was not waited for: %q, %v", missing, err)
				}
			}

			a.stub.Fail(o.fault.On("POST /gdpr-delete"))
			expectKind(t, a.Erase(t.Context(), ana), o.want)
			if err := a.Erase(t.Context(), ana); err != nil || len(a.stub.Contacts()) != 0 {
				t.Errorf("after recovery: %v, %d left", err, len(a.stub.Contacts()))
			}
		})
	}

	a := open(t, ht.Options{})
	for name, body := range map[string]string{
		"another error": `{"status":"COMPLETE","results":[],` +
			`"errors":[{"status":"error","category":"INTERNAL_ERROR"}]}`,
		"no results": `{"status":"PENDING"}`,
	} {
		a.stub.Fail(faulttest.Answer(http.StatusMultiStatus).With(body))
		if _, err := a.Missing(t.Context(), []string{ana}); upstream.KindOf(err) != upstream.Unavailable ||
			err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	// If a deletion is answered with 404, the contact is gone or the
	// endpoint does not exist.
	a.stub.Add(map[string]string{"email": ana})
	a.stub.Fail(faulttest.Answer(404).On("POST /gdpr-delete"))
	expectKind(t, a.Erase(t.Context(), ana), upstream.Refused)

	a.stub.Fail(faulttest.Answer(404).AfterActing().On("POST /gdpr-delete"))
	if err := a.Erase(t.Context(), ana); err != nil {
		t.Errorf("erasing what is gone meanwhile: %v", err)
	}

	// A text that is not an address is never sent.
	before := len(a.stub.Requests())
	missing, err := a.Missing(t.Context(), []string{"", "ana"})
	if err != nil || len(missing) != 2 || a.Erase(t.Context(), "ana") != nil ||
		len(a.stub.Requests()) != before {
		t.Errorf("missing %q, %v", missing, err)
	}
}

// TestNotFound covers 404, which has another meaning at each step.
func TestNotFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		known bool
		fault faulttest.Fault
		want  upstream.Kind
	}{
		"creating: the API's address is wrong": {
			false,
			faulttest.Answer(404).On("POST /contacts"),
			upstream.Refused,
		},
		"updating: the contact is gone": {
			true,
			faulttest.Answer(404).On("PATCH /contacts"),
			upstream.Unavailable,
		},
		"a conflict names a contact that is gone": {
			false,
			faulttest.Answer(409).With(`{"message":"Contact already exists. Existing ID: 4711"}`).
				On("POST /contacts"),
			upstream.Unavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := prepared(t, ht.Options{})
			if tc.known {
				a.stub.Add(map[string]string{"email": ana})
			}
			a.stub.Fail(tc.fault)
			expectKind(t, a.Upsert(t.Context(), crmtest.Contact(ana, nil)), tc.want)
		})
	}

	a := prepared(t, ht.Options{})
	if e := expectKind(t,
		a.Upsert(t.Context(), crmtest.Contact("ana@example.com, b", nil)), upstream.Rejected,
	); e.Status != 400 {
		t.Errorf("an invalid address: status %d", e.Status)
	}
}

// TestContactThatReadsDoNotShow covers a contact that is not visible yet, and a contact
// with the address as a secondary one.
func TestContactThatReadsDoNotShow(t *testing.T) {
	t.Parallel()
	a := prepared(t, ht.Options{ReadLag: time.Hour})
	for range 3 {
		if err := a.Upsert(t.Context(), crmtest.Contact(ana, nil)); err != nil {
			t.Fatal(err)
		}
	}

	if n := len(a.stub.Contacts()); n != 1 {
		t.Errorf("there are %d contacts", n)
	}

	a.stub.Add(map[string]string{"email": "primary@example.com"})
	a.stub.AddSecondary("primary@example.com", "second@example.com")
	if err := a.Upsert(t.Context(), crmtest.Contact("second@example.com", nil)); err != nil {
		t.Fatal(err)
	}
	if c, _ := a.stub.Contact("second@example.com"); c.Properties["email"] != "primary@example.com" ||
		c.Properties["quote_contact_firstname"] != "Ștefania" {
		t.Errorf("contact: %v", c)
	}

	if missing, err := a.Missing(t.Context(), []string{"second@example.com"}); err != nil ||
		len(missing) != 0 {
		t.Errorf("missing: %q, %v", missing, err)
	}
}

// TestSeveralProcesses lets drivers that share no locks upsert one address.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	a := prepared(t, ht.Options{})
	var all sync.WaitGroup
	for range 8 {
		d := hubspot.New(hubspot.Options{
			BaseURL:   a.stub.URL(),
			Token:     ht.Token,
			Version:   "v3",
			OnOmitted: func(string) {},
		})
		all.Go(func() {
			if err := d.Upsert(context.WithoutCancel(t.Context()), crmtest.Contact(ana, nil)); err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	if n := len(a.stub.Contacts()); n != 1 {
		t.Errorf("there are %d contacts", n)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{})
	for name, tc := range map[string]struct {
		o    hubspot.Options
		want upstream.Kind
	}{
		"wrong token": {
			hubspot.Options{BaseURL: a.stub.URL(), Token: "pat-wrong", Version: "v3"},
			upstream.Refused,
		},
		"wrong path": {
			hubspot.Options{BaseURL: a.stub.URL(), Token: ht.Token, Version: "v9"},
			upstream.Refused,
		},
		"closed port": {hubspot.Options{BaseURL: "http://127.0.0.1:1"}, upstream.Unavailable},
	} {
		t.Run(name, func(t *testing.T) { expectKind(t, hubspot.New(tc.o).Ping(t.Context()), tc.want) })
	}

	a.stub.Fail(faulttest.Answer(200).With(`{"hello":"world"}`))
	expectKind(t, a.Ping(t.Context()), upstream.Unavailable)
}

// TestUnknownProperties covers an account that was not prepared. The properties are
// created if the token may, else the contact is stored without them.
func TestUnknownProperties(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{})
	var all sync.WaitGroup
	for _, email := range []string{ana, "b@example.com", "c@example.com", "d@example.com"} {
		all.Go(func() {
			if err := a.Upsert(context.WithoutCancel(t.Context()), crmtest.Contact(email, nil)); err != nil {
				t.Error(err)
			}
			a.subject().Expect(t, email, crmtest.Want(email))
		})
	}

	all.Wait()
	if got := a.stub.Defined("quote_min"); got != "number/number" || len(a.reported()) != 0 {
		t.Errorf("%s is %q, omitted: %q", "quote_min", got, a.reported())
	}

	a = open(t, ht.Options{NoSchemas: true})
	for range 2 { // the second time there is nothing left to write
		if err := a.Upsert(t.Context(), crmtest.Contact(ana, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if c, _ := a.stub.Contact(ana); len(c.Properties) != 5 || len(a.reported()) != 29 ||
		strings.Contains(a.reported()[0], "example.com") {
		t.Errorf("contact %v, omitted %q", c.Properties, a.reported())
	}
}

func TestRefusedValues(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{})
	a.stub.Define("quote_features", "enumeration", "checkbox", "login", "search")
	a.stub.Define("quote_timeline", "enumeration", "select", "soon")
	a.stub.Define("phone", "number", "number")

	if err := a.Upsert(t.Context(), crmtest.Contact(ana, nil)); err != nil {
		t.Fatal(err)
	}

	c, _ := a.stub.Contact(ana)
	if c.Properties["quote_features"] != "login;search" || c.Properties["quote_timeline"] != "" ||
		c.Properties["quote_max"] != "1000000000" {
		t.Errorf("contact: %v", c.Properties)
	}

	if got := a.reported(); len(got) != 2 || !strings.Contains(got[0], "phone") ||
		!strings.Contains(got[1], "INVALID_OPTION") {
		t.Errorf("omitted: %q", got)
	}
}

// TestPropertyNotKnownYet covers the forms in which HubSpot names a property it does not
// know, although the account has it. A young lead waits, an old one is stored without it.
func TestPropertyNotKnownYet(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"in the message": `{"message":"Property values were not valid: ` +
			`[{\"message\":\"Property \\\"quote_min\\\" does not exist\",` +
			`\"error\":\"PROPERTY_DOESNT_EXIST\",\"name\":\"quote_min\"}]"}`,
		"validation results": `{"validationResults":[{"isValid":false,` +
			`"error":"PROPERTY_DOESNT_EXIST","name":"quote_min"}]}`,
		"errors with context": `{"errors":[{"message":"no","code":"PROPERTY_DOESNT_EXIST",` +
			`"context":{"propertyName":["quote_min"]}}]}`,
		"errors with in":       `{"errors":[{"code":"PROPERTY_DOESNT_EXIST","in":"quote_min"}]}`,
		"a sentence":           `{"message":"Property \"quote_min\" does not exist"}`,
		"the code and no name": `{"category":"PROPERTY_DOESNT_EXIST"}`,
		"not JSON":             `PROPERTY_DOESNT_EXIST`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := prepared(t, ht.Options{})
			unknown := faulttest.Answer(400).With(body).On("POST /objects/").Times(2)

			a.stub.Fail(unknown)
			young := crmtest.Contact(ana, func(s *lead.Lead) { s.SubmittedAt = time.Now() })
			expectKind(t, a.Upsert(t.Context(), young), upstream.Unavailable)

			a.stub.Fail(unknown)
			if err := a.Upsert(t.Context(), crmtest.Contact(ana, nil)); err != nil {
				t.Fatal(err)
			}

			c, ok := a.stub.Contact(ana)
			if _, has := c.Properties["quote_min"]; !ok || has || c.Properties["firstname"] == "" ||
				len(a.reported()) == 0 {
				t.Errorf("contact: %v, omitted: %q", c.Properties, a.reported())
			}
		})
	}

	for name, body := range map[string]string{
		"another property": `{"errors":[{"code":"REQUIRED_FIELD","in":"favourite_colour"}],` +
			`"category":"VALIDATION_ERROR"}`,
		"deep nesting": strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	} {
		a := prepared(t, ht.Options{})
		a.stub.Fail(faulttest.Answer(400).With(body).On("POST /objects/"))
		if err := a.Upsert(t.Context(), crmtest.Contact(ana, nil)); upstream.KindOf(err) != upstream.Rejected {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCreatingPropertiesFails checks that a lead waits if the failure is temporary, and
// is stored without the properties otherwise.
func TestCreatingPropertiesFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault faulttest.Fault
		want  upstream.Kind // empty if the contact arrives
	}{
		{faulttest.Answer(500), upstream.Unavailable},
		{ht.Limited("DAILY", ""), upstream.Limited},
		{faulttest.Of(faulttest.Reset), upstream.Unavailable},
		{faulttest.Answer(400), ""},
		{faulttest.Answer(401), ""},
		{faulttest.Answer(404), ""},
	} {
		t.Run(tt.fault.String(), func(t *testing.T) {
			t.Parallel()
			a := open(t, ht.Options{})

			a.stub.Fail(tt.fault.On("POST /properties/contacts").Times(-1))
			err := a.Upsert(t.Context(), crmtest.Contact(ana, nil))
			if tt.want != "" {
				expectKind(t, err, tt.want)
				return
			}

			if c, ok := a.stub.Contact(ana); err != nil || !ok || len(c.Properties) != 5 ||
				len(a.reported()) != len(crm.Changes(crmtest.Contact(ana, nil), nil))-5 {
				t.Errorf("%v; contact %v, omitted %q", err, c.Properties, a.reported())
			}
		})
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{})
	a.stub.Define("quote_timeline", "enumeration", "select", "soon")
	a.stub.Fail(faulttest.Of(faulttest.Oversized).On("GET /properties/"))
	_, err := a.Setup(t.Context())
	expectKind(t, err, upstream.Unavailable)

	// The set-up can be repeated.
	lines, err := a.Setup(t.Context())
	own := slices.DeleteFunc(crm.Properties(), func(p crm.Property) bool { return !p.Quote() })
	if err != nil || len(lines) != 1+len(own) ||
		!slices.Contains(lines, "property quote_features: exists already") ||
		!slices.Contains(lines, "property quote_pdf_url: created") ||
		!slices.ContainsFunc(lines, func(s string) bool {
			return strings.Contains(s, "as enumeration rather than string")
		}) {
		t.Errorf("%q, %v", lines, err)
	}

	for name, want := range map[string]string{
		"quote_max":         "number/number",
		crm.PropSubmittedAt: "datetime/date",
		"quote_features":    "string/textarea",
		"quote_currency":    "string/text",
	} {
		if got := a.stub.Defined(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	_, err = open(t, ht.Options{NoSchemas: true}).Setup(t.Context())
	if e := expectKind(t, err, upstream.Refused); !strings.Contains(e.Detail, "crm.schemas.contacts.write") {
		t.Errorf("%q", e.Detail)
	}
}
