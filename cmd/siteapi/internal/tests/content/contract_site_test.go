package content

import (
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestContractSiteSettings(t *testing.T) {
	t.Parallel()
	const phones = `{ SiteSettings(id: "siteSettings") {
		contactPhones { number label { en es ro } displayLocation } contactPhone } }`

	tests := []struct {
		name, content, query, want string
	}{
		{
			"several phones",
			`[{"_id":"siteSettings","_type":"siteSettings","contactPhone":"","contactPhones":[` +
				`{"number":"+40 1","label":{"en":"Office","ro":"Birou"},` +
				`"displayLocation":["contact","footer"]},` +
				`{"number":"+40 2","displayLocation":["footer"]},` +
				`{"number":"+40 3","label":"Sales","displayLocation":["footer"]},` +
				`{"number":"+40 4","label":[{"_key":"x1","language":"ro","value":"Vânzări"}],"displayLocation":["footer"]}]}]`,
			phones,
			`{"data":{"SiteSettings":{"contactPhones":[` +
				`{"number":"+40 1","label":{"en":"Office","es":null,"ro":"Birou"},` +
				`"displayLocation":["contact","footer"]},` +
				`{"number":"+40 2","label":null,"displayLocation":["footer"]},` +
				`{"number":"+40 3","label":{"en":"Sales","es":null,"ro":null},"displayLocation":["footer"]},` +
				`{"number":"+40 4","label":{"en":null,"es":null,"ro":"Vânzări"},"displayLocation":["footer"]}],"contactPhone":null}}}`,
		},
		{
			"legacy phone only",
			`[{"_id":"siteSettings","_type":"siteSettings","contactPhone":"+40 9"}]`,
			phones,
			`{"data":{"SiteSettings":{"contactPhones":null,"contactPhone":"+40 9"}}}`,
		},
		{
			"no phone",
			`[{"_id":"siteSettings","_type":"siteSettings"}]`,
			phones,
			`{"data":{"SiteSettings":{"contactPhones":[],"contactPhone":null}}}`,
		},
		{
			"malformed entries",
			`[{"_id":"siteSettings","_type":"siteSettings","contactPhones":[` +
				`{"label":{"en":"x"},"displayLocation":["contact"]},` +
				`{"number":"1","displayLocation":["header","footer"]}]}]`,
			phones,
			`{"data":{"SiteSettings":{"contactPhones":[` +
				`{"number":"1","label":null,"displayLocation":["footer"]}],"contactPhone":null}}}`,
		},
		{
			"title, website and the size of a Sanity logo",
			`[{"_id":"siteSettings","_type":"siteSettings","title":"Lumen","website":"https://l.example",` +
				`"logo":{"asset":{"url":"https://cdn.sanity.io/images/p/d/ab-240x64.png"}}}]`,
			`{ SiteSettings(id: "siteSettings") { title website logo { asset { width height } } } }`,
			`{"data":{"SiteSettings":{"title":"Lumen","website":"https://l.example",` +
				`"logo":{"asset":{"width":240,"height":64}}}}}`,
		},
		{
			"every other field",
			`[{"_id":"siteSettings","_type":"siteSettings","contactEmail":"a@b.co",` +
				`"logo":{"asset":{"url":"https://x/l.png"},"alt":"A lamp"},"socialLinks":{"github":"https://g"},` +
				`"address":{"street":"s","city":"c","state":"st","zipCode":"z","country":"co"},` +
				`"businessHours":{"monday":"9-5","sunday":"closed"}}]`,
			`{ SiteSettings(id: "siteSettings") { contactEmail logo { asset { url } alt }
				socialLinks { facebook twitter linkedin instagram github } ` +
				`address { street city state zipCode country }
				businessHours { monday tuesday wednesday thursday friday saturday sunday } } }`,
			`{"data":{"SiteSettings":{"contactEmail":"a@b.co","logo":{"asset":{"url":"https://x/l.png"},"alt":"A lamp"},` +
				`"socialLinks":{"facebook":null,"twitter":null,"linkedin":null,` +
				`"instagram":null,"github":"https://g"},` +
				`"address":{"street":"s","city":"c","state":"st","zipCode":"z","country":"co"},` +
				`"businessHours":{"monday":"9-5","tuesday":null,"wednesday":null,"thursday":null,` +
				`"friday":null,"saturday":null,"sunday":"closed"}}}}`,
		},
		{
			"unset objects",
			`[{"_id":"siteSettings","_type":"siteSettings","logo":{}}]`,
			`{ SiteSettings(id: "siteSettings") {
				contactEmail logo { asset { url } } ` +
				`socialLinks { github } address { city } businessHours { monday } } }`,
			`{"data":{"SiteSettings":{"contactEmail":null,"logo":{"asset":null},` +
				`"socialLinks":null,"address":null,"businessHours":null}}}`,
		},
		{"no document", `[]`, phones, `{"data":{"SiteSettings":null},"errors":[]}`},
		{
			"only a draft",
			`[{"_id":"drafts.siteSettings","_type":"siteSettings","contactPhone":"1"}]`,
			phones,
			`{"data":{"SiteSettings":null},"errors":[]}`,
		},
		{
			"another id",
			`[{"_id":"siteSettings","_type":"siteSettings"}]`,
			`{ SiteSettings(id: "other") { contactPhone } }`,
			`{"data":{"SiteSettings":null},"errors":[]}`,
		},
		{
			"another id under an alias",
			`[{"_id":"siteSettings","_type":"siteSettings","contactPhone":"1"}]`,
			`{ a: SiteSettings(id: "siteSettings") { contactPhone } b: SiteSettings(id: "other") { contactPhone } }`,
			`{"data":{"a":{"contactPhone":"1"},"b":null},"errors":[]}`,
		},
		{
			"a null further down",
			`[{"_id":"siteSettings","_type":"siteSettings"}]`,
			`{ SiteSettings(id: "siteSettings") { SiteSettings: logo { asset { url } } } }`,
			`{"data":{"SiteSettings":{"SiteSettings":null}}}`,
		},
	}

	s := apptest.Start(t)
	for _, tt := range tests {
		s.WriteContent(tt.content)
		s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth)
		for range 2 { // the second response may come from a cache
			if got := s.Query(tt.query, nil); !got.Is(200, tt.want) || len(got.Body) != len(tt.want) {
				t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.want)
			}
		}
	}
}

func TestContractContent(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CONTENT_TYPES=heroSection,page")
	s.WriteContent(`[
		{"_id":"h-es","_type":"heroSection","language":"es","_updatedAt":"2026-01-02T03:04:05Z","_rev":"r",` +
		`"title":"Hola","n":1.50},
		{"_id":"h-en","_type":"heroSection","language":"en","title":"Hello","slug":{"current":"home"}},
		{"_id":"h-all","_type":"heroSection","title":"Everywhere"},
		{"_id":"drafts.h-es","_type":"heroSection","language":"es","title":"Draft"}]`)
	s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth)

	tests := []struct{ name, query, want string }{
		{"a locale, including documents without a language",
			`{ content(documentType: "heroSection", locale: es) { id type locale updatedAt fields } }`,
			`{"data":{"content":[{"id":"h-all","type":"heroSection","locale":null,"updatedAt":null,` +
				`"fields":{"title":"Everywhere"}},` +
				`{"id":"h-es","type":"heroSection","locale":"es","updatedAt":"2026-01-02T03:04:05Z",` +
				`"fields":{"language":"es","n":1.50,"title":"Hola"}}]}}`},
		{"the default locale", `{ content(documentType: "heroSection") { id } }`,
			`{"data":{"content":[{"id":"h-all"},{"id":"h-en"}]}}`},
		{"an id", `{ content(documentType: "heroSection", id: "h-all") { id } }`,
			`{"data":{"content":[{"id":"h-all"}]}}`},
		{"a slug", `{ content(documentType: "heroSection", slug: "home") { id } }`,
			`{"data":{"content":[{"id":"h-en"}]}}`},
		{"a slug of another document", `{ content(documentType: "heroSection", id: "h-all", slug: "home") { id } }`,
			`{"data":{"content":[]}}`},
		{"none", `{ content(documentType: "page") { id } }`, `{"data":{"content":[]}}`},
	}

	for _, tt := range tests {
		if got := s.Query(tt.query, nil); string(got.Body) != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got.Body, tt.want)
		}
	}
}

func TestContractUnknownRoutes(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)

	for _, path := range []string{
		"/nothing",
		"/api/",
		"/api/nothing",
		"/api/quote/track/",
		"//api/quote/track",
		"/api/../secret",
		"/api//cache/clear",
		"/api/cache%2Fclear",
		"/playground/nothing",
		"/playground/assets/nothing",
		"/playgrounds",
	} {
		if got := s.RESTOutcome(s.Do("GET", path, "")); got.Status != 404 ||
			got.Code != "NOT_FOUND" {
			t.Errorf("GET %s: %s", path, got)
		}
	}
}
