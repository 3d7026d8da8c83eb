package cmstest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/cms"
)

// site is content of every kind there is, in no order.
func site() []string {
	return []string{
		`{"_id":"hero-ro","_type":"heroSection","language":"ro","title":"Bună ziua, ș ț"}`,
		`{"_id":"hero-en","_type":"heroSection","language":"en","_updatedAt":"2026-01-02T03:04:05.678Z","title":"Hello <b> & \u2028","price":1.50,"big":12345678901234567890,"none":null}`,
		`{"_id":"a-hero-es","_type":"heroSection","language":"es","title":"¿Qué tal?"}`,
		`{"_id":"hero-common","_type":"heroSection","language":null,"title":"for all"}`,
		`{"_id":"siteSettings","_type":"siteSettings","contactPhone":"+1"}`,
		`{"_id":"drafts.hero-en","_type":"heroSection","language":"en","title":"draft"}`,
		`{"_id":"drafts.hero-new","_type":"heroSection","language":"en","title":"unborn"}`,
		`{"_id":"versions.r1.hero-en","_type":"heroSection","language":"en","title":"release"}`,
		`{"_id":"private.hero","_type":"heroSection","language":"en","title":"private"}`,
		`{"_id":"quoteSubmission.abc","_type":"quoteSubmission","contact":{"email":"x@example.com"}}`,
		`{"_id":"leaked","_type":"quoteSubmission","contact":{"email":"y@example.com"}}`,
		`{"_id":"page-en","_type":"page","language":"en"}`,
	}
}

func contentCases() map[string]func(*testing.T, Subject) {
	return map[string]func(*testing.T, Subject){
		"Fetch selects":                          fetchSelects,
		"Fetch returns documents as they are":    fetchFields,
		"Fetch returns nothing as an empty list": fetchNothing,
		"Fetch resolves assets":                  fetchAssets,
		"Fetch sees a change at once":            fetchLive,
		"Fetch copes with very many types":       fetchManyTypes,
		"Ping succeeds": func(t *testing.T, s Subject) {
			s.Replace(t, site()...)
			ok(t, "Ping", s.Content.Ping(t.Context()))
		},
	}
}

func fetchSelects(t *testing.T, s Subject) {
	s.Replace(t, site()...)
	for name, tc := range map[string]struct {
		q    cms.Query
		want []string
	}{
		"language and without":  {cms.Query{Types: []string{"heroSection"}, Locale: "en"}, []string{"hero-common", "hero-en"}},
		"another, in id order":  {cms.Query{Types: []string{"heroSection"}, Locale: "es"}, []string{"a-hero-es", "hero-common"}},
		"several types":         {cms.Query{Types: []string{"siteSettings", "heroSection"}, Locale: "ro"}, []string{"hero-common", "hero-ro", "siteSettings"}},
		"unknown type":          {cms.Query{Types: []string{"nope"}, Locale: "en"}, []string{}},
		"unknown locale":        {cms.Query{Types: []string{"heroSection"}, Locale: "de"}, []string{"hero-common"}},
		"odd letters":           {cms.Query{Types: []string{`"] || true || _type in ["`}, Locale: `" || true || "`}, []string{}},
		"submissions asked for": {cms.Query{Types: []string{cms.SubmissionType, "siteSettings"}, Locale: "en"}, []string{"siteSettings"}},
		"only submissions":      {cms.Query{Types: []string{cms.SubmissionType}, Locale: "en"}, []string{}},
	} {
		docs, err := s.Content.Fetch(t.Context(), tc.q)
		ok(t, name, err)
		ids := []string{}
		for _, d := range docs {
			ids = append(ids, d.ID)
			if !slices.Contains(tc.q.Types, d.Type) || d.Language != "" && d.Language != tc.q.Locale {
				t.Errorf("%s: %s has type %q and language %q", name, d.ID, d.Type, d.Language)
			}
		}
		if !slices.Equal(ids, tc.want) {
			t.Errorf("%s: %q, want %q", name, ids, tc.want)
		}
	}
}

func fetchFields(t *testing.T, s Subject) {
	s.Replace(t, site()...)
	docs, err := s.Content.Fetch(t.Context(), cms.Query{Types: []string{"heroSection"}, Locale: "en"})
	ok(t, "Fetch", err)
	if len(docs) != 2 {
		t.Fatalf("%d documents", len(docs))
	}
	if want := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC); !docs[1].UpdatedAt.Equal(want) {
		t.Errorf("UpdatedAt %s, want %s", docs[1].UpdatedAt, want)
	}
	var fields map[string]json.RawMessage
	ok(t, "Fields", json.Unmarshal(docs[1].Fields, &fields))
	for name, want := range map[string]string{
		"_id": `"hero-en"`, "price": "1.50", "big": "12345678901234567890", "none": "null",
	} {
		if string(fields[name]) != want {
			t.Errorf("%s is %s, want %s", name, fields[name], want)
		}
	}
	same(t, "title", fields["title"], `"Hello <b> & \u2028"`)
}

func fetchNothing(t *testing.T, s Subject) {
	s.Replace(t)
	for _, types := range [][]string{nil, {}, {"heroSection"}} {
		docs, err := s.Content.Fetch(t.Context(), cms.Query{Types: types, Locale: "en"})
		ok(t, "Fetch", err)
		if docs == nil || len(docs) != 0 {
			t.Errorf("types %q: %#v, want an empty list", types, docs)
		}
	}
}

func fetchAssets(t *testing.T, s Subject) {
	base := "https://cdn.sanity.io/"
	at := func(kind, file string) string { return base + kind + "/" + Project + "/" + Dataset + "/" + file }
	s.Replace(t, `{"_id":"x","_type":"page",
		"logo":{"_type":"image","asset":{"_type":"reference","_ref":"image-Ab12-200x100-png"}},
		"deep":[{"blocks":[{"image":{"asset":{"_ref":"image-c3-1x2-svg"},"hotspot":{"x":0.50}}}]}],
		"file":{"asset":{"_ref":"file-d4-pdf"}},
		"own":{"asset":{"url":"https://example.com/a.png","_ref":"image-e5-1x1-png"}},
		"inline":{"asset":{"url":"data:image/png;base64,AA=="}},
		"unset":{"_type":"image"}, "null":{"asset":null}, "empty":{"asset":{}},
		"odd":{"asset":{"_ref":"something-else"}}, "number":{"asset":{"_ref":7}}, "text":{"asset":"no"},
		"link":{"_ref":"image-f6-1x1-png"}}`)
	docs, err := s.Content.Fetch(t.Context(), cms.Query{Types: []string{"page"}, Locale: "en"})
	ok(t, "Fetch", err)
	if len(docs) != 1 {
		t.Fatalf("%d documents", len(docs))
	}
	same(t, "document", docs[0].Fields, `{"_id":"x","_type":"page",
		"logo":{"_type":"image","asset":{"_type":"reference","_ref":"image-Ab12-200x100-png","url":"`+at("images", "Ab12-200x100.png")+`"}},
		"deep":[{"blocks":[{"image":{"asset":{"_ref":"image-c3-1x2-svg","url":"`+at("images", "c3-1x2.svg")+`"},"hotspot":{"x":0.50}}}]}],
		"file":{"asset":{"_ref":"file-d4-pdf","url":"`+at("files", "d4.pdf")+`"}},
		"own":{"asset":{"url":"https://example.com/a.png","_ref":"image-e5-1x1-png"}},
		"inline":{"asset":{"url":"data:image/png;base64,AA=="}},
		"unset":{"_type":"image"}, "null":{"asset":null}, "empty":{"asset":{}},
		"odd":{"asset":{"_ref":"something-else"}}, "number":{"asset":{"_ref":7}}, "text":{"asset":"no"},
		"link":{"_ref":"image-f6-1x1-png"}}`)
}

func fetchLive(t *testing.T, s Subject) {
	q := cms.Query{Types: []string{"page"}, Locale: "en"}
	for _, title := range []string{"one", "two", "six"} {
		s.Replace(t, `{"_id":"p","_type":"page","title":"`+title+`"}`)
		docs, err := s.Content.Fetch(t.Context(), q)
		ok(t, "Fetch", err)
		if len(docs) != 1 {
			t.Fatalf("%d documents", len(docs))
		}
		same(t, "document", docs[0].Fields, `{"_id":"p","_type":"page","title":"`+title+`"}`)
	}
}

func fetchManyTypes(t *testing.T, s Subject) {
	s.Replace(t, site()...)
	types := []string{"heroSection"}
	for len(types) < 400 {
		types = append(types, "aTypeWithAVeryLongName"+string(rune('a'+len(types)%26))+time.Duration(len(types)).String())
	}
	docs, err := s.Content.Fetch(t.Context(), cms.Query{Types: types, Locale: "en"})
	ok(t, "Fetch", err)
	if len(docs) != 2 {
		t.Errorf("%d documents, want 2", len(docs))
	}
}

// same compares two JSON texts by their meaning.
func same(t testing.TB, what string, got json.RawMessage, want string) {
	t.Helper()
	var g, w any
	ok(t, what, json.Unmarshal(got, &g))
	ok(t, what, json.Unmarshal([]byte(want), &w))
	// What the CMS adds by itself says nothing about the driver.
	if m, isMap := g.(map[string]any); isMap {
		for _, name := range []string{"_createdAt", "_updatedAt", "_rev"} {
			delete(m, name)
		}
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}
