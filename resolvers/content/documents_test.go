package content

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// snapshotOf returns the content in a locale, with documents as a driver returns them.
func snapshotOf(t *testing.T, locale schema.Locale, texts ...string) *Snapshot {
	t.Helper()
	var docs []cms.Document
	for _, text := range texts {
		doc, err := cms.Decode([]byte(text), func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	slices.SortFunc(docs, func(a, b cms.Document) int { return strings.Compare(a.ID, b.ID) })
	docs, hidden := shown(docs, locale)
	return newSnapshot(docs, hidden, locale)
}

func ids(docs []*schema.ContentDocument) string {
	var list []string
	for _, doc := range docs {
		list = append(list, doc.ID)
	}
	return strings.Join(list, " ")
}

// TestOrder orders documents by the values that fields of sites have.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ locale, values, order, want, why string }{
		{"en", `3|1|2|null`, "f", "b c a d", "numbers; null is no value"},
		{"en", `3|1|2|null`, "-f", "a c b d", "a missing value is last in both directions"},
		{"en", `10|9|-1|-2.5|0|1e3`, "f", "d c e b a f", "numbers are not strings"},
		{"en", `"b"|"a"|"B"|"A"`, "f", "b d a c", "letter case counts last"},
		{"en", `"zebra"|"Äpfel"|"apple"|"Zoo"`, "f", "b c a d", "English sorts ä with a, and f before p"},
		{"es", `"nube"|"ñu"|"noche"|"oso"`, "f", "c a b d", "Spanish has ñ after n"},
		{"ro", `"șarpe"|"sus"|"tare"|"țară"`, "f", "b a c d", "Romanian has ș after s and ț after t"},
		{"ro", `"înger"|"ied"|"joc"`, "f", "b a c", "Romanian has î after i"},
		{"en", `"2026-02-01T00:00:00Z"|"2026-01-31T23:30:00-02:00"|"2026-02-01"`, "f", "a c b", "times in other zones, dates"},
		{"en", `"2026-02-01"|"text"|5|true`, "f", "c a b d", "numbers and times, then strings; a flag has no order"},
		{"en", `"\u200b"|"b"|"\ufeffa"`, "f", "c b a", "a string that nobody sees is missing, and marks do not count"},
		{"en", `-0.0|0|-1|1e-7`, "f", "c a b d", "zero has one place"},
		{"es", `{"en":"b","es":"z"}|{"en":"c"}|[{"_key":"es","value":"a"}]`, "f", "c b a", "localized strings"},
		{"en", `"x"|"x"|"x"`, "-f", "a b c", "equal ones by id, also descending"},
		{"en", `["x"]|{"current":"a"}|{"_ref":"a"}`, "f", "a b c", "lists and other objects have no order"},
		{"en", `2|1`, "unheardOf", "a b", "a field that no document has"},
		{"en", `2|1`, "-", "a b", "no field at all"},
	} {
		var docs []string
		for i, value := range strings.Split(tc.values, "|") {
			docs = append(docs, fmt.Sprintf(`{"_id":"%c","_type":"page","f":%s}`, 'a'+i, value))
		}
		s := snapshotOf(t, schema.Locale(tc.locale), docs...)
		found, _ := s.Documents("page", Selection{OrderBy: []string{tc.order}})
		if got := ids(found); got != tc.want {
			t.Errorf("%s by %s (%s): %s, want %s", tc.values, tc.order, tc.why, got, tc.want)
		}
	}
}

// TestSlugByLanguage finds documents by a slug in each form that sites keep it in. A slug of
// the locale itself comes first.
func TestSlugByLanguage(t *testing.T) {
	t.Parallel()
	docs := []string{
		`{"_id":"object","_type":"page","slug":{"en":{"_type":"slug","current":"about"},"es":{"current":"sobre"}}}`,
		`{"_id":"texts","_type":"page","slug":{"_type":"localeString","en":"team","ro-RO":"echipa"}}`,
		`{"_id":"array","_type":"page","slug":[{"_key":"en","value":{"current":"prices"}},{"_key":"x","language":"es","value":"precios"}]}`,
		`{"_id":"plain","_type":"page","slug":{"current":"home"}}`,
		`{"_id":"twin-en","_type":"page","slug":{"en":"chat","es":"gato"}}`,
		`{"_id":"twin-es","_type":"page","slug":{"en":"cat","es":"chat"}}`,
		`{"_id":"same","_type":"page","slug":{"en":"blog","es":"blog"}}`,
		`{"_id":"odd","_type":"page","slug":{"en":7,"es":null,"current":null}}`,
	}
	for _, tc := range []struct{ locale, slug, want string }{
		{"en", "about", "object"}, {"es", "sobre", "object"}, {"ro", "sobre", "object"}, {"es", "about", "object"},
		{"ro", "echipa", "texts"}, {"es", "team", "texts"},
		{"es", "precios", "array"}, {"en", "prices", "array"},
		{"en", "home", "plain"}, {"ro", "home", "plain"},
		{"en", "chat", "twin-en"}, {"es", "chat", "twin-es"}, {"ro", "chat", "twin-en twin-es"},
		{"en", "blog", "same"}, {"ro", "blog", "same"},
		{"en", "", ""}, {"en", "current", ""}, {"en", "7", ""},
	} {
		s := snapshotOf(t, schema.Locale(tc.locale), docs...)
		found, _ := s.Documents("page", Selection{Slug: &tc.slug})
		if got := ids(found); got != tc.want {
			t.Errorf("%s in %s: %q, want %q", tc.slug, tc.locale, got, tc.want)
		}
	}
}

// TestTranslations names documents in other languages as the CMS's plugins do.
func TestTranslations(t *testing.T) {
	t.Parallel()
	docs := []string{
		`{"_id":"en1","_type":"page","language":"en","slug":{"current":"about"}}`,
		`{"_id":"es1","_type":"page","language":"es-ES","slug":{"current":"sobre"}}`,
		`{"_id":"ro1","_type":"page","language":"ro"}`,
		`{"_id":"m1","_type":"translation.metadata","translations":[
			{"_key":"en","value":{"_ref":"en1"}},{"_key":"es","value":{"_ref":"es1"}},{"_key":"a","language":"ro","value":{"_ref":"ro1"}},
			{"_key":"de","value":{"_ref":"de1"}}]}`,
		`{"_id":"old","_type":"page","language":"en","slug":"old"}`,
		`{"_id":"old__i18n_es_ES","_type":"page","__i18n_lang":"es_ES","slug":"viejo"}`,
		`{"_id":"alone","_type":"page","language":"en","slug":"alone"}`,
		`{"_id":"m2","_type":"translation.metadata","translations":[{"_key":"en","value":{"_ref":"alone"}},{"_key":"es","value":{"_ref":"gone"}},null,7]}`,
		`{"_id":"mixed","_type":"page","language":"en"}`,
		`{"_id":"m3","_type":"translation.metadata","translations":[{"_key":"en","value":{"_ref":"mixed"}},{"_key":"es","value":{"_ref":"post"}},{"_key":"ro","value":{"_ref":"all"}}]}`,
		`{"_id":"post","_type":"post","language":"es"}`,
		`{"_id":"all","_type":"page","slug":{"current":"home"}}`,
		`{"_id":"fields","_type":"page","slug":{"en":"team","es":"equipo"}}`,
		`{"_id":"bare","_type":"page"}`,
	}
	snaps := map[string]*Snapshot{}
	for _, locale := range schema.Locales() {
		snaps[string(locale)] = snapshotOf(t, locale, docs...)
	}

	for _, tc := range []struct{ locale, id, want string }{
		{"en", "en1", "es=sobre(es1) ro=(ro1)"},
		{"es", "es1", "en=about(en1) ro=(ro1)"},
		{"ro", "ro1", "en=about(en1) es=sobre(es1)"},
		{"en", "old", "es=viejo(old__i18n_es_ES)"},
		{"es", "old__i18n_es_ES", "en=old(old)"},
		{"en", "alone", ""}, // its translation is not published
		{"en", "mixed", ""}, // of another type, or for all languages
		{"en", "all", "es=home(all) ro=home(all)"},
		{"en", "fields", "es=equipo(fields)"}, // no address in Romanian
		{"ro", "fields", "en=team(fields) es=equipo(fields)"},
		{"en", "bare", "es=(bare) ro=(bare)"},
	} {
		var others []*Snapshot
		for _, locale := range schema.Locales() {
			if string(locale) != tc.locale {
				others = append(others, snaps[string(locale)])
			}
		}
		found, _ := snaps[tc.locale].Documents("page", Selection{ID: &tc.id})
		size := 0
		translated, err := snaps[tc.locale].Translate(found, others, func(n int) error { size += n; return nil })
		if err != nil || len(translated) != 1 || size == 0 {
			t.Fatalf("%s: %v, %v, %d", tc.id, translated, err, size)
		}
		var got []string
		for _, other := range translated[0].Translations {
			got = append(got, fmt.Sprintf("%s=%s(%s)", other.Locale, schema.ValueOr(other.Slug, ""), other.ID))
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s in %s: %s, want %s", tc.id, tc.locale, text, tc.want)
		}
	}
	if metadata, total := snaps["en"].Documents(cms.TranslationsType, Selection{}); total != 0 {
		t.Errorf("documents of the plugin are served: %v", metadata)
	}
}

// TestReferences replaces references as sites have them.
func TestReferences(t *testing.T) {
	t.Parallel()
	s := snapshotOf(t, "en",
		`{"_id":"author","_type":"person","name":"Ana","boss":{"_ref":"boss"}}`,
		`{"_id":"boss","_type":"person","name":"Bo","report":{"_ref":"author"}}`,
		`{"_id":"bare","_type":"person"}`,
		`{"_id":"settings","_type":"siteSettings"}`,
	)
	const boss = `{"_id":"boss","_type":"person","name":"Bo","report":{"_ref":"author"}}`
	for _, tc := range []struct {
		fields string
		depth  int
		want   string
		why    string
	}{
		{`{"n":1.50,"t":"\u003cș\u003e"}`, 2, `{"n":1.50,"t":"\u003cș\u003e"}`, "no reference: as it is"},
		{`{"by":{"_type":"reference","_ref":"boss"}}`, 1, `{"by":` + boss + `}`, "a field"},
		{`{"by":{"_ref":"author"}}`, 1, `{"by":{"_id":"author","_type":"person","boss":{"_ref":"boss"},"name":"Ana"}}`,
			"one deep"},
		{`{"by":{"_ref":"author"}}`, 2, `{"by":{"_id":"author","_type":"person","boss":` + boss + `,"name":"Ana"}}`, "two deep"},
		{`{"by":[{"_key":"k1","_ref":"boss"},{"_key":"k2","_ref":"gone"}]}`, 1,
			`{"by":[{"_id":"boss","_key":"k1","_type":"person","name":"Bo","report":{"_ref":"author"}},{"_key":"k2","_ref":"gone"}]}`,
			"a list keeps its keys; a document that is not published"},
		{`{"body":[{"_type":"block","markDefs":[{"_key":"m","_type":"link","to":{"_ref":"bare"}}]}]}`, 1,
			`{"body":[{"_type":"block","markDefs":[{"_key":"m","_type":"link","to":{"_id":"bare","_type":"person"}}]}]}`,
			"an annotation of rich text; a document without fields"},
		{`{"a":{"_ref":"settings"}}`, 1, `{"a":{"_ref":"settings"}}`, "a type that is not served"},
		{`{"a":{"_dataset":"other","_ref":"boss"}}`, 1, `{"a":{"_dataset":"other","_ref":"boss"}}`, "another dataset"},
		{`{"a":{"_ref":"page"}}`, 2, `{"a":{"_ref":"page"}}`, "the document itself"},
		{`{"a":{"_ref":7},"b":{"_ref":null},"c":{"_ref":""}}`, 2, `{"a":{"_ref":7},"b":{"_ref":null},"c":{"_ref":""}}`,
			"no id"},
		{`{"i":{"asset":{"_ref":"image-a-1x1-png"}}}`, 2, `{"i":{"asset":{"_ref":"image-a-1x1-png"}}}`, "an image"},
	} {
		doc := &schema.ContentDocument{ID: "page", Type: "page", Fields: json.RawMessage(tc.fields)}
		refs := References{Snapshot: s, Types: []string{"page", "person"}, Build: func(int) error { return nil }}
		got, err := refs.Resolve([]*schema.ContentDocument{doc}, tc.depth)
		if err != nil || string(got[0].Fields.(json.RawMessage)) != tc.want || string(doc.Fields.(json.RawMessage)) != tc.fields {
			t.Errorf("%s, %d deep (%s):\n%s, %v, want\n%s", tc.fields, tc.depth, tc.why, got[0].Fields, err, tc.want)
		}
	}

	// A circle ends where it would begin again.
	author, _ := s.Documents("person", Selection{ID: new("author")})
	refs := References{Snapshot: s, Types: []string{"person"}, Build: func(int) error { return nil }}
	got, err := refs.Resolve(author, 2)
	want := `{"boss":{"_id":"boss","_type":"person","name":"Bo","report":{"_ref":"author"}},"name":"Ana"}`
	if err != nil || string(got[0].Fields.(json.RawMessage)) != want {
		t.Errorf("a circle: %s, %v", got[0].Fields, err)
	}
}

// TestProblems names each document and value that the service leaves out.
func TestProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"_id":"h","_type":"heroSection","language":"de"}`:                                                `documents of type heroSection are hidden, since the site does not use their language: "h" (de)`,
		`{"_id":"h","_type":"heroSection","language":"en-GB"}`:                                             ``,
		`{"_id":"h","_type":"heroSection","language":"Spanish"}`:                                           `documents of type heroSection are hidden, since the site does not use their language: "h" (Spanish)`,
		`{"_id":"i18n.h.es","_type":"heroSection","__i18n_lang":"es"}`:                                     `documents of type heroSection are hidden, since an id with a dot is private: "i18n.h.es"`,
		`{"_id":"siteSettings","_type":"siteSettings","language":"es","title":"x"}`:                        `document "siteSettings": its language es does not count, since the document belongs to all languages`,
		`{"_id":"siteSettings","_type":"siteSettings","title":7,"contactEmail":[1]}`:                       `document "siteSettings": contactEmail has the wrong type; document "siteSettings": title has the wrong type`,
		`{"_id":"siteSettings","_type":"siteSettings","contactPhones":[{"number":"1"}]}`:                   `document "siteSettings": contactPhones[0] lacks a number or a display location`,
		`{"_id":"b","_type":"quoteOption","group":"feature","slug":"blog"}`:                                `document "b": document "a" has the same slug or purpose`,
		`{"_id":"b","_type":"quoteOption","group":"feature","slug":"shop"}`:                                `document "b": it has no label in en`,
		`{"_id":"b","_type":"quoteOption","group":"color","slug":"shop","label":"Shop"}`:                   `document "b": its slug and group, or its purpose and text, are missing`,
		`{"_id":"b","_type":"quoteOption","group":"feature","label":"Shop"}`:                               `document "b": its slug and group, or its purpose and text, are missing`,
		`{"_id":"b","_type":"quoteOption","group":"timeline","slug":"blog","label":"Blog"}`:                `document "b": document "a" has the same slug or purpose`,
		`{"_id":"b","_type":"quoteOption","language":"en","group":"feature","slug":"blog","label":"Blog"}`: ``,
		`{"_id":"d","_type":"consentText","language":"en","purpose":"news","text":"Again"}`:                `document "d": document "c" has the same slug or purpose`,
		`{"_id":"d","_type":"consentText","language":"en","purpose":"other"}`:                              `document "d": its slug and group, or its purpose and text, are missing`,
		`{"_id":"d","_type":"consentText","language":"en","purpose":"other","text":{"es":"x"}}`:            `document "d": its slug and group, or its purpose and text, are missing`,
		`{"_id":"d","_type":"consentText","purpose":"news","text":{"en":"For all"}}`:                       ``,
	} {
		s := snapshotOf(t, "en", text,
			`{"_id":"a","_type":"quoteOption","group":"feature","slug":"blog","label":{"en":"Blog"}}`,
			`{"_id":"c","_type":"consentText","language":"en","purpose":"news","text":"News"}`)
		if got := strings.Join(s.Problems, "; "); got != want {
			t.Errorf("%s:\n%s, want\n%s", text, got, want)
		}
	}
}
