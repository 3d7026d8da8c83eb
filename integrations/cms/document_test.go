package cms_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/cmstest"
)

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                                      "not a JSON object",
		`null`:                                  "not a JSON object",
		`[]`:                                    "not a JSON object",
		`{}`:                                    "_id",
		`{"_ID":"a","_type":"b"}`:               "_id",
		`{"_id":7,"_type":"b"}`:                 "_id is not a string",
		`{"_id":"a b","_type":"b"}`:             "_id",
		`{"_id":"-a","_type":"b"}`:              "_id",
		`{"_id":"a"}`:                           "_type is missing",
		`{"_id":"a","_type":1}`:                 "_type is not a string",
		`{"_id":"a","_type":"b","language":{}}`: "language is not a string",
		`{"_id":"` + strings.Repeat("a", 129) + `","_type":"b"}`: "_id",
	} {
		if _, err := (cms.Decoder{}).Decode(json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestDecodeLanguage(t *testing.T) {
	t.Parallel()
	dec := cms.Decoder{LanguageField: "__i18n_lang"}
	d, err := dec.Decode(json.RawMessage(`{"_id":"a", "_type":"b", "language":"es", "__i18n_lang":"ro", "_updatedAt":"yesterday"}`))
	if err != nil || d.Language != "ro" || !d.UpdatedAt.IsZero() {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestDecodeKeepsValuesAsTheyAre(t *testing.T) {
	t.Parallel()
	dec := cms.Decoder{AssetURL: func(ref string) string { return "https://cdn/" + ref }}
	for in, want := range map[string]string{
		`{"_id":"a", "_type":"b", "z":1.50, "y":"<&>"}`:                                         `{"_id":"a","_type":"b","z":1.50,"y":"<&>"}`,
		`{"_id":"a","_type":"b","z":12345678901234567890,"y":"<&>","x":{"asset":{"_ref":"r"}}}`: `{"_id":"a","_type":"b","x":{"asset":{"_ref":"r","url":"https://cdn/r"}},"y":"<&>","z":12345678901234567890}`,
	} {
		d, err := dec.Decode(json.RawMessage(in))
		if err != nil || string(d.Fields) != want {
			t.Errorf("%s: %s, %v", in, d.Fields, err)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	q := cms.Query{Types: []string{"page", cms.SubmissionType}, Locale: "en"}
	for _, tc := range []struct {
		doc  cms.Document
		want bool
	}{
		{cms.Document{ID: "a", Type: "page", Language: "en"}, true},
		{cms.Document{ID: "a", Type: "page"}, true},
		{cms.Document{ID: "a", Type: "page", Language: "es"}, false},
		{cms.Document{ID: "a", Type: "other"}, false},
		{cms.Document{ID: "drafts.a", Type: "page"}, false},
		{cms.Document{ID: "versions.r.a", Type: "page"}, false},
		{cms.Document{ID: "x.a", Type: "page"}, false},
		{cms.Document{ID: "a", Type: cms.SubmissionType}, false},
	} {
		if got := q.Matches(tc.doc); got != tc.want {
			t.Errorf("%+v: %t", tc.doc, got)
		}
	}
}

func TestAssetURL(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"image-abc-10x20-png":    "https://cdn/images/p/d/abc-10x20.png",
		"file-abc-pdf":           "https://cdn/files/p/d/abc.pdf",
		"image-abc-png":          "",
		"file-abc-10x20-pdf":     "",
		"image-../..-1x1-png":    "",
		"image-abc-10x20-png?x":  "",
		"abc":                    "",
		"":                       "",
		"image-abc-10x20-p/n":    "",
		"image-a\nbc-10x20-png":  "",
		"xximage-abc-10x20-pngx": "",
	} {
		if got := cms.AssetURL("https://cdn", "p", "d", id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	var docs []cms.Document
	for _, text := range []string{
		`{"_id":"a","_type":"quoteOption","slug":{"current":"blog"},"label":{"en":"Blog","es":"Bitácora"}}`,
		`{"_id":"b","_type":"quoteOption","slug":"seo","label":{"en":"SEO","es":""}}`,
		`{"_id":"c","_type":"quoteOption","slug":"cms","label":{"ro":"Conținut"}}`,
		`{"_id":"d","_type":"quoteOption","language":"es","slug":"blog","label":"El blog"}`,
		`{"_id":"e","_type":"quoteOption","slug":"blog","label":{"es":"later"}}`,
		`{"_id":"f","_type":"quoteOption","language":"es","slug":"shop","label":"Tienda"}`,
		`{"_id":"g","_type":"quoteOption","slug":7,"label":[]}`,
		`{"_id":"h","_type":"other","slug":"x","label":"X"}`,
	} {
		d, err := (cms.Decoder{}).Decode(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, d)
	}
	for locale, want := range map[string]map[string]string{
		"en": {"blog": "Blog", "seo": "SEO"},
		"es": {"blog": "El blog", "seo": "SEO", "shop": "Tienda"},
		"ro": {"blog": "Blog", "seo": "SEO", "cms": "Conținut"},
	} {
		if got := cms.Labels(docs, locale); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", locale, got, want)
		}
	}
}

func TestStoredRoundTrip(t *testing.T) {
	t.Parallel()
	want := cmstest.Submission("abc")
	doc := cms.Stored(want)
	if doc.SubmittedAt != "2026-02-03T04:05:06.789Z" {
		t.Errorf("submittedAt %q", doc.SubmittedAt)
	}
	got, err := doc.Submission()
	if err != nil || !got.SubmittedAt.Equal(want.SubmittedAt) || got.Contact != want.Contact {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := (cms.StoredSubmission{SubmittedAt: "noon"}).Submission(); err == nil {
		t.Error("a broken time was taken")
	}
}
