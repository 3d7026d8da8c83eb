package hubspot_test

import (
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

// stageSetting sets HUBSPOT_DEAL_STAGE.
func stageSetting(value string) func(*hubspot.Options) {
	return func(o *hubspot.Options) { o.DealStage = value }
}

// onlyDeal returns the account's only deal, associated with the contact of Ana.
func (a *account) onlyDeal(t *testing.T, what string) ht.Record {
	t.Helper()
	deals := a.stub.Deals()
	if len(deals) != 1 || !slices.Equal(deals[0].Contacts, []string{ana}) {
		t.Fatalf("%s: deals %+v", what, deals)
	}
	return deals[0]
}

// TestRefusedDeals covers the failures that sales or operators have to end. Each has a
// sentence, and no deal is stored.
func TestRefusedDeals(t *testing.T) {
	t.Parallel()
	const unknown = "the account does not have this pipeline and stage"
	in := func(currency string) func(*lead.Lead) {
		return func(l *lead.Lead) { l.Estimate.Currency = currency }
	}
	for name, tc := range map[string]struct {
		options  ht.Options
		stage    string
		change   func(*lead.Lead)
		kind     upstream.Kind
		sentence string
	}{
		// A token has scopes of contacts by the former manual.
		"no scope to write": {ht.Options{Lacks: []string{"crm.objects.deals.write"}}, "default/closedwon", nil,
			upstream.Refused, "the token lacks a scope: MISSING_SCOPES aeb5f871-7f07-4993-9211-075dc63e7cbf crm.objects.deals.write"},
		"no scope to read": {ht.Options{Lacks: []string{"crm.objects.deals.read"}}, "default/closedwon", nil,
			upstream.Refused, "crm.objects.deals.read"},
		// Stages are typed by hand.
		"unknown stage":           {ht.Options{}, "default/nothing", nil, upstream.Refused, unknown},
		"unknown pipeline":        {ht.Options{}, "nothing/closedwon", nil, upstream.Refused, unknown},
		"an id with a label":      {ht.Options{}, "default/Closed Won", nil, upstream.Refused, unknown},
		"stage of another":        {ht.Options{}, "default/8813", nil, upstream.Refused, unknown},
		"no slash":                {ht.Options{}, "closedwon", nil, upstream.Refused, unknown},
		"archived pipeline":       {ht.Options{}, "8820/8821", nil, upstream.Refused, "is archived"},
		"archived, by its labels": {ht.Options{}, "Old/New", nil, upstream.Refused, "is archived"},
		// Visitors choose the currency of the site, which the account may not have.
		"currency": {ht.Options{}, "default/closedwon", in("BRL"), upstream.Rejected, "does not have the currency of the quote"},
		"required by the account": {ht.Options{Required: []string{"deals.budget"}}, "default/closedwon", nil,
			upstream.Rejected, "the account requires the property budget: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := preparedAccount(t, tc.options, stageSetting(tc.stage), version("2026-09"))
			_, err := a.Upsert(t.Context(), crmtest.Contact(ana, tc.change))
			e := expectKind(t, err, tc.kind)
			if !strings.Contains(e.Detail, tc.sentence) || len(a.stub.Deals()) != 0 {
				t.Errorf("%q, %d deals", e.Detail, len(a.stub.Deals()))
			}
			if a.stub.Contact(ana) == nil {
				t.Error("the contact is missing")
			}
		})
	}
}

// preparedAccount starts a stub with the quote properties, which another token created.
func preparedAccount(t *testing.T, so ht.Options, change ...func(*hubspot.Options)) *account {
	t.Helper()
	a := prepared(t, ht.Options{}, change...)
	a.stub.Restrict(so)
	return a
}

// TestStageByIDsAndLabels finds stages however they are named.
func TestStageByIDsAndLabels(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"default/appointmentscheduled":         "default appointmentscheduled",
		"Sales Pipeline/Appointment Scheduled": "default appointmentscheduled",
		"sales pipeline/appointment scheduled": "default appointmentscheduled",
		"Sales Pipeline/Closed Won":            "default closedwon",
		" default/closedwon ":                  "default closedwon",
		"Web/Quotes/New":                       "8812 8813", // a label with a slash
		"8812/8813":                            "8812 8813",
		"8812/8814":                            "8812 8814",
		" WEB/QUOTES/New ":                     "8812 8813",
		"web/quotes/won":                       "8812 8814",
	} {
		a := prepared(t, ht.Options{}, stageSetting(setting))
		if err := a.deliver(t); err != nil {
			t.Errorf("%q: %v", setting, err)
			continue
		}
		p := a.onlyDeal(t, setting).Properties
		if got := p["pipeline"] + " " + p["dealstage"]; got != want {
			t.Errorf("%q: %s, want %s", setting, got, want)
		}
	}
}

// TestUnpreparedDeals covers an account whose deals lack the quote properties. A deal is
// never stored without the property that recognizes it.
func TestUnpreparedDeals(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, withDeals)
	must(t, a.deliver(t))
	a.onlyDeal(t, "a token that may create properties")

	a = open(t, ht.Options{Lacks: []string{"crm.schemas.deals"}}, withDeals)
	e := expectKind(t, a.deliver(t), upstream.Refused)
	if !strings.Contains(e.Detail, "no unique property quote_submission_id of deals") || len(a.stub.Deals()) != 0 {
		t.Errorf("%q, %d deals", e.Detail, len(a.stub.Deals()))
	}

	// Other properties may be missing.
	a = preparedAccount(t, ht.Options{Lacks: []string{"crm.schemas"}}, withDeals)
	a.stub.Fail(faulttest.Respond(400).On("POST /deals").With(
		`{"message":"not valid: [{\"error\":\"INVALID_OPTION\",\"name\":\"quote_complexity\"}]"}`))
	must(t, a.deliver(t))
	if p := a.onlyDeal(t, "").Properties; p["quote_complexity"] != "" || p["quote_timeline"] == "" ||
		!strings.Contains(strings.Join(a.omitted, " "), "quote_complexity") {
		t.Errorf("%v, omitted %q", p, a.omitted)
	}

	// A property that people created is not unique. The check names it.
	a = open(t, ht.Options{}, withDeals)
	a.stub.Define("deals", "quote_submission_id")
	if _, err := a.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if missing, err := a.Unprepared(t.Context()); err != nil || !slices.Equal(missing, []string{"deals.quote_submission_id"}) {
		t.Errorf("%q, %v", missing, err)
	}
	expectKind(t, a.deliver(t), upstream.Unavailable)
	if n := len(a.stub.Deals()); n != 0 {
		t.Errorf("%d deals", n)
	}
}

// TestUnprepared names what the account lacks and what prevents deals, before a lead does.
func TestUnprepared(t *testing.T) {
	t.Parallel()
	for stage, want := range map[string]string{
		"default/closedwon": "",
		"default/nothing":   "does not have this pipeline and stage",
		"Old/New":           "is archived",
	} {
		missing, err := preparedAccount(t, ht.Options{}, stageSetting(stage)).Unprepared(t.Context())
		if len(missing) != 0 || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", stage, missing, err)
		}
	}

	a := open(t, ht.Options{})
	quote := slices.DeleteFunc(crm.Properties(), func(p crm.Property) bool { return !p.Quote() })
	missing, err := a.Unprepared(t.Context()) // deals are off
	if err != nil || len(missing) != len(quote) || !slices.Contains(missing, "contacts.quote_message") {
		t.Errorf("a new account: %q, %v", missing, err)
	}

	for _, lacked := range []string{
		"crm.objects.contacts.write", "crm.schemas.contacts.read",
		"crm.objects.deals.read", "crm.objects.deals.write", "crm.schemas.deals.read",
	} {
		_, err := preparedAccount(t, ht.Options{Lacks: []string{lacked}}, withDeals).Unprepared(t.Context())
		if e := expectKind(t, err, upstream.Refused); !strings.Contains(e.Detail, "the token lacks a scope") ||
			!strings.Contains(e.Detail, lacked) {
			t.Errorf("without %s: %v", lacked, e)
		}
	}

	a = open(t, ht.Options{Lacks: []string{"crm.objects.deals", "crm.schemas.deals"}})
	lines, err := a.Setup(t.Context()) // deals are off
	if last := lines[len(lines)-1]; err != nil || !strings.Contains(last, "deals are off, and their stages cannot be listed") {
		t.Errorf("%q, %v", last, err)
	}
	lines, err = open(t, ht.Options{}, withDeals).Setup(t.Context())
	if err != nil || !slices.Contains(lines, "property deals.quote_contact_email: created") ||
		!slices.Contains(lines, "stage of deals: Web/Quotes/New (8812/8813)") || strings.Contains(strings.Join(lines, "\n"), "Old/") {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestDeletedDeals covers deals that people deleted. HubSpot may refuse the unique value
// of a deal in the recycling bin.
func TestDeletedDeals(t *testing.T) {
	t.Parallel()
	a := prepared(t, ht.Options{}, withDeals)
	must(t, a.deliver(t))
	a.stub.Remove(crmtest.FirstID)
	e := expectKind(t, a.deliver(t), upstream.Unavailable)
	if !strings.Contains(e.Detail, "recycling bin") || len(a.stub.Deals()) != 1 {
		t.Errorf("%q, %+v", e.Detail, a.stub.Deals())
	}

	// The contact or the deal disappears before they are associated.
	a = prepared(t, ht.Options{}, withDeals)
	a.stub.Fail(faulttest.Respond(404).On("PUT /associations"))
	expectKind(t, a.deliver(t), upstream.Unavailable)
}

// TestErasureOfDealsFails checks that a failure is reported, that nothing personal is left
// after a repetition, and that no deal is deleted before it is cleared. The erasure waits
// for short rate limits.
func TestErasureOfDealsFails(t *testing.T) {
	t.Parallel()
	for on, address := range map[string]string{ // that the deal has after the failure
		"POST /search":         ana,
		"POST /batch/read":     ana,
		"GET /contacts":        ana,
		"PATCH /deals":         ana,
		"DELETE /associations": "",
		"DELETE /deals":        "",
	} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			a := prepared(t, ht.Options{}, withDeals)
			must(t, a.deliver(t))
			erase := func() error {
				_, err := a.EraseDeals(t.Context(), crm.Erasure{
					Emails: []string{ana},
					Leads:  map[string]lead.Records{crmtest.FirstID: {}},
				})
				return err
			}
			a.stub.Fail(faulttest.Respond(503).On(on))
			expectKind(t, erase(), upstream.Unavailable)
			if deal := a.stub.Deals()[0]; deal.InBin || deal.Properties["quote_contact_email"] != address {
				t.Errorf("after the failure: %+v", deal)
			}

			a.stub.Fail(ht.Limited("SECONDLY", "").On(on))
			must(t, erase())
			deal := a.stub.Deals()[0]
			if !deal.InBin || len(deal.Contacts) != 0 || deal.Properties["dealname"] != "Quote 5F0C2D34" {
				t.Errorf("after recovery: %+v", deal)
			}
		})
	}
}

// TestManyDealsOfAPerson erases more deals than HubSpot returns at once.
func TestManyDealsOfAPerson(t *testing.T) {
	t.Parallel()
	a := prepared(t, ht.Options{}, withDeals)
	for i := range 130 {
		a.stub.Add(map[string]string{
			"quote_submission_id": strings.Repeat("x", i+1),
			"quote_contact_email": ana,
			"dealstage":           "appointmentscheduled",
		}, time.Now())
	}
	all, err := a.EraseDeals(t.Context(), crm.Erasure{Emails: []string{ana}})
	if len(all) != 130 || err != nil {
		t.Errorf("%d deals, %v", len(all), err)
	}
	if deals := a.stub.Deals(); slices.ContainsFunc(deals, func(d ht.Record) bool { return !d.InBin }) {
		t.Error("some deals still exist")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestErasureByRecords finds records by the ids that deliveries stored, after people changed
// or merged them.
func TestErasureByRecords(t *testing.T) {
	t.Parallel()
	const dan = "dan@example.com"
	for name, tc := range map[string]struct {
		change        func(a *account)
		contact, deal crm.Fate
	}{
		"another address": {func(a *account) {
			a.stub.Edit(ana, map[string]string{"email": "new@example.com"}, time.Now())
		}, crm.Cleared, crm.Deleted},
		"merged into an old customer": {func(a *account) {
			a.stub.Merge(ana, dan)
		}, crm.Cleared, crm.Deleted},
		"the old customer merged into it": {func(a *account) {
			a.stub.Merge(dan, ana)
		}, crm.Cleared, crm.Deleted},
		"the deal lost our id": {func(a *account) {
			a.stub.Edit(crmtest.FirstID, map[string]string{"quote_submission_id": ""}, time.Now())
		}, crm.Deleted, crm.Deleted},
		"deals were turned off since": {func(a *account) {
			a.DealStage = ""
		}, crm.Deleted, crm.Deleted},
		"another account has a deal with this id": {func(a *account) {
			empty := crm.ErasedDeal("")
			empty["quote_submission_id"] = ""
			a.stub.Edit(crmtest.FirstID, empty, time.Now())
		}, crm.Deleted, crm.Foreign},
		"people deleted both": {func(a *account) {
			a.stub.Remove(ana)
			a.stub.Remove(crmtest.FirstID)
		}, crm.Foreign, crm.Foreign},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := prepared(t, ht.Options{}, withDeals)
			a.stub.Add(map[string]string{"email": dan, "firstname": "Dan"}, time.Now())
			made, err := a.Upsert(t.Context(), crmtest.Contact(ana, nil))
			must(t, err)
			tc.change(a)

			e := crm.Erasure{Emails: []string{ana}, Leads: map[string]lead.Records{crmtest.FirstID: made}}
			deals, err := a.EraseDeals(t.Context(), e)
			contacts, err2 := a.EraseContacts(t.Context(), e)
			fate := func(all []crm.Erased) crm.Fate {
				if len(all) == 0 {
					return crm.Foreign
				}
				return all[0].Fate
			}
			if err != nil || err2 != nil || fate(deals) != tc.deal || fate(contacts) != tc.contact {
				t.Errorf("deals %+v, %v, contacts %+v, %v", deals, err, contacts, err2)
			}
			for _, c := range a.stub.Contacts() {
				if c.Properties["quote_contact_phone"]+c.Properties["quote_pdf_url"] != "" {
					t.Errorf("after the erasure: %v", c.Properties)
				}
			}
			if c := a.stub.Contact(dan); c["firstname"] == "" {
				t.Errorf("the other contact: %v", c)
			}
		})
	}
}

// TestPagesOfRecords names the pages of a lead's records, with the account's own details. A
// token without the right to read these stores leads all the same.
func TestPagesOfRecords(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options ht.Options
		version string
		page    string
	}{
		"dated version":     {ht.Options{}, "2026-03", "https://app-eu1.hubspot.com/contacts/4711/record/"},
		"v3":                {ht.Options{}, "v3", "https://app-eu1.hubspot.com/contacts/4711/record/"},
		"without the right": {ht.Options{Lacks: []string{"oauth"}}, "2026-03", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := preparedAccount(t, tc.options, withDeals, version(tc.version))
			for range 2 {
				made, err := a.Upsert(t.Context(), crmtest.Contact(ana, nil))
				contact, deal := a.stub.Contacts()[0].ID, a.stub.Deals()[0].ID
				want := lead.Records{Contact: lead.Record{ID: contact}, Deal: lead.Record{ID: deal}}
				if tc.page != "" {
					want.Contact.URL, want.Deal.URL = tc.page+"0-1/"+contact, tc.page+"0-3/"+deal
				}
				if err != nil || made != want {
					t.Errorf("%+v, %v, want %+v", made, err, want)
				}
			}
			asked := 0
			for _, r := range a.stub.Requests() {
				asked += strings.Count(r.Path, "account-info")
			}
			if asked != 1 {
				t.Errorf("the account was asked %d times", asked)
			}
		})
	}
}
