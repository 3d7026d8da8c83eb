package cmstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

func submissionCases() map[string]func(*testing.T, Subject) {
	return map[string]func(*testing.T, Subject){
		"Put stores the document":         putStores,
		"Put twice changes nothing":       putTwice,
		"Put stores once when concurrent": putConcurrently,
		"Put refuses odd ids":             putOddIDs,
		"Missing":                         missing,
		"Erase":                           erase,
		"Find":                            find,
		"Submissions stay out of Fetch":   neverServed,
	}
}

func putStores(t *testing.T, s Subject) {
	full := Submission("0b5bd1f2-full")
	bare := &quote.Submission{
		ID: "0b5bd1f2-bare", SessionID: "s", SubmittedAt: full.SubmittedAt,
		Contact:    quote.Contact{FirstName: "A", LastName: "B", Email: "a@example.com"},
		Selections: quote.Selections{ProjectType: "website"},
		Estimate:   quote.Estimate{Currency: "EUR"},
	}
	for _, want := range []*quote.Submission{full, bare} {
		ok(t, "Put", s.Submissions.Put(t.Context(), want))
		raw, there := s.Stored(t)["quoteSubmission."+want.ID]
		if !there {
			t.Fatalf("%s is not stored", want.ID)
		}
		var doc cms.StoredSubmission
		ok(t, "document", json.Unmarshal(raw, &doc))
		if doc.Type != "quoteSubmission" || doc.PDFPath != "/api/quote/pdf?id="+want.ID {
			t.Errorf("type %q, path %q", doc.Type, doc.PDFPath)
		}
		got, err := doc.Submission()
		ok(t, "submission", err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("stored\n%+v, want\n%+v", got, want)
		}
	}
	var bareDoc map[string]any
	ok(t, "document", json.Unmarshal(s.Stored(t)["quoteSubmission."+bare.ID], &bareDoc))
	for _, name := range []string{"locale", "language"} {
		if _, there := bareDoc[name]; there {
			t.Errorf("a submission without locale has %s", name)
		}
	}
}

func putTwice(t *testing.T, s Subject) {
	first := Submission("twice")
	ok(t, "Put", s.Submissions.Put(t.Context(), first))
	before := s.Stored(t)
	changed := Submission("twice")
	changed.Contact.FirstName = "Someone else"
	for _, again := range []*quote.Submission{first, changed} {
		ok(t, "Put again", s.Submissions.Put(t.Context(), again))
	}
	if after := s.Stored(t); !reflect.DeepEqual(after, before) {
		t.Errorf("stored\n%s, want\n%s", after, before)
	}
}

func putConcurrently(t *testing.T, s Subject) {
	const ids, each = 4, 8
	var all sync.WaitGroup
	errs := make(chan error, ids*each)
	for i := range ids * each {
		all.Go(func() {
			errs <- s.Submissions.Put(t.Context(), Submission(fmt.Sprintf("c%d", i%ids)))
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		ok(t, "Put", err)
	}
	stored := s.Stored(t)
	if len(stored) != ids {
		t.Errorf("%d documents stored, want %d", len(stored), ids)
	}
	for id, raw := range stored {
		if !json.Valid(raw) {
			t.Errorf("%s is broken", id)
		}
	}
}

func putOddIDs(t *testing.T, s Subject) {
	for _, id := range []string{"", "../x", "a/b", "a b", "a\x00b", "ș", "..", "a..b", strings.Repeat("x", 200)} {
		kind(t, fmt.Sprintf("Put %q", id), s.Submissions.Put(t.Context(), Submission(id)), upstream.Rejected)
	}
	if n := len(s.Stored(t)); n != 0 {
		t.Errorf("%d documents stored", n)
	}
}

func missing(t *testing.T, s Subject) {
	var ids, want []string
	for i := range 230 {
		id := fmt.Sprintf("%08d-0000-4000-8000-missing", i)
		ids = append(ids, id)
		if i%50 == 7 {
			ok(t, "Put", s.Submissions.Put(t.Context(), Submission(id)))
		} else {
			want = append(want, id)
		}
	}
	got, err := s.Submissions.Missing(t.Context(), ids)
	ok(t, "Missing", err)
	if !slices.Equal(got, want) {
		t.Errorf("%d missing, want %d, in the order given", len(got), len(want))
	}
	got, err = s.Submissions.Missing(t.Context(), nil)
	ok(t, "Missing of none", err)
	if got == nil || len(got) != 0 {
		t.Errorf("missing of none: %#v, want an empty list", got)
	}
}

func erase(t *testing.T, s Subject) {
	for _, id := range []string{"e1", "e2", "keep"} {
		ok(t, "Put", s.Submissions.Put(t.Context(), Submission(id)))
	}
	for range 2 { // erasing what is not there is no error
		ok(t, "Erase", s.Submissions.Erase(t.Context(), []string{"e1", "never-there", "e2"}))
	}
	ok(t, "Erase of none", s.Submissions.Erase(t.Context(), nil))
	got, err := s.Submissions.Missing(t.Context(), []string{"e1", "keep", "e2"})
	ok(t, "Missing", err)
	if !slices.Equal(got, []string{"e1", "e2"}) {
		t.Errorf("missing %q after erasing e1 and e2", got)
	}
	ok(t, "Put after Erase", s.Submissions.Put(t.Context(), Submission("e1")))
	if n := len(s.Stored(t)); n != 2 {
		t.Errorf("%d documents stored, want 2", n)
	}
}

func find(t *testing.T, s Subject) {
	addresses := map[string]string{
		"f1": "Ana@Example.com", "f2": "ana@example.com", "f3": "xana@example.com", "f4": "ana@example.com.evil.org", "f5": "ANA@EXAMPLE.COM",
	}
	for id, email := range addresses {
		q := Submission(id)
		q.Contact.Email = email
		ok(t, "Put", s.Submissions.Put(t.Context(), q))
	}
	for email, want := range map[string][]string{
		"aNA@example.com": {"f1", "f2", "f5"}, " ana@example.com ": {"f1", "f2", "f5"}, "xana@example.com": {"f3"},
		"example.com": {}, "*": {}, "\" || true || \"": {}, "": {},
	} {
		got, err := s.Submissions.Find(t.Context(), email)
		ok(t, "Find", err)
		slices.Sort(got)
		if got == nil || !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", email, got, want)
		}
	}
	ok(t, "Erase", s.Submissions.Erase(t.Context(), []string{"f1", "f2", "f5"}))
	if got, err := s.Submissions.Find(t.Context(), "ana@example.com"); err != nil || len(got) != 0 {
		t.Errorf("after Erase: %q %v", got, err)
	}
}

func neverServed(t *testing.T, s Subject) {
	s.Replace(t, site()...)
	ok(t, "Put", s.Submissions.Put(t.Context(), Submission("hidden")))
	docs, err := s.Content.Fetch(t.Context(), cms.Query{Types: []string{cms.SubmissionType, "heroSection"}, Locale: "ro"})
	ok(t, "Fetch", err)
	for _, d := range docs {
		if d.Type == cms.SubmissionType {
			t.Errorf("%s is served", d.ID)
		}
	}
}

// contextCases check that a call whose caller is gone does nothing and says why.
func contextCases() map[string]func(*testing.T, Subject) {
	cases := map[string]func(*testing.T, Subject){}
	for name, call := range map[string]func(context.Context, Subject) error{
		"Fetch": func(ctx context.Context, s Subject) error {
			_, err := s.Content.Fetch(ctx, cms.Query{Types: []string{"page"}, Locale: "en"})
			return err
		},
		"Ping": func(ctx context.Context, s Subject) error { return s.Content.Ping(ctx) },
		"Put":  func(ctx context.Context, s Subject) error { return s.Submissions.Put(ctx, Submission("gone")) },
		"Missing": func(ctx context.Context, s Subject) error {
			_, err := s.Submissions.Missing(ctx, []string{"gone"})
			return err
		},
		"Find": func(ctx context.Context, s Subject) error {
			_, err := s.Submissions.Find(ctx, "gone@example.com")
			return err
		},
		"Erase": func(ctx context.Context, s Subject) error { return s.Submissions.Erase(ctx, []string{"gone"}) },
	} {
		cases[name+" without a caller"] = func(t *testing.T, s Subject) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := call(ctx, s)
			kind(t, name, err, upstream.Unavailable)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want the context's error inside", name, err)
			}
			if n := len(s.Stored(t)); n != 0 {
				t.Errorf("%d documents stored", n)
			}
		}
	}
	return cases
}
