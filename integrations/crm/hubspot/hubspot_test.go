package hubspot_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
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

// account is a driver with its stub.
type account struct {
	*hubspot.Driver
	stub    *ht.Server
	omitted []string
}

func (a *account) subject() crmtest.Subject {
	return crmtest.Subject{
		Driver: a.Driver,
		Contact: func(email string) (map[string]string, bool) {
			contact := a.stub.Contact(email)
			return contact, contact != nil
		},
		Deal: func(leadID string) (map[string]string, bool) {
			for _, d := range a.stub.Deals() {
				if leadID != "" && (d.Properties["quote_submission_id"] == leadID || d.ID == leadID) {
					return d.Properties, !d.InBin
				}
			}
			return nil, false
		},
		Add:     func(properties map[string]string) { a.stub.Add(properties, time.Now()) },
		Edit:    func(key string, properties map[string]string) { a.stub.Edit(key, properties, time.Now()) },
		Clone:   a.stub.Clone,
		MovedOn: "qualifiedtobuy",
	}
}

// deliver stores the sample lead.
func (a *account) deliver(t *testing.T) error {
	_, err := a.Upsert(t.Context(), crmtest.Contact(ana, nil))
	return err
}

// erase erases the contact.
func (a *account) erase(t *testing.T) error {
	_, err := a.EraseContacts(t.Context(), crm.Erasure{Emails: []string{ana}})
	return err
}

// open starts a stub. The client does not reuse connections: otherwise Go's transport
// would repeat a read whose connection was reset, and bypass the driver's handling.
func open(t *testing.T, so ht.Options, change ...func(*hubspot.Options)) *account {
	t.Helper()
	a := &account{stub: ht.New(so)}
	t.Cleanup(a.stub.Close)
	o := hubspot.Options{
		BaseURL:   a.stub.URL(),
		Token:     ht.Token,
		Version:   "2026-03",
		Transport: &http.Transport{DisableKeepAlives: true},
		OnOmitted: func(text string) { a.omitted = append(a.omitted, text) },
	}
	for _, c := range change {
		c(&o)
	}
	a.Driver = hubspot.New(o)
	return a
}

// version selects a version of the API.
func version(v string) func(*hubspot.Options) { return func(o *hubspot.Options) { o.Version = v } }

// withDeals turns deals on.
func withDeals(o *hubspot.Options) { o.DealStage = "Sales Pipeline/Appointment Scheduled" }

// prepared starts a stub with the quote properties.
func prepared(t *testing.T, so ht.Options, change ...func(*hubspot.Options)) *account {
	t.Helper()
	a := open(t, so, change...)
	if _, err := a.Setup(t.Context()); err != nil {
		t.Fatalf("setting up: %v", err)
	}
	return a
}

// expectKind checks that an error is of a kind and contains no personal data.
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
	for _, v := range []string{"v3", "2026-03"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			crmtest.Run(t, func(t *testing.T) crmtest.Subject {
				return prepared(t, ht.Options{}, version(v), withDeals).subject()
			})
		})
	}
}

// TestRequiredProperties covers the rules of the account, which HubSpot applies from
// version 2026-09 on.
func TestRequiredProperties(t *testing.T) {
	t.Parallel()
	a := prepared(t, ht.Options{Required: []string{"contacts.budget"}}, version("2026-09"))
	e := expectKind(t, a.deliver(t), upstream.Rejected)
	if !strings.Contains(e.Detail, "the account requires the property budget: ") || len(a.stub.Contacts()) != 0 {
		t.Errorf("%q", e.Detail)
	}

	// A condition may name a property that was sent: it is not at fault.
	a.stub.Fail(faulttest.Respond(400).On("POST /contacts").With(`{"category":"VALIDATION_ERROR","errors":[{` +
		`"code":"MISSING_CONDITIONAL_REQUIRED_PROPERTY","context":{"propertyName":["region"],"controller":["quote_min"]}}]}`))
	e = expectKind(t, a.deliver(t), upstream.Rejected)
	if !strings.Contains(e.Detail, "requires the property region: ") || len(a.omitted) != 0 {
		t.Errorf("%q, omitted %q", e.Detail, a.omitted)
	}
}

// TestLookupAndErasureFail checks that no address counts as missing or erased after a
// failed lookup or deletion, and that a lookup waits for a short rate limit.
func TestLookupAndErasureFail(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{})
	a.stub.Add(map[string]string{"email": ana, "quote_contact_created": "true"}, time.Now())

	a.stub.Fail(ht.Limited("SECONDLY", "").On("POST /batch/read"))
	if missing, err := a.Missing(t.Context(), []string{ana}); err != nil || len(missing) != 0 {
		t.Errorf("after a short limit: %q, %v", missing, err)
	}
	for _, fault := range []faulttest.Fault{
		faulttest.Respond(503),
		faulttest.Respond(207).With(`{"results":[],"errors":[{"category":"INTERNAL_ERROR"}]}`),
		faulttest.Respond(207).With(`{"status":"PENDING"}`),
	} {
		a.stub.Fail(fault.On("POST /batch/read"))
		_, err := a.Missing(t.Context(), []string{ana})
		expectKind(t, err, upstream.Unavailable)
	}
	for fault, want := range map[faulttest.Fault]upstream.Kind{
		faulttest.Page(200):    upstream.Unavailable,
		faulttest.Respond(404): upstream.Refused, // the endpoint does not exist
	} {
		a.stub.Fail(fault.On("POST /gdpr-delete"))
		expectKind(t, a.erase(t), want)
	}
	if err := a.erase(t); err != nil || len(a.stub.Contacts()) != 0 {
		t.Errorf("after recovery: %v, %d remaining", err, len(a.stub.Contacts()))
	}

	// A text that is not an address is never sent.
	before := len(a.stub.Requests())
	missing, err := a.Missing(t.Context(), []string{"", "ana"})
	_, eraseErr := a.EraseContacts(t.Context(), crm.Erasure{Emails: []string{"ana"}, Leads: map[string]lead.Records{"": {}}})
	if err != nil || len(missing) != 2 || eraseErr != nil || len(a.stub.Requests()) != before {
		t.Errorf("missing %q, %v, %v", missing, err, eraseErr)
	}
}

// TestNotFound covers 404, whose meaning depends on the step.
func TestNotFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		known bool
		fault faulttest.Fault
		want  upstream.Kind
	}{
		"creating: the API's address is wrong": {
			false,
			faulttest.Respond(404).On("POST /contacts"),
			upstream.Refused,
		},
		"updating: the contact was deleted": {
			true,
			faulttest.Respond(404).On("PATCH /contacts"),
			upstream.Unavailable,
		},
		"a conflict names a deleted contact": {
			false,
			faulttest.Respond(409).With(`{"message":"Contact already exists. Existing ID: 4711"}`).
				On("POST /contacts"),
			upstream.Unavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := prepared(t, ht.Options{})
			if tc.known {
				a.stub.Add(map[string]string{"email": ana}, time.Now())
			}
			a.stub.Fail(tc.fault)
			expectKind(t, a.deliver(t), tc.want)
		})
	}
}

// TestInvisibleContact covers a contact that is not visible yet, and one whose secondary
// address is used.
func TestInvisibleContact(t *testing.T) {
	t.Parallel()
	a := prepared(t, ht.Options{})
	a.stub.Add(map[string]string{"email": "primary@example.com", "hs_additional_emails": ana}, time.Now())
	if missing, err := a.Missing(t.Context(), []string{ana}); err != nil || len(missing) != 0 {
		t.Errorf("missing: %q, %v", missing, err)
	}

	a.stub.Fail(faulttest.Respond(404).On("GET /contacts/"))
	must(t, a.deliver(t))
	if c := a.stub.Contact(ana); c["email"] != "primary@example.com" ||
		c["quote_contact_firstname"] != "Ștefania" || len(a.stub.Contacts()) != 1 {
		t.Errorf("contact: %v", c)
	}
}

// TestUnknownProperties covers an account that was not prepared. The properties are
// created if the token has permission; otherwise the contact is stored without them.
func TestUnknownProperties(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{})
	must(t, a.deliver(t))
	a.subject().Expect(t, ana, crmtest.Want(ana))
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
	if lines, err := a.Setup(t.Context()); err != nil || !slices.Contains(lines, "property contacts.quote_max: already exists") {
		t.Errorf("setting up: %q, %v", lines, err)
	}

	a = open(t, ht.Options{Lacks: []string{"crm.schemas"}})
	for range 2 { // the second call has nothing to write
		must(t, a.deliver(t))
	}
	if c := a.stub.Contact(ana); len(c) != 5 || len(a.omitted) != 31 ||
		strings.Contains(a.omitted[0], "example.com") {
		t.Errorf("contact %v, omitted %q", c, a.omitted)
	}
	_, err := a.Setup(t.Context())
	if e := expectKind(t, err, upstream.Refused); !strings.Contains(e.Detail, "crm.schemas.contacts.write") {
		t.Errorf("%q", e.Detail)
	}

	// A lead waits while the properties cannot be created.
	a = open(t, ht.Options{})
	a.stub.Fail(faulttest.Respond(500).On("POST /properties"))
	expectKind(t, a.deliver(t), upstream.Unavailable)
}

// TestRefusedProperties covers the ways in which HubSpot refuses an existing property.
// While the property seems unknown, a recent lead waits, and an older one is stored
// without it.
func TestRefusedProperties(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body  string
		waits bool
	}{
		"in the message": {`{"message":"Property values were not valid: ` +
			`[{\"message\":\"Property \\\"quote_min\\\" does not exist\",` +
			`\"error\":\"PROPERTY_DOESNT_EXIST\",\"name\":\"quote_min\"}]"}`, true},
		"errors with context": {`{"errors":[{"message":"no","code":"PROPERTY_DOESNT_EXIST",` +
			`"context":{"propertyName":["quote_min"]}}]}`, true},
		"the code and no name": {`{"category":"PROPERTY_DOESNT_EXIST"}`, true},
		"its value": {`{"message":"Property values were not valid: ` +
			`[{\"error\":\"INVALID_OPTION\",\"name\":\"quote_min\"}]"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := prepared(t, ht.Options{})
			refused := faulttest.Respond(400).With(tc.body).On("POST /crm/objects/")

			if tc.waits {
				a.stub.Fail(refused.Times(2))
				recent := crmtest.Contact(ana, func(s *lead.Lead) { s.SubmittedAt = time.Now() })
				_, err := a.Upsert(t.Context(), recent)
				expectKind(t, err, upstream.Unavailable)
				a.stub.Fail(refused)
			}
			a.stub.Fail(refused)
			must(t, a.deliver(t))

			if c := a.stub.Contact(ana); c["quote_min"] != "" || c["firstname"] == "" ||
				!strings.Contains(strings.Join(a.omitted, " "), "quote_min") {
				t.Errorf("contact: %v, omitted: %q", c, a.omitted)
			}
		})
	}

	for _, body := range []string{
		`{"errors":[{"code":"REQUIRED_FIELD","in":"favorite_color"}],"category":"VALIDATION_ERROR"}`,
		`{"message":"not valid: [{\"error\":\"INVALID_EMAIL\",\"name\":\"email\"}]"}`,
	} {
		a := prepared(t, ht.Options{})
		a.stub.Fail(faulttest.Respond(400).With(body).On("POST /crm/objects/"))
		expectKind(t, a.deliver(t), upstream.Rejected)
	}
}
