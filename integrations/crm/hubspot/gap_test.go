package hubspot_test

import (
	"context"
	"fmt"
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
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

// TestUnknownPropertiesAreCreated covers an account nobody has set up, with a token
// that may mend it.
func TestUnknownPropertiesAreCreated(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	if err := a.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
		t.Fatal(err)
	}
	expectOnce(t, a, false)
	if a.Gaps() != 0 || len(a.reported()) != 0 {
		t.Errorf("%d gaps: %q", a.Gaps(), a.reported())
	}
	if got := a.server.Defined(crm.PropMin); got != "number/number" {
		t.Errorf("%s is %q", crm.PropMin, got)
	}
}

// TestUnknownPropertiesAreLeftOut covers a token that may not create properties: new
// and known contacts arrive with the rest.
func TestUnknownPropertiesAreLeftOut(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{NoSchemas: true}, true, nil)
	a.server.Define(crm.PropMin, "number", "number")
	for i, change := range []func(*quote.Submission){nil, func(s *quote.Submission) { s.Estimate.Min, s.Contact.Phone = 1, "0723" }} {
		if err := a.Upsert(context.Background(), crmtest.Lead(ana, change)); err != nil {
			t.Fatal(err)
		}
		if want := int64(9 * (i + 1)); a.Gaps() != want || len(a.reported()) != int(want) {
			t.Errorf("%d gaps, %d reported, want %d", a.Gaps(), len(a.reported()), want)
		}
	}
	c, _ := a.server.Contact(ana)
	if c.Properties["quote_min"] != "1" || c.Properties["phone"] != "0723" || c.Properties["lastname"] != "Núñez" || len(c.Properties) != 6 {
		t.Errorf("contact: %v", c.Properties)
	}
	for _, gap := range a.reported() {
		if !strings.Contains(gap, "quote_") || strings.Contains(gap, "example.com") {
			t.Errorf("reported: %q", gap)
		}
	}
}

// TestNothingLeftToWrite covers an update of which HubSpot takes nothing.
func TestNothingLeftToWrite(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{NoSchemas: true}, true, nil)
	lead := crmtest.Lead(ana, nil)
	for range 2 {
		if err := a.Upsert(context.Background(), lead); err != nil {
			t.Fatal(err)
		}
	}
	if c, _ := a.server.Contact(ana); len(c.Properties) != 5 {
		t.Errorf("contact: %v", c.Properties)
	}
}

// TestRefusedValues covers an account that defines properties in its own way.
func TestRefusedValues(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	a.server.Define(crm.PropFeatures, "enumeration", "checkbox", "login", "search")
	a.server.Define(crm.PropTimeline, "enumeration", "select", "soon")
	a.server.Define(crm.PropPhone, "number", "number")
	if err := a.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
		t.Fatal(err)
	}
	c, _ := a.server.Contact(ana)
	if c.Properties[crm.PropFeatures] != "login;search" || c.Properties[crm.PropTimeline] != "" || c.Properties[crm.PropMax] != "1000000000" {
		t.Errorf("contact: %v", c.Properties)
	}
	if got := a.reported(); len(got) != 2 || !strings.Contains(got[0], "phone") || !strings.Contains(got[1], "INVALID_OPTION") {
		t.Errorf("reported: %q", got)
	}
}

// TestShapesOfUnknownProperties covers the forms in which HubSpot names a property it
// does not have.
func TestShapesOfUnknownProperties(t *testing.T) {
	t.Parallel()
	shapes := map[string]string{
		"in the message":       `{"status":"error","message":"Property values were not valid: [{\"isValid\":false,\"message\":\"Property \\\"quote_min\\\" does not exist\",\"error\":\"PROPERTY_DOESNT_EXIST\",\"name\":\"quote_min\"}]","category":"VALIDATION_ERROR"}`,
		"validation results":   `{"validationResults":[{"isValid":false,"error":"PROPERTY_DOESNT_EXIST","name":"quote_min"}],"status":"error","message":"Property values were not valid"}`,
		"errors with context":  `{"status":"error","errors":[{"message":"no such property","code":"PROPERTY_DOESNT_EXIST","context":{"propertyName":["quote_min"]}}]}`,
		"errors with in":       `{"errors":[{"code":"PROPERTY_DOESNT_EXIST","in":"quote_min"}]}`,
		"a sentence":           `{"message":"Property \"quote_min\" does not exist"}`,
		"the code and no name": `{"category":"PROPERTY_DOESNT_EXIST"}`,
		"not JSON":             `PROPERTY_DOESNT_EXIST`,
	}
	for name, body := range shapes {
		for _, status := range []int{400, 422} {
			t.Run(name+"/"+http.StatusText(status), func(t *testing.T) {
				t.Parallel()
				clock := &clock{at: time.Now()}
				a := open(t, ht.Options{}, false, func(o *hubspot.Options) { o.Now = clock.now })
				// The account has the property, so it may be one that is not known everywhere
				// yet; after a minute it is not.
				twice := ht.Answer(status, []byte(body)).On(http.MethodPost, "/objects/").Times(2)
				a.server.Fail(twice)
				expectKind(t, a.Upsert(context.Background(), crmtest.Lead(ana, nil)), upstream.Unavailable)
				clock.add(time.Minute)
				a.server.Fail(twice)
				if err := a.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
					t.Fatal(err)
				}
				c, ok := a.server.Contact(ana)
				if _, has := c.Properties["quote_min"]; !ok || has || c.Properties["firstname"] == "" {
					t.Errorf("contact: %v", c.Properties)
				}
				if a.Gaps() == 0 || !slices.ContainsFunc(a.reported(), func(s string) bool { return strings.Contains(s, "quote_min") }) {
					t.Errorf("reported: %q", a.reported())
				}
			})
		}
	}
}

// TestPropertiesCreatedBySomebodyElse covers leads that meet an account without the
// properties at the same moment: whoever comes second to create one must not take that
// for a gap.
func TestPropertiesCreatedBySomebodyElse(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			if err := a.Upsert(context.Background(), crmtest.Lead(fmt.Sprintf("at-once-%d@example.com", n), nil)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if a.Gaps() != 0 {
		t.Errorf("%d gaps: %q", a.Gaps(), a.reported())
	}
	for _, c := range a.server.Contacts() {
		if c.Properties[crm.PropMin] == "" || c.Properties[crm.PropPDFURL] == "" {
			t.Errorf("contact: %v", c.Properties)
		}
	}
}

// clock is one that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// TestForeignValidationErrors makes sure that what is not about a property sent is
// given up rather than tried for ever.
func TestForeignValidationErrors(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"another property": `{"errors":[{"code":"REQUIRED_FIELD","in":"favourite_colour"}],"category":"VALIDATION_ERROR"}`,
		"nothing at all":   `{}`,
		"a null":           `null`,
		"deep nesting":     strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, ht.Options{}, false, nil)
			a.server.Fail(ht.Answer(400, []byte(body)).On(http.MethodPost, "/objects/"))
			expectKind(t, a.Upsert(context.Background(), crmtest.Lead(ana, nil)), upstream.Rejected)
		})
	}
}

// TestNewPropertyNotKnownYet covers an account where a property that was just created
// is unknown for a moment.
func TestNewPropertyNotKnownYet(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	unknown := []byte(`{"errors":[{"code":"PROPERTY_DOESNT_EXIST","in":"quote_min"}]}`)
	a.server.Fail(ht.Answer(400, unknown).On(http.MethodPost, "/objects/").Times(2))
	e := expectKind(t, a.Upsert(context.Background(), crmtest.Lead(ana, nil)), upstream.Unavailable)
	if e.RetryAfter <= 0 {
		t.Error("no wait is asked for")
	}
	if err := a.Upsert(context.Background(), crmtest.Lead(ana, nil)); err != nil {
		t.Fatal(err)
	}
	expectOnce(t, a, false)
}

// TestCreatingPropertiesFails covers trouble while properties are created: the lead
// waits if it passes and goes without them if it does not.
func TestCreatingPropertiesFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault ht.Fault
		want  upstream.Kind // empty: the contact arrives
	}{
		{ht.Answer(500, nil), upstream.Unavailable},
		{ht.Limited("DAILY", ""), upstream.Limited},
		{ht.Reset(), upstream.Unavailable},
		{ht.Answer(400, nil), ""},
		{ht.Answer(401, nil), ""},
		{ht.Answer(403, nil), ""},
		{ht.Answer(404, nil), ""},
	} {
		for _, path := range []string{"/properties/contacts/groups", "/properties/contacts"} {
			t.Run(tt.fault.Name+path, func(t *testing.T) {
				t.Parallel()
				a := open(t, ht.Options{}, true, nil)
				a.server.Fail(tt.fault.On(http.MethodPost, path).Times(-1))
				err := a.Upsert(context.Background(), crmtest.Lead(ana, nil))
				if tt.want != "" {
					expectKind(t, err, tt.want)
					return
				}
				if c, ok := a.server.Contact(ana); err != nil || !ok || len(c.Properties) != 5 || a.Gaps() != 10 {
					t.Errorf("%v; contact %v, %d gaps", err, c.Properties, a.Gaps())
				}
			})
		}
	}
}
