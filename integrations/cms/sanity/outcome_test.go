package sanity_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/cmstest"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/upstream"
)

// outcome is a row of the table in the package comment.
type outcome struct {
	fault sanitytest.Fault
	put   upstream.Kind // empty: Put succeeds all the same
	fetch upstream.Kind
	wait  time.Duration // Retry-After
	// calls is how many requests a Put makes; 0: one.
	calls int
}

const exists = `{"error":{"type":"mutationError","description":"failed","items":[{"error":{"type":"documentAlreadyExistsError","description":"taken","id":"x"},"index":0}]}}`

func outcomes() map[string]outcome {
	answer := func(status int) sanitytest.Fault { return sanitytest.Fault{Mode: sanitytest.Answer, Status: status} }
	mode := func(m sanitytest.Mode, acted bool) sanitytest.Fault { return sanitytest.Fault{Mode: m, Acted: acted} }
	page := func(status int) sanitytest.Fault { return sanitytest.Fault{Mode: sanitytest.HTML, Status: status} }
	after := func(f sanitytest.Fault, header string) sanitytest.Fault { f.RetryAfter = header; return f }
	with := func(f sanitytest.Fault, body string) sanitytest.Fault { f.Body = body; return f }
	acted := func(f sanitytest.Fault) sanitytest.Fault { f.Acted = true; return f }
	const (
		away     = upstream.Unavailable
		refused  = upstream.Refused
		rejected = upstream.Rejected
		limited  = upstream.Limited
	)
	return map[string]outcome{
		"time-out":                     {fault: mode(sanitytest.Hang, false), put: away, fetch: away},
		"time-out after storing":       {fault: mode(sanitytest.Hang, true), put: away, fetch: away},
		"reset before storing":         {fault: mode(sanitytest.Reset, false), put: away, fetch: away},
		"reset after storing":          {fault: mode(sanitytest.Reset, true), put: away, fetch: away},
		"cut off":                      {fault: mode(sanitytest.Truncated, false), put: away, fetch: away},
		"cut off after storing":        {fault: mode(sanitytest.Truncated, true), put: away, fetch: away},
		"slow drip":                    {fault: mode(sanitytest.Drip, false), put: away, fetch: away},
		"slow drip after storing":      {fault: mode(sanitytest.Drip, true), put: away, fetch: away},
		"oversized":                    {fault: mode(sanitytest.Oversized, true), put: away, fetch: away},
		"invalid JSON":                 {fault: mode(sanitytest.BrokenJSON, false), put: away, fetch: away},
		"invalid JSON after storing":   {fault: mode(sanitytest.BrokenJSON, true), put: away, fetch: away},
		"partial success":              {fault: mode(sanitytest.Partial, false), put: away, fetch: away, calls: 2},
		"partial answer after storing": {fault: mode(sanitytest.Partial, true), fetch: away, calls: 2},
		"a proxy's page":               {fault: page(200), put: away, fetch: away},
		"a proxy's 302":                {fault: page(302), put: away, fetch: away},
		"a proxy's 403":                {fault: page(403), put: away, fetch: away},
		"a proxy's 413":                {fault: page(413), put: away, fetch: away},
		"a proxy's 429":                {fault: after(page(429), "2"), put: limited, fetch: limited, wait: 2 * time.Second},
		"a proxy's 502":                {fault: page(502), put: away, fetch: away},
		"301":                          {fault: answer(301), put: away, fetch: away},
		"400":                          {fault: answer(400), put: rejected, fetch: rejected},
		"401":                          {fault: answer(401), put: refused, fetch: refused},
		"402":                          {fault: answer(402), put: refused, fetch: refused},
		"403":                          {fault: answer(403), put: refused, fetch: refused},
		"404":                          {fault: answer(404), put: refused, fetch: refused},
		"405":                          {fault: answer(405), put: rejected, fetch: rejected},
		"408":                          {fault: answer(408), put: away, fetch: away},
		"409, anything":                {fault: answer(409), put: away, fetch: away},
		"409, it does not exist":       {fault: with(answer(409), exists), put: away, fetch: away, calls: 2},
		"409, it exists":               {fault: acted(with(answer(409), exists)), fetch: away, calls: 2},
		"410":                          {fault: answer(410), put: rejected, fetch: rejected},
		"413":                          {fault: answer(413), put: rejected, fetch: rejected},
		"422":                          {fault: answer(422), put: rejected, fetch: rejected},
		"423":                          {fault: answer(423), put: away, fetch: away},
		"425":                          {fault: answer(425), put: away, fetch: away},
		"429":                          {fault: answer(429), put: limited, fetch: limited},
		"429, wait 7 s":                {fault: after(answer(429), "7"), put: limited, fetch: limited, wait: 7 * time.Second},
		"429, nonsense":                {fault: after(answer(429), "soon"), put: limited, fetch: limited},
		"500":                          {fault: answer(500), put: away, fetch: away},
		"502":                          {fault: answer(502), put: away, fetch: away},
		"503":                          {fault: answer(503), put: away, fetch: away},
		"503, wait 3 s":                {fault: after(answer(503), "3"), put: away, fetch: away, wait: 3 * time.Second},
		"504":                          {fault: answer(504), put: away, fetch: away},
		"500 of no shape":              {fault: with(answer(500), `[]`), put: away, fetch: away},
		"401 of no shape":              {fault: with(answer(401), ` `), put: refused, fetch: refused},
	}
}

// TestPutOutcomes checks for every fault what the queue of deliveries learns, and that
// after it has tried again there is exactly one document.
func TestPutOutcomes(t *testing.T) {
	t.Parallel()
	for name, tc := range outcomes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake := start(t, sanitytest.Options{})
			d := driver(t, lake, sanity.Options{Timeout: 400 * time.Millisecond})
			tc.fault.On = "mutate"
			lake.Fail(tc.fault)
			s := cmstest.Submission("abc")
			check(t, d.Put(t.Context(), s), tc.put, tc.wait)
			if n := len(lake.Requests()); n != max(tc.calls, 1) {
				t.Errorf("%d requests", n)
			}
			lake.Recover()
			if err := driver(t, lake, sanity.Options{}).Put(t.Context(), s); err != nil {
				t.Fatalf("after the target has recovered: %v", err)
			}
			if docs := lake.Documents(); len(docs) != 1 || docs["quoteSubmission.abc"] == nil {
				t.Errorf("%d documents are stored", len(docs))
			}
		})
	}
}

func TestFetchOutcomes(t *testing.T) {
	t.Parallel()
	for name, tc := range outcomes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake := start(t, sanitytest.Options{})
			replace(t, lake, `{"_id":"p","_type":"page"}`)
			d := driver(t, lake, sanity.Options{Timeout: 400 * time.Millisecond, Token: "none"})
			lake.Fail(tc.fault)
			_, err := d.Fetch(t.Context(), cms.Query{Types: []string{"page"}, Locale: "en"})
			check(t, err, tc.fetch, tc.wait)
			lake.Recover()
			d = driver(t, lake, sanity.Options{Token: "none"})
			docs, err := d.Fetch(t.Context(), cms.Query{Types: []string{"page"}, Locale: "en"})
			if err != nil || len(docs) != 1 {
				t.Errorf("after the CMS has recovered: %d documents, %v", len(docs), err)
			}
		})
	}
}

// TestOtherOutcomes checks that the remaining calls judge alike.
func TestOtherOutcomes(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *sanity.Driver) error{
		"Ping":    func(ctx context.Context, d *sanity.Driver) error { return d.Ping(ctx) },
		"Erase":   func(ctx context.Context, d *sanity.Driver) error { return d.Erase(ctx, []string{"a"}) },
		"Find":    func(ctx context.Context, d *sanity.Driver) error { _, err := d.Find(ctx, "a@example.com"); return err },
		"Missing": func(ctx context.Context, d *sanity.Driver) error { _, err := d.Missing(ctx, []string{"a"}); return err },
	} {
		for status, want := range map[int]upstream.Kind{401: upstream.Refused, 429: upstream.Limited, 422: upstream.Rejected, 503: upstream.Unavailable} {
			lake := start(t, sanitytest.Options{})
			lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: status})
			if err := call(t.Context(), driver(t, lake, sanity.Options{})); upstream.KindOf(err) != want || err == nil {
				t.Errorf("%s, %d: %v, want %s", name, status, err, want)
			}
		}
		lake := start(t, sanitytest.Options{})
		lake.Fail(sanitytest.Fault{Mode: sanitytest.Partial})
		if err := call(t.Context(), driver(t, lake, sanity.Options{})); err == nil || upstream.KindOf(err) != upstream.Unavailable {
			t.Errorf("%s, partial: %v", name, err)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	_ = l.Close()
	d, err := sanity.New(sanity.Options{ProjectID: "p", Dataset: "d", Token: "t", APIURL: address})
	if err != nil {
		t.Fatal(err)
	}
	check(t, d.Put(t.Context(), cmstest.Submission("abc")), upstream.Unavailable, 0)
}

// TestErrorsHoldNothingPersonal lets the far end echo all it was told.
func TestErrorsHoldNothingPersonal(t *testing.T) {
	t.Parallel()
	s := cmstest.Submission("abc")
	s.Contact.Company = "Foundry Works"
	echo := strings.Join([]string{s.Contact.FirstName, s.Contact.LastName, s.Contact.Email, s.Contact.Phone, s.Contact.Company, s.SessionID, sanitytest.DefaultToken}, " | ")
	for _, body := range []string{
		`{"error":{"type":"mutationError","description":` + quoted(echo) + `,"items":[{"error":{"type":"validationError","description":` + quoted(echo) + `}}]}}`,
		`{"statusCode":400,"error":"Bad Request","message":` + quoted(strings.ToUpper(echo)) + `}`,
		echo,
	} {
		lake := start(t, sanitytest.Options{})
		lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 400, Body: body})
		err := driver(t, lake, sanity.Options{}).Put(t.Context(), s)
		if err == nil {
			t.Fatal("no error")
		}
		for _, secret := range []string{"tefania", "Neill", "abc@", "example.com", "7946", "Foundry", "sess:", "stand-in-write"} {
			if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(secret)) {
				t.Errorf("%q is in %q", secret, err)
			}
		}
	}
}

// check compares an error with what is wanted of it.
func check(t *testing.T, err error, want upstream.Kind, wait time.Duration) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("got %v, want success", err)
		}
		return
	}
	var e *upstream.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *upstream.Error", err)
	}
	if e.Kind != want || e.RetryAfter != wait || e.System != "sanity" || e.Op == "" {
		t.Errorf("got %+v, want kind %s and a wait of %s", e, want, wait)
	}
}
