package hubspot_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/crm/crmtest"
	"siteapi/integrations/crm/hubspot"
	ht "siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream"
)

// TestMissingAsksInBatches counts the requests for many addresses.
func TestMissingAsksInBatches(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	var emails []string
	for i := range 250 {
		emails = append(emails, crmtest.Visitor(i))
		a.server.Add(map[string]string{"email": crmtest.Visitor(i)})
	}
	got, err := a.Missing(context.Background(), append(emails, emails...))
	if err != nil || len(got) != 0 {
		t.Errorf("missing: %q, %v", got, err)
	}
	if n := len(a.server.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// TestMissingFails covers each fault of a batch read and of the look at one address.
func TestMissingFails(t *testing.T) {
	t.Parallel()
	for _, o := range outcomes() {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			t.Run(method+"/"+o.fault.Name, func(t *testing.T) {
				t.Parallel()
				a := open(t, ht.Options{}, true, facing(o.fault))
				a.server.Fail(o.fault.On(method, "/contacts"))
				got, err := a.Missing(context.Background(), []string{ana})
				if o.want == upstream.Limited && o.wait <= 20*time.Second {
					// Short limits are waited for.
					if err != nil || !slices.Equal(got, []string{ana}) || !slices.Equal(a.sleeps, []time.Duration{o.wait}) {
						t.Errorf("missing %q, %v, waits %v", got, err, a.sleeps)
					}
					return
				}
				expectKind(t, err, o.want)
			})
		}
	}
}

// TestMissingPartly covers batch reads that are not complete.
func TestMissingPartly(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"another error":      `{"status":"COMPLETE","results":[],"numErrors":1,"errors":[{"status":"error","category":"INTERNAL_ERROR"}]}`,
		"an error of fields": `{"results":[],"errors":[{}]}`,
		"no results":         `{"status":"PENDING"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, ht.Options{}, true, nil)
			a.server.Fail(ht.Answer(http.StatusMultiStatus, []byte(body)))
			_, err := a.Missing(context.Background(), []string{ana})
			expectKind(t, err, upstream.Unavailable)
		})
	}
}

// TestMissingWrongAddress makes sure that a wrong path does not read as all missing.
func TestMissingWrongAddress(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, func(o *hubspot.Options) { o.ObjectsPath = "/nowhere" })
	_, err := a.Missing(context.Background(), []string{ana})
	expectKind(t, err, upstream.Refused)
}

// TestMissingGivesUpWaiting covers a limit that never ends and a wait that is broken off.
func TestMissingGivesUpWaiting(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	a.server.Fail(ht.Limited("SECONDLY", "").Times(-1))
	_, err := a.Missing(context.Background(), []string{ana})
	expectKind(t, err, upstream.Limited)
	if len(a.sleeps) != 30 {
		t.Errorf("%d waits", len(a.sleeps))
	}

	real := open(t, ht.Options{}, true, func(o *hubspot.Options) { o.Sleep = nil })
	real.server.Fail(ht.Limited("TEN_SECONDLY_ROLLING", "").Times(-1))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = real.Missing(ctx, []string{ana})
	expectKind(t, err, upstream.Unavailable)
}

// TestMissingNeverAsksForNonsense makes sure that what is no address is missing and is
// not sent.
func TestMissingNeverAsksForNonsense(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	got, err := a.Missing(context.Background(), []string{"", "ana"})
	if err != nil || !slices.Equal(got, []string{"", "ana"}) || len(a.server.Requests()) != 0 {
		t.Errorf("missing %q, %v, after %d requests", got, err, len(a.server.Requests()))
	}
	if err := a.Erase(context.Background(), "ana"); err != nil || len(a.server.Requests()) != 0 {
		t.Errorf("erasing: %v, after %d requests", err, len(a.server.Requests()))
	}
}

// TestEraseFails covers each fault of the look and of the deletion: what is not erased
// is never reported as erased.
func TestEraseFails(t *testing.T) {
	t.Parallel()
	for _, o := range outcomes() {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			t.Run(method+"/"+o.fault.Name, func(t *testing.T) {
				t.Parallel()
				a := open(t, ht.Options{}, true, facing(o.fault))
				a.server.Add(map[string]string{"email": ana})
				a.server.Fail(o.fault.On(method, "/contacts"))
				err := a.Erase(context.Background(), ana)
				if method == http.MethodGet || o.fault.Name != "204" {
					expectKind(t, err, o.want)
				}
				patient := hubspot.New(hubspot.Options{BaseURL: a.server.URL(), Token: ht.Token})
				if err := patient.Erase(context.Background(), ana); err != nil || len(a.server.Contacts()) != 0 {
					t.Errorf("after recovery: %v, %d left", err, len(a.server.Contacts()))
				}
			})
		}
	}
}

// TestEraseNotFound covers 404 of the deletion: a contact that went meanwhile, and an
// endpoint that isn't there.
func TestEraseNotFound(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	a.server.Add(map[string]string{"email": ana})
	a.server.Fail(ht.Answer(404, nil).On(http.MethodPost, "/gdpr-delete"))
	expectKind(t, a.Erase(context.Background(), ana), upstream.Refused)
	a.server.Fail(ht.Answer(404, nil).AfterStoring().On(http.MethodPost, "/gdpr-delete"))
	if err := a.Erase(context.Background(), ana); err != nil {
		t.Errorf("erasing what went meanwhile: %v", err)
	}
}

// TestEraseByID makes sure that no address is sent to the endpoint that would block it.
func TestEraseByID(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	a.server.Add(map[string]string{"email": ana})
	if err := a.Erase(context.Background(), ana); err != nil {
		t.Fatal(err)
	}
	for _, r := range a.server.Requests() {
		if r.Method == http.MethodPost && strings.Contains(r.Body, "@") {
			t.Errorf("sent %s", r.Body)
		}
	}
}
