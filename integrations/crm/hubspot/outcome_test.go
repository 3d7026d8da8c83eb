package hubspot_test

import (
	"context"
	"maps"
	"net/http"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/crm/hubspot"
	ht "siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream"
)

// outcomes is the table of the package comment: a fault, what it means to the caller
// and how long HubSpot wants to be left alone. An empty kind: the lead is stored all
// the same.
func outcomes() []struct {
	fault ht.Fault
	want  upstream.Kind
	wait  time.Duration
} {
	return []struct {
		fault ht.Fault
		want  upstream.Kind
		wait  time.Duration
	}{
		{ht.Hang(), upstream.Unavailable, 0},
		{ht.Hang().AfterStoring(), upstream.Unavailable, 0},
		{ht.Reset(), upstream.Unavailable, 0},
		{ht.Reset().AfterStoring(), upstream.Unavailable, 0},
		{ht.Drip(time.Millisecond), upstream.Unavailable, 0},
		{ht.Drip(time.Millisecond).AfterStoring(), upstream.Unavailable, 0},
		{ht.Garbage(), upstream.Unavailable, 0},
		{ht.Garbage().AfterStoring(), upstream.Unavailable, 0},
		{ht.Oversized(1 << 17), upstream.Unavailable, 0},
		{ht.Oversized(1 << 17).AfterStoring(), upstream.Unavailable, 0},
		{ht.Empty(200), upstream.Unavailable, 0},
		{ht.Answer(204, []byte{}), upstream.Unavailable, 0},
		{ht.Answer(302, nil), upstream.Unavailable, 0},
		{ht.Answer(400, nil), upstream.Rejected, 0},
		{ht.Answer(401, nil), upstream.Refused, 0},
		{ht.Answer(402, nil), upstream.Refused, 0},
		{ht.Answer(403, nil), upstream.Refused, 0},
		{ht.Empty(403), upstream.Refused, 0},
		{ht.Answer(405, nil), upstream.Refused, 0},
		{ht.Answer(408, nil), upstream.Unavailable, 0},
		{ht.Answer(409, nil), upstream.Unavailable, 0},
		{ht.Empty(409), upstream.Unavailable, 0},
		{ht.Answer(410, nil), upstream.Refused, 0},
		{ht.Answer(413, nil), upstream.Rejected, 0},
		{ht.Answer(422, nil), upstream.Rejected, 0},
		{ht.Answer(423, nil), upstream.Unavailable, 2 * time.Second},
		{ht.Limited("DAILY", ""), upstream.Limited, time.Hour},
		{ht.Limited("DAILY", "7200"), upstream.Limited, 2 * time.Hour},
		{ht.Limited("TEN_SECONDLY_ROLLING", ""), upstream.Limited, 10 * time.Second},
		{ht.Limited("TEN_SECONDLY_ROLLING", "3"), upstream.Limited, 3 * time.Second},
		{ht.Limited("SECONDLY", ""), upstream.Limited, time.Second},
		{ht.Limited("SECONDLY", "5"), upstream.Limited, 5 * time.Second},
		{ht.Limited("", ""), upstream.Limited, 10 * time.Second},
		{ht.Empty(429), upstream.Limited, 10 * time.Second},
		{ht.Answer(429, []byte("slow down")), upstream.Limited, 10 * time.Second},
		{ht.Answer(429, []byte(`{"policyName":7,"message":["x"]}`)), upstream.Limited, 10 * time.Second},
		{ht.Answer(477, nil), upstream.Unavailable, 0},
		{ht.Answer(500, nil), upstream.Unavailable, 0},
		{ht.Answer(500, nil).AfterStoring(), upstream.Unavailable, 0},
		{ht.Answer(500, []byte("<html>ana@example.com</html>")), upstream.Unavailable, 0},
		{ht.Answer(502, nil), upstream.Unavailable, 0},
		{ht.Answer(502, nil).AfterStoring(), upstream.Unavailable, 0},
		{ht.Answer(503, nil), upstream.Unavailable, 0},
		{ht.Answer(504, nil), upstream.Unavailable, 0},
		{ht.Answer(504, nil).AfterStoring(), upstream.Unavailable, 0},
		{ht.Answer(524, nil), upstream.Unavailable, 0},
	}
}

// facing makes a driver quick to notice a fault. Without kept connections Go's transport
// does not repeat a read whose connection was reset, so what the driver makes of it shows.
func facing(f ht.Fault) func(*hubspot.Options) {
	return func(o *hubspot.Options) {
		o.MaxBody = 64 << 10
		o.Transport = &http.Transport{DisableKeepAlives: true}
		if f.Waits() {
			o.Timeout = 150 * time.Millisecond
		}
	}
}

// TestOutcomes lets each request that a lead takes fail in each way, for a new and for
// a known contact, and then lets the lead arrive: once, with the right values.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	stages := []struct {
		name, method string
		known        bool
	}{
		{"reading a new contact", http.MethodGet, false},
		{"creating", http.MethodPost, false},
		{"reading a known contact", http.MethodGet, true},
		{"updating", http.MethodPatch, true},
	}
	for _, stage := range stages {
		for _, o := range outcomes() {
			t.Run(stage.name+"/"+o.fault.Name, func(t *testing.T) {
				t.Parallel()
				a := open(t, ht.Options{}, true, facing(o.fault))
				patient := hubspot.New(hubspot.Options{BaseURL: a.server.URL(), Token: ht.Token})
				if _, err := patient.Setup(context.Background()); err != nil {
					t.Fatal(err)
				}
				if stage.known {
					a.server.Add(map[string]string{"email": ana, "firstname": "Before", "lifecyclestage": "customer"})
				}
				a.server.Fail(o.fault.On(stage.method, "/contacts"))
				e := expectKind(t, a.Upsert(context.Background(), crmtest.Lead(ana, nil)), o.want)
				if e.RetryAfter != o.wait {
					t.Errorf("to be tried again after %v, want %v", e.RetryAfter, o.wait)
				}
				for range 2 {
					if err := patient.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
						t.Fatalf("after recovery: %v", err)
					}
				}
				expectOnce(t, a, stage.known)
			})
		}
	}
}

// expectOnce makes sure that there is one contact, with the values of the lead.
func expectOnce(t *testing.T, a *account, known bool) {
	t.Helper()
	all := a.server.Contacts()
	if len(all) != 1 {
		t.Fatalf("there are %d contacts", len(all))
	}
	want := crmtest.Want(ana)
	want[crm.PropSubmittedAt] = "2026-01-31T09:30:00Z"
	if known {
		want["lifecyclestage"] = "customer"
	}
	if !maps.Equal(all[0].Properties, want) {
		t.Errorf("got  %v\nwant %v", all[0].Properties, want)
	}
}

// TestNotFound covers 404, which means another thing at each step.
func TestNotFound(t *testing.T) {
	t.Parallel()
	t.Run("of a read, the contact is created", func(t *testing.T) {
		t.Parallel()
		a := open(t, ht.Options{}, false, nil)
		a.server.Fail(ht.Empty(404).On(http.MethodGet, "/contacts"))
		if err := a.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
			t.Fatal(err)
		}
		expectOnce(t, a, false)
	})
	t.Run("of a read although there is one, that one is updated", func(t *testing.T) {
		t.Parallel()
		a := open(t, ht.Options{}, false, nil)
		a.server.Add(map[string]string{"email": ana, "lifecyclestage": "customer"})
		a.server.Fail(ht.Empty(404).On(http.MethodGet, "/contacts"))
		if err := a.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
			t.Fatal(err)
		}
		expectOnce(t, a, true)
	})
	t.Run("of a creation, the address of the API is wrong", func(t *testing.T) {
		t.Parallel()
		a := open(t, ht.Options{}, false, nil)
		a.server.Fail(ht.Answer(404, nil).On(http.MethodPost, "/contacts"))
		expectKind(t, a.Upsert(context.Background(), crmtest.Lead(ana, nil)), upstream.Refused)
	})
	t.Run("of an update, the contact went meanwhile", func(t *testing.T) {
		t.Parallel()
		a := open(t, ht.Options{}, false, nil)
		a.server.Add(map[string]string{"email": ana})
		a.server.Fail(ht.Answer(404, nil).On(http.MethodPatch, "/contacts"))
		expectKind(t, a.Upsert(context.Background(), crmtest.Lead(ana, nil)), upstream.Unavailable)
	})
	t.Run("of the contact a conflict named, it went meanwhile", func(t *testing.T) {
		t.Parallel()
		a := open(t, ht.Options{}, false, nil)
		a.server.Fail(ht.Answer(409, []byte(`{"message":"Contact already exists. Existing ID: 4711"}`)).On(http.MethodPost, "/contacts"))
		expectKind(t, a.Upsert(context.Background(), crmtest.Lead(ana, nil)), upstream.Unavailable)
	})
}

// TestInvalidAddress makes sure that an address HubSpot refuses is given up, whatever
// else is wrong, and not quoted.
func TestInvalidAddress(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{true, false} {
		a := open(t, ht.Options{NoSchemas: bare}, bare, nil)
		e := expectKind(t, a.Upsert(context.Background(), crmtest.Lead("ana@example.com, b", nil)), upstream.Rejected)
		if e.Status != 400 {
			t.Errorf("status %d", e.Status)
		}
	}
}

// TestWrongToken makes sure that an operator learns what is wanting.
func TestWrongToken(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{ReadOnly: true}, false, nil)
	e := expectKind(t, a.Upsert(context.Background(), crmtest.Lead(ana, nil)), upstream.Refused)
	if want := "MISSING_SCOPES crm.objects.contacts.write"; len(e.Detail) < len(want) || e.Detail[:len(want)] != want {
		t.Errorf("detail %q", e.Detail)
	}
}

// TestSecondaryAddress makes sure that a lead from a contact's second address updates
// it and leaves its primary address alone.
func TestSecondaryAddress(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, false, nil)
	a.server.Add(map[string]string{"email": "primary@example.com"})
	a.server.AddSecondary("primary@example.com", ana)
	hidden := ht.Empty(404).On(http.MethodGet, "/contacts/") // as if reads knew primary addresses only
	for _, faults := range [][]ht.Fault{nil, {hidden}} {
		a.server.Fail(faults...)
		if err := a.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
			t.Fatal(err)
		}
	}
	all := a.server.Contacts()
	if len(all) != 1 || all[0].Properties["email"] != "primary@example.com" || all[0].Properties["firstname"] != "Ștefania" {
		t.Errorf("contacts: %v", all)
	}
	if missing, err := a.Missing(context.Background(), []string{ana}); err != nil || len(missing) != 0 {
		t.Errorf("missing: %q, %v", missing, err)
	}
	if err := a.Erase(context.Background(), ana); err != nil || len(a.server.Contacts()) != 0 {
		t.Errorf("erasing: %v, %d left", err, len(a.server.Contacts()))
	}
}

// TestRandomFailures upserts leads while half of all requests fail and tries again as
// the queue would.
func TestRandomFailures(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, false, nil)
	failing := hubspot.New(hubspot.Options{BaseURL: a.server.URL(), Token: ht.Token})
	a.server.FailAtRandom(0.5, 7)
	const leads = 40
	for i := range leads {
		lead := crmtest.Lead(crmtest.Visitor(i), nil)
		tries := 1
		for ; failing.Upsert(context.Background(), lead) != nil; tries++ {
			if tries == 200 {
				t.Fatal("a lead never arrives")
			}
		}
	}
	a.server.Recover()
	if n := len(a.server.Contacts()); n != leads {
		t.Errorf("there are %d contacts, want %d", n, leads)
	}
	for i := range leads {
		if c, _ := a.server.Contact(crmtest.Visitor(i)); c.Properties["quote_max"] != "1000000000" {
			t.Errorf("contact %d: %v", i, c.Properties)
		}
	}
}
