// Package cmstest is the conformance suite of the CMS contract. Every driver runs it.
package cmstest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/upstream"
)

// Driver combines the interfaces that every driver implements.
type Driver interface {
	cms.Content
	cms.Leads
	cms.Lookup
	cms.Eraser
}

// Subject is a driver with direct access to its CMS. Each case gets a new one.
type Subject struct {
	Driver

	// Replace replaces the entire content of the CMS with these documents, which may
	// include drafts.
	Replace func(t testing.TB, docs ...string)
	// Stored returns the leads stored in the CMS, keyed by _id.
	Stored func(t testing.TB) map[string]json.RawMessage
}

func (s Subject) fetch(t *testing.T, q cms.Query) []cms.Document {
	t.Helper()
	docs, err := s.Fetch(t.Context(), q)
	must(t, err)
	return docs
}

// Run runs the suite.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	cases := map[string]func(*testing.T, Subject){
		"Fetch":              fetch,
		"Languages":          languages,
		"Singletons":         singletons,
		"Localized texts":    localizedTexts,
		"Perspectives":       perspectives,
		"Put":                put,
		"Put repeated":       putRepeated,
		"Put withdrawn":      putWithdrawn,
		"Lookup and erasure": lookupAndErasure,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

// Lead returns a lead with every field set except its consents. Its names reveal quoting
// and escaping mistakes.
func Lead(id string) *lead.Lead {
	l := leadtest.Filled()
	l.ID, l.Consents = id, nil
	l.Contact.FirstName, l.Contact.LastName = `Ștefania "Ana"`, `O'Neill\Țurcanu <&>`
	l.Contact.Email = id + "@example.com"
	return l
}

// site returns content of every kind, in no particular order.
func site() []string {
	return []string{
		`{"_id":"hero-ro","_type":"heroSection","language":"ro","title":"Bună ziua, ș ț"}`,
		`{"_id":"hero-en","_type":"heroSection","language":"en",` +
			`"_updatedAt":"2026-01-02T03:04:05.678Z","price":1.50,"none":null}`,
		`{"_id":"a-hero-es","_type":"heroSection","language":"es","title":"¿Qué tal?"}`,
		`{"_id":"hero-common","_type":"heroSection","language":null,"title":"for all"}`,
		`{"_id":"siteSettings","_type":"siteSettings","contactPhone":"+1"}`,
		`{"_id":"drafts.hero-new","_type":"heroSection","language":"en","title":"draft"}`,
		`{"_id":"versions.r1.hero-en","_type":"heroSection","language":"en","title":"release"}`,
		`{"_id":"private.hero","_type":"heroSection","language":"en","title":"private"}`,
		`{"_id":"quoteSubmission.abc","_type":"quoteSubmission","contact":{"email":"x@example.com"}}`,
		`{"_id":"leaked","_type":"quoteSubmission","contact":{"email":"y@example.com"}}`,
	}
}

func fetch(t *testing.T, s Subject) {
	s.Replace(t, site()...)
	must(t, s.Ping(t.Context()))

	hero := []string{"heroSection"}
	for name, tc := range map[string]struct {
		q    cms.Query
		want []string
	}{
		"with and without language": {cms.Query{Types: hero, Except: []string{"es", "ro"}}, []string{"hero-common", "hero-en", "private.hero"}},
		"in id order":               {cms.Query{Types: hero, Except: []string{"en", "ro"}}, []string{"a-hero-es", "hero-common"}},
		"characters to escape": {
			cms.Query{Types: []string{`"] || true || _type in ["`}, Except: []string{`"] || true || "`}},
			[]string{},
		},
		"leads requested": {
			cms.Query{Types: []string{cms.LeadType, "siteSettings"}},
			[]string{"siteSettings"},
		},
		"leads among drafts": {
			cms.Query{Types: []string{cms.LeadType}, Perspective: "drafts"},
			[]string{},
		},
	} {
		docs := s.fetch(t, tc.q)
		ids := []string{}
		for _, d := range docs {
			ids = append(ids, d.ID)
			if d.ID == "hero-en" && (string(d.Fields) != `{"language":"en","none":null,"price":1.50}` ||
				!d.UpdatedAt.Equal(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC))) {
				t.Errorf("%s, updated %s", d.Fields, d.UpdatedAt)
			}
		}
		if docs == nil || !slices.Equal(ids, tc.want) {
			t.Errorf("%s: %q, want %q", name, ids, tc.want)
		}
	}

	// The next fetch sees a change.
	s.Replace(t, `{"_id":"new","_type":"heroSection"}`)
	docs := s.fetch(t, cms.Query{Types: hero})
	if len(docs) != 1 || docs[0].ID != "new" {
		t.Errorf("after a change: %+v", docs)
	}
}

// languages reads the language of documents as editors, plugins and imports write it.
func languages(t *testing.T, s Subject) {
	rows := []struct{ id, fields, want, why string }{
		{"plain", `"language":"es"`, "es", "the document-internationalization plugin"},
		{"region", `"language":"es-ES"`, "es", "a tag with a region, BCP 47"},
		{"underscore", `"language":"es_ES"`, "es", "the POSIX form of a tag"},
		{"capitals", `"language":"ES"`, "es", "tags ignore letter case, RFC 5646 2.1.1"},
		{"script", `"language":"zh-Hant-TW"`, "zh", "a tag with a script and a region"},
		{"blanks", `"language":" es\n"`, "es", "typed by hand in a file"},
		{"locale", `"locale":"ro"`, "ro", "the field of many own schemas"},
		{"lang", `"_lang":"ro"`, "ro", "an old plugin"},
		{"i18n", `"__i18n_lang":"ro_RO"`, "ro", "the intl-input plugin"},
		{"first", `"language":"es","locale":"ro"`, "es", "the fields have an order"},
		{"second", `"language":"Deutsch","locale":"ro"`, "ro", "the language of a course is no tag"},
		{"word", `"language":"Deutsch"`, "Deutsch", "a language by its name, which no site uses"},
		{"own-word", `"locale":"español"`, "español", "a language by its own name"},
		{"several", `"_lang":"en,es"`, "en,es", "two languages in one string"},
		{"empty", `"language":""`, "", "cleared by a script"},
		{"blank", `"language":" \t"`, "", "typed by accident"},
		{"null", `"language":null`, "", "unset by a script"},
		{"list", `"language":["en","de"]`, "", "the languages of a course"},
		{"object", `"language":{"_ref":"en"}`, "", "a reference to a document for the language"},
		{"number", `"language":7`, "", "anything else"},
		{"foreign", `"language":"de-AT"`, "de", "a language that the site does not use"},
	}

	var docs []string
	for _, row := range rows {
		docs = append(docs, fmt.Sprintf(`{"_id":%q,"_type":"page",%s}`, row.id, row.fields))
	}
	s.Replace(t, docs...)

	for _, except := range [][]string{nil, {"en", "ro"}, {"en", "es"}, {"es", "ro"}} {
		got := map[string]string{}
		for _, d := range s.fetch(t, cms.Query{Types: []string{"page"}, Except: except}) {
			got[d.ID] = d.Language
		}
		for _, row := range rows {
			language, shown := got[row.id]
			if shown == slices.Contains(except, row.want) || shown && language != row.want {
				t.Errorf("except %q, %s (%s): %q, %v, want %q", except, row.id, row.why, language, shown, row.want)
			}
		}
	}
}

// singletons reads documents by their id, whatever language a plugin wrote into them.
func singletons(t *testing.T, s Subject) {
	var docs []string
	for i, id := range cms.Singletons() {
		language := []string{`"language":"es"`, `"locale":"de"`, `"_lang":"ro-RO"`}[i%3]
		docs = append(docs, fmt.Sprintf(`{"_id":%q,"_type":%q,%s}`, id, id, language),
			fmt.Sprintf(`{"_id":"drafts.%s","_type":%q,%s,"draft":true}`, id, id, language),
			fmt.Sprintf(`{"_id":"other-%s","_type":%q,"language":"es"}`, id, id))
	}
	s.Replace(t, docs...)

	for _, perspective := range []string{"", "drafts"} {
		found := s.fetch(t, cms.Query{Types: cms.Singletons(), Except: []string{"es", "ro"}, Perspective: perspective})
		if len(found) != len(cms.Singletons()) {
			t.Errorf("%q: %+v", perspective, found)
		}
		for _, d := range found {
			isDraft := strings.Contains(string(d.Fields), "draft")
			if d.ID != d.Type || d.Language != "" || d.Useless == "" || isDraft != (perspective != "") {
				t.Errorf("%q: %+v", perspective, d)
			}
		}
	}
}

// localizedTexts reads localized texts in each form that sites use.
func localizedTexts(t *testing.T, s Subject) {
	rows := []struct {
		value, es, ro string
		ok            bool
		why           string
	}{
		{`{"en":"E","es":"S"}`, "S", "E", true, "an object, with the default language as fallback"},
		{`{"_type":"localeString","es":"S"}`, "S", "", true, "a named type of the Studio"},
		{`{"es-ES":"S","ES_mx":"M","es":""}`, "M", "", true, "tags with a region, a blank text"},
		{`{"es-MX":"M","es":"S"}`, "S", "", true, "the language itself precedes a region"},
		{`[{"_key":"es","_type":"internationalizedArrayStringValue","value":"S"}]`, "S", "", true,
			"internationalized-array up to version 4"},
		{`[{"_key":"a1b2c3d4e5f6","language":"es","value":"S"},{"_key":"f6","language":"en","value":"E"}]`, "S", "E",
			true, "internationalized-array since version 5"},
		{`[{"_key":"es"},{"_key":"en","value":"E"}]`, "E", "E", true, "a language added and not filled in"},
		{`"E"`, "E", "E", true, "a plain text counts for the default language"},
		{`" \t"`, "", "", true, "a blank text counts as missing"},
		{`null`, "", "", true, "unset"},
		{`{}`, "", "", true, "an object not filled in"},
		{`[]`, "", "", true, "a list not filled in"},
		{`{"en":"E","es":7}`, "E", "E", false, "one value of a wrong type"},
		{`["S"]`, "", "", false, "a list of strings"},
		{`[{"_key":"a1b2c3d4e5f6","_type":"block","children":[]}]`, "", "", false, "rich text"},
		{`{"_type":"reference","_ref":"x"}`, "", "", true, "nothing but the CMS's own fields"},
		{`{"street":"S"}`, "", "", false, "another object"},
		{`7`, "", "", false, "a number"},
		{`true`, "", "", false, "a boolean"},
	}

	docs := make([]string, len(rows))
	for i, row := range rows {
		docs[i] = fmt.Sprintf(`{"_id":"%03d","_type":"page","text":%s}`, i, row.value)
	}
	s.Replace(t, docs...)

	found := s.fetch(t, cms.Query{Types: []string{"page"}})
	if len(found) != len(rows) {
		t.Fatalf("%d documents, want %d", len(found), len(rows))
	}
	for i, row := range rows {
		var fields struct{ Text any }
		must(t, json.Unmarshal(found[i].Fields, &fields))
		es, isText := cms.Text(fields.Text, "es")
		if ro, _ := cms.Text(fields.Text, "ro"); es != row.es || ro != row.ro || isText != row.ok {
			t.Errorf("%s (%s): %q, %q, %v", row.value, row.why, es, ro, isText)
		}
	}
}

// perspectives overlays published documents with drafts and a release.
func perspectives(t *testing.T, s Subject) {
	s.Replace(t,
		`{"_id":"a","_type":"page","title":"published"}`,
		`{"_id":"drafts.a","_type":"page","title":"draft"}`,
		`{"_id":"versions.rSpring.a","_type":"page","title":"release"}`,
		`{"_id":"versions.rOther.a","_type":"page","title":"another release"}`,
		`{"_id":"drafts.b","_type":"page","language":"en","title":"new"}`,
		`{"_id":"versions.rSpring.private.c","_type":"page","title":"private"}`,
	)
	for perspective, want := range map[string][]string{
		"":               {"a published"},
		"drafts":         {"a draft", "b new"},
		"rSpring,drafts": {"a release", "b new"},

		"rOther,rSpring,drafts": {"a another release", "b new"},
		"rSpring,rOther,drafts": {"a release", "b new"},
		"rNone,drafts":          {"a draft", "b new"},
	} {
		var got []string
		for _, d := range s.fetch(t, cms.Query{Types: []string{"page"}, Perspective: perspective}) {
			var fields struct{ Title string }
			must(t, json.Unmarshal(d.Fields, &fields))
			got = append(got, d.ID+" "+fields.Title)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q shows %q, want %q", perspective, got, want)
		}
	}
}

func put(t *testing.T, s Subject) {
	l := Lead("0b5bd1f2-full")
	must(t, s.Put(t.Context(), l))
	var got cms.LeadDocument
	must(t, json.Unmarshal(s.Stored(t)["quoteSubmission."+l.ID], &got))
	if want := cms.NewLeadDocument(l); !reflect.DeepEqual(got, want) {
		t.Errorf("stored\n%+v, want\n%+v", got, want)
	}

	for _, id := range []string{"", "../x", "a/b", "ș", "a..b", strings.Repeat("x", 200)} {
		if err := s.Put(t.Context(), Lead(id)); upstream.KindOf(err) != upstream.Rejected {
			t.Errorf("Put %q: %v", id, err)
		}
	}
}

// putRepeated stores a lead several times concurrently, then once more with changes.
func putRepeated(t *testing.T, s Subject) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := s.Put(context.WithoutCancel(t.Context()), Lead("c")); err != nil {
				t.Errorf("Put: %v", err)
			}
		})
	}
	all.Wait()

	before := s.Stored(t)
	changed := Lead("c")
	changed.Contact.FirstName = "Someone else"
	must(t, s.Put(t.Context(), changed))
	if after := s.Stored(t); len(after) != 1 || !reflect.DeepEqual(after, before) {
		t.Errorf("stored\n%s, want\n%s", after, before)
	}
}

// putWithdrawn checks that withdrawing a consent changes only the consents of the stored
// document.
func putWithdrawn(t *testing.T, s Subject) {
	l := Lead("w")
	l.Consents = []lead.Consent{{Purpose: "news", Given: true, Text: "Send me news"}}
	must(t, s.Put(t.Context(), l))

	const id = "quoteSubmission.w"
	var before, after map[string]any
	must(t, json.Unmarshal(s.Stored(t)[id], &before))

	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	l.Consents[0].WithdrawnAt = &at
	l.Contact.FirstName = "Someone else"
	for range 2 {
		must(t, s.Put(t.Context(), l))
	}
	must(t, json.Unmarshal(s.Stored(t)[id], &after))

	consent, _ := before["consents"].([]any)[0].(map[string]any)
	consent["withdrawnAt"] = "2026-03-04T05:06:07Z"
	if !reflect.DeepEqual(after, before) {
		t.Errorf("stored\n%v, want\n%v", after, before)
	}
}

func lookupAndErasure(t *testing.T, s Subject) {
	for id, email := range map[string]string{
		"f1": "Ana@Example.com",
		"f2": "ana@example.com",
		"f3": "xana@example.com",
	} {
		q := Lead(id)
		q.Contact.Email = email
		must(t, s.Put(t.Context(), q))
	}

	stored, want := []string{"f3"}, []string{}
	for i := range 230 { // more than fit in one query
		want = append(want, fmt.Sprintf("%08d-0000-4000-8000-missing", i))
	}

	missing, err := s.Missing(t.Context(), append(append(stored, want...), "f1"))
	must(t, err)
	if !slices.Equal(missing, want) {
		t.Errorf("%d missing, want %d, in the order given", len(missing), len(want))
	}

	find := func(email string, want ...string) {
		t.Helper()
		got, err := s.Find(t.Context(), email)
		must(t, err)
		slices.Sort(got)
		if got == nil || !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", email, got, want)
		}
	}

	find(" aNA@example.com ", "f1", "f2")
	find("xana@example.com", "f3")
	for _, unknown := range []string{"example.com", `" || true || "`, ""} {
		find(unknown)
	}

	for range 2 { // erasing a missing document is not an error
		must(t, s.Erase(t.Context(), []string{"f1", "never-there", "f2"}))
	}
	find("ana@example.com")
	if n := len(s.Stored(t)); n != 1 {
		t.Errorf("%d documents stored, want 1", n)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
