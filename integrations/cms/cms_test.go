package cms_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead/leadtest"
)

func noAssets(string) string { return "" }

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`null`:                     "not a JSON object",
		`[]`:                       "not a JSON object",
		`{"_type":"b"}`:            "_id",
		`{"_id":7,"_type":"b"}`:    "_id is not a string",
		`{"_id":"-a","_type":"b"}`: "_id",
		`{"_id":"a"}`:              "_type is missing",
		`{"_id":"` + strings.Repeat("a", 129) + `","_type":"b"}`: "_id",
	} {
		if _, err := cms.Decode(json.RawMessage(in), noAssets); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestDecodeKeepsValuesAndResolvesAssets(t *testing.T) {
	t.Parallel()
	assetURL := func(ref string) string { return cms.AssetURL("p", "d", ref) }
	for in, want := range map[string]string{
		`"z":1.50,"y":"ș","_updatedAt":"yesterday"`: `{"y":"ș","z":1.50}`,
		`"n":12345678901234567890,"x":[{"asset":{"_ref":"image-Ab1-20x10-png"}}]`: `{"n":12345678901234567890,` +
			`"x":[{"asset":{"_ref":"image-Ab1-20x10-png","url":"https://cdn.sanity.io/images/p/d/Ab1-20x10.png"},"height":10,` +
			`"url":"https://cdn.sanity.io/images/p/d/Ab1-20x10.png","width":20}]}`,
		`"own":{"asset":{"_ref":"image-e5-1x1-png","url":"https://x/a.png"}}`: `{"own":` +
			`{"asset":{"_ref":"image-e5-1x1-png","url":"https://x/a.png"},"height":1,"url":"https://x/a.png","width":1}}`,
		`"kept":{"alt":"A","hotspot":{"x":0.5},"width":"full","url":"/own","asset":{"_ref":"image-e5-3x2-jpg"}}`: `{"kept":` +
			`{"alt":"A","asset":{"_ref":"image-e5-3x2-jpg","url":"https://cdn.sanity.io/images/p/d/e5-3x2.jpg"},"height":2,` +
			`"hotspot":{"x":0.5},"url":"/own","width":"full"}}`,
		`"f":{"asset":{"_ref":"file-abc-pdf"}}`: `{"f":{"asset":{"_ref":"file-abc-pdf","url":"https://cdn.sanity.io/files/p/d/abc.pdf"},` +
			`"url":"https://cdn.sanity.io/files/p/d/abc.pdf"}}`,
		`"other":{"asset":{"_ref":"image-e5-1x1-png","_dataset":"media","_projectId":"p2","_type":"crossDatasetReference"}}`: `{"other":` +
			`{"asset":{"_dataset":"media","_projectId":"p2","_ref":"image-e5-1x1-png","_type":"crossDatasetReference"}}}`,
		`"s":{"asset":{"url":"https://x/a","width":9,"height":4}}`: `{"s":{"asset":{"height":4,"url":"https://x/a","width":9},` +
			`"height":4,"url":"https://x/a","width":9}}`,
		`"m":{"asset":{"url":"https://x/a","metadata":{"dimensions":{"width":7,"height":5.5}}}}`: `{"m":{"asset":{"metadata":` +
			`{"dimensions":{"height":5.5,"width":7}},"url":"https://x/a"},"height":5.5,"url":"https://x/a","width":7}}`,
		`"w":{"asset":{"url":"https://x/a-48x12.png","metadata":{"dimensions":{"width":"x"}}}}`: `{"w":{"asset":{"metadata":` +
			`{"dimensions":{"width":"x"}},"url":"https://x/a-48x12.png"},"height":12,"url":"https://x/a-48x12.png","width":48}}`,
		`"d":{"asset":{"url":"https://x/a-48x12.png","metadata":7}}`: `{"d":{"asset":{"metadata":7,"url":"https://x/a-48x12.png"},` +
			`"height":12,"url":"https://x/a-48x12.png","width":48}}`,
		`"n":{"asset":null},"o":{"asset":{"_ref":7}},"u":{"asset":{"_ref":"unknown"}}`: `{"n":{"asset":null},` +
			`"o":{"asset":{"_ref":7}},"u":{"asset":{"_ref":"unknown"}}}`,
	} {
		d, err := cms.Decode(json.RawMessage(`{"_id":"a","_type":"b",`+in+`}`), assetURL)
		if err != nil || string(d.Fields) != want || !d.UpdatedAt.IsZero() {
			t.Errorf("%s: %s, %v", in, d.Fields, err)
		}
	}

	for id, want := range map[string]string{
		"file-abc-pdf":           "https://cdn.sanity.io/files/p/d/abc.pdf",
		"image-abc-png":          "",
		"file-abc-10x20-pdf":     "",
		"image-../..-1x1-png":    "",
		"xximage-abc-10x20-pngx": "",
	} {
		if got := assetURL(id); got != want {
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
		d, err := cms.Decode(json.RawMessage(text), noAssets)
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

// TestLeadDocumentHasEveryField fails if the CMS document lacks a field of a lead, or if
// it includes changes made by operators.
func TestLeadDocumentHasEveryField(t *testing.T) {
	t.Parallel()
	stored := cms.NewLeadDocument(leadtest.Filled())

	for _, path := range leadtest.Missing(stored) {
		if path != "id" { // the document calls it submissionId
			t.Errorf("integrations/cms/lead.go: LeadDocument or NewLeadDocument leaves out %s", path)
		}
	}

	if !reflect.DeepEqual(stored, cms.NewLeadDocument(leadtest.BeforeWork())) {
		t.Error("integrations/cms/lead.go: NewLeadDocument includes operator changes")
	}

	if stored.ID != "quoteSubmission.id" || stored.LeadID != "id" ||
		stored.SubmittedAt != "2026-01-31T09:30:00.000Z" ||
		stored.PDFPath != "/api/quote/pdf?id=id" {
		t.Errorf("stored as %+v", stored)
	}
}
