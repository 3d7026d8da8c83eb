package sanity_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/cmstest"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/upstream"
	"siteapi/integrations/upstream/faulttest"
)

var pageQuery = cms.Query{Types: []string{"page"}}

func TestConformance(t *testing.T) {
	t.Parallel()
	cmstest.Run(t, func(t *testing.T) cmstest.Subject {
		stub := start(t, sanitytest.Options{Private: true})
		return cmstest.Subject{
			Driver:  driver(t, stub, sanity.Options{}),
			Replace: func(t testing.TB, docs ...string) { replace(t, stub, docs...) },
			Stored: func(testing.TB) map[string]json.RawMessage {
				stored := stub.Documents()
				maps.DeleteFunc(stored, func(id string, _ json.RawMessage) bool {
					return !strings.HasPrefix(id, "quoteSubmission.")
				})
				return stored
			},
		}
	})
}

func start(t testing.TB, opts sanitytest.Options, docs ...string) *sanitytest.Server {
	t.Helper()
	stub := sanitytest.New(opts)
	t.Cleanup(stub.Close)
	replace(t, stub, docs...)
	return stub
}

func replace(t testing.TB, stub *sanitytest.Server, docs ...string) {
	t.Helper()
	var raws []json.RawMessage
	for _, text := range docs {
		raws = append(raws, json.RawMessage(text))
	}
	if err := stub.Replace(raws...); err != nil {
		t.Fatal(err)
	}
}

// driver returns a driver for a stub. It uses the stub's token unless opts contains
// another; "none" means no token.
func driver(t testing.TB, stub *sanitytest.Server, opts sanity.Options) *sanity.Driver {
	t.Helper()
	opts.ProjectID, opts.Dataset, opts.APIURL =
		sanitytest.Project, sanitytest.Dataset, stub.URL()

	switch opts.Token {
	case "":
		opts.Token = sanitytest.Token
	case "none":
		opts.Token = ""
	}

	opts.APIVersion = cmp.Or(opts.APIVersion, "2025-02-19")
	return sanity.New(opts)
}

// check compares the kind of an error. An empty kind means no error.
func check(t *testing.T, err error, want upstream.Kind) *upstream.Error {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Fatalf("got %v", err)
		}
		return nil
	}

	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Kind != want || e.System != "sanity" || e.Op == "" {
		t.Fatalf("got %v, want an *upstream.Error, %s", err, want)
	}

	for _, private := range []string{"abc@example.com", "Țurcanu", sanitytest.Token} {
		if strings.Contains(err.Error(), private) {
			t.Errorf("the error contains %q: %v", private, err)
		}
	}
	return e
}

func TestRequests(t *testing.T) {
	t.Parallel()
	stub := start(t, sanitytest.Options{})
	d := driver(t, stub, sanity.Options{APIVersion: "v2023-05-05"})
	check(t, d.Put(t.Context(), cmstest.Lead("abc")), "")
	if put := stub.Requests()[0]; put.Path != "/v2023-05-05/data/mutate/production" {
		t.Errorf("sent %+v", put)
	}

	if found, err := d.Find(t.Context(), "ABC@example.com"); err != nil || len(found) != 1 {
		t.Errorf("%q, %v", found, err)
	}
	if find := stub.Requests()[1]; strings.Contains(find.Params.Encode(), "abc") {
		t.Errorf("the address is in the URL: %+v", find)
	}
}

// TestOutcomes checks the error of every fault, and that a retry leaves exactly one
// document.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	faults := map[upstream.Kind][]faulttest.Fault{
		upstream.Unavailable: {
			faulttest.Of(faulttest.Partial),
			faulttest.Of(faulttest.Partial).AfterActing(),
			faulttest.Of(faulttest.Reset).AfterActing(),
			faulttest.Of(faulttest.BrokenJSON),
			faulttest.Respond(500).With(`[]`),
		},
		upstream.Limited: {faulttest.Page(429)},
		upstream.Refused: {faulttest.Respond(401).With(` `)},
	}
	for _, body := range []string{ // claims success without a result
		`{"result":null}`, `{"ms":1}`, `{"result":{}}`, `{"result":[1]}`,
		"{\"result\":[{\"_id\":\"a\",\"_type\":\"page\",\"t\":\"\xff\"}]}",
	} {
		faults[upstream.Unavailable] = append(faults[upstream.Unavailable], faulttest.Respond(200).With(body))
	}
	for _, status := range []int{200, 302, 403, 413, 502} { // sent by a proxy
		faults[upstream.Unavailable] = append(faults[upstream.Unavailable], faulttest.Page(status))
	}
	for kind, statuses := range map[upstream.Kind][]int{
		upstream.Unavailable: {301, 408, 409, 423, 425, 500, 503},
		upstream.Rejected:    {400, 405, 410, 413, 422},
		upstream.Refused:     {401, 402, 403, 404},
		upstream.Limited:     {429},
	} {
		for _, status := range statuses {
			faults[kind] = append(faults[kind], faulttest.Respond(status))
		}
	}

	for kind, faults := range faults {
		for _, fault := range faults {
			t.Run(fault.String(), func(t *testing.T) {
				t.Parallel()
				stub := start(t, sanitytest.Options{}, `{"_id":"p","_type":"page"}`)
				d, l := driver(t, stub, sanity.Options{}), cmstest.Lead("abc")
				stub.Fail(fault.On("mutate").RetryAfter("7"))

				e := check(t, d.Put(t.Context(), l), kind)
				if kind == upstream.Limited && e.RetryAfter != 7*time.Second {
					t.Errorf("Retry-After is %s", e.RetryAfter)
				}
				check(t, d.Put(t.Context(), l), "")
				if docs := stub.Documents(); len(docs) != 2 || docs["quoteSubmission.abc"] == nil {
					t.Errorf("%d documents", len(docs))
				}

				stub.Fail(fault.On("query").Times(-1))
				_, err := d.Fetch(t.Context(), pageQuery)
				check(t, err, kind)
			})
		}
	}
}

// TestToken reads and writes with tokens that lack permissions. A public dataset is read
// without a token, too.
func TestToken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		token            string
		private          bool
		fetch, ping, put upstream.Kind
	}{
		{"revoked", false, "", upstream.Refused, upstream.Refused},
		{"revoked", true, upstream.Refused, upstream.Refused, upstream.Refused},
		{"reader", true, "", "", upstream.Refused},
		{"none", false, "", "", upstream.Refused},
	} {
		t.Run(tt.token, func(t *testing.T) {
			t.Parallel()
			stub := start(t, sanitytest.Options{ReadToken: "reader", Private: tt.private}, `{"_id":"p","_type":"page"}`)
			d := driver(t, stub, sanity.Options{Token: tt.token})

			docs, err := d.Fetch(t.Context(), pageQuery)
			if check(t, err, tt.fetch); err == nil && len(docs) != 1 {
				t.Errorf("%d documents", len(docs))
			}
			check(t, d.Ping(t.Context()), tt.ping)
			check(t, d.Put(t.Context(), cmstest.Lead("a")), tt.put)
			check(t, d.Erase(t.Context(), []string{"a"}), tt.put)
			if n := len(stub.Requests()); tt.token == "none" && n != 2 {
				t.Errorf("%d requests, want none to write", n)
			}
		})
	}
}

func TestErase(t *testing.T) {
	t.Parallel()
	copyOf := func(id, of string) string {
		return `{"_id":"` + id + `","_type":"quoteSubmission","submissionId":"` + of + `"}`
	}

	stub := start(t, sanitytest.Options{},
		copyOf("quoteSubmission.a", "a"),
		copyOf("drafts.quoteSubmission.a", "a"),
		copyOf("versions.r1.quoteSubmission.a", "a"),
		copyOf("quoteSubmission.b", "b"),
		`{"_id":"p","_type":"page","submissionId":"a"}`)

	d := driver(t, stub, sanity.Options{})
	check(t, d.Erase(t.Context(), []string{"a"}), "")
	if docs := stub.Documents(); len(docs) != 2 || docs["p"] == nil || docs["quoteSubmission.b"] == nil {
		t.Errorf("remaining documents: %s", docs)
	}

	// A document that is not indexed yet is erased as well.
	stub.Fail(faulttest.Respond(200).With(`{"result":[]}`).On("query"))
	check(t, d.Erase(t.Context(), []string{"b"}), "")
	if docs := stub.Documents(); len(docs) != 1 {
		t.Errorf("remaining documents: %s", docs)
	}

	// A successful response without a deletion is an error.
	check(t, d.Put(t.Context(), cmstest.Lead("a")), "")
	stub.Fail(faulttest.Of(faulttest.Partial).On("mutate"))
	check(t, d.Erase(t.Context(), []string{"a"}), upstream.Unavailable)

	// A document without its submissionId cannot be erased by id.
	replace(t, stub, `{"_id":"x.y","_type":"quoteSubmission","contact":{"email":"abc@example.com"}}`)
	_, err := d.Find(t.Context(), "abc@example.com")
	check(t, err, upstream.Rejected)
}
