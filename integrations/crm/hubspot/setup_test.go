package hubspot_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"siteapi/integrations/crm"
	ht "siteapi/integrations/crm/hubspot/hubspottest"
	"siteapi/integrations/upstream"
)

func TestSetup(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	first, err := a.Setup(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	again, err := a.Setup(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 11 || len(again) != 11 {
		t.Fatalf("lines: %q, then %q", first, again)
	}
	for i := range first {
		if !strings.HasSuffix(first[i], ": created") || !strings.HasSuffix(again[i], ": exists already") {
			t.Errorf("%q, then %q", first[i], again[i])
		}
	}
	want := map[string]string{
		crm.PropMin: "number/number", crm.PropMax: "number/number", crm.PropSubmittedAt: "datetime/date", crm.PropFeatures: "string/textarea",
	}
	for _, name := range crm.QuoteProperties() {
		kind := want[name]
		if kind == "" {
			kind = "string/text"
		}
		if got := a.server.Defined(name); got != kind {
			t.Errorf("%s is %q, want %q", name, got, kind)
		}
	}
}

// TestSetupGoesOn makes sure that a set-up that broke off can be repeated.
func TestSetupGoesOn(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{}, true, nil)
	a.server.Define(crm.PropTimeline, "enumeration", "select", "soon")
	a.server.Define(crm.PropMin, "string", "text")
	pass := func(path string) int {
		return len(slices.DeleteFunc(a.server.Requests(), func(r ht.Request) bool { return r.Path != path || r.Status != 201 }))
	}
	a.server.Fail(ht.Oversized(2<<20).On(http.MethodGet, "/properties/"))
	lines, err := a.Setup(context.Background())
	expectKind(t, err, upstream.Unavailable)
	if done := pass("/crm/v3/properties/contacts"); len(lines) != done+1 || done == 0 {
		t.Errorf("%d lines for %d properties created: %q", len(lines), done, lines)
	}
	lines, err = a.Setup(context.Background())
	if err != nil || len(lines) != 11 {
		t.Fatalf("%q, %v", lines, err)
	}
	for _, want := range []string{"quote_timeline: exists already, as enumeration rather than string", "quote_min: exists already, as string rather than number"} {
		if !slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no line says %q: %q", want, lines)
		}
	}
}

func TestSetupRefused(t *testing.T) {
	t.Parallel()
	a := open(t, ht.Options{NoSchemas: true}, true, nil)
	lines, err := a.Setup(context.Background())
	e := expectKind(t, err, upstream.Refused)
	if len(lines) != 0 || !strings.Contains(e.Detail, "crm.schemas.contacts.write") {
		t.Errorf("%q, %q", lines, e.Detail)
	}
}
