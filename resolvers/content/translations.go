package content

import (
	"encoding/json"
	"regexp"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// languageSuffix matches the end of the id of a translation, as an old plugin of the CMS
// writes it.
var languageSuffix = regexp.MustCompile(`^(.+)__i18n_([a-zA-Z]{2,3})(?:[-_][a-zA-Z0-9]+)*$`)

// baseOf returns the id of the document of which an id names a translation, and the
// language. Any other id is returned without a language.
func baseOf(id string) (base, language string) {
	if parts := languageSuffix.FindStringSubmatch(id); parts != nil {
		return parts[1], parts[2]
	}
	return id, ""
}

// addTranslations reads a document that lists documents that are translations of each
// other.
func (s *Snapshot) addTranslations(doc cms.Document) {
	var metadata struct {
		Translations []struct {
			Key      string `json:"_key"`
			Language string // since version 5 of the plugin
			Value    struct {
				Ref string `json:"_ref"`
			}
		}
	}
	_ = json.Unmarshal(doc.Fields, &metadata) // a value of another form counts as missing

	group := map[schema.Locale]string{}
	for _, t := range metadata.Translations {
		tag := cms.Language(map[string]any{"language": t.Language, "locale": t.Key})
		if locale, ok := schema.ParseLocale(tag); ok && t.Value.Ref != "" {
			group[locale] = t.Value.Ref
		}
	}
	for _, id := range group {
		s.groups[id] = group
	}
}

// Translate returns copies of documents with their translations in other locales. A
// document without a language is its own translation, with the slug in that language.
// Build is called with the size of what is added to each document.
func (s *Snapshot) Translate(
	docs []*schema.ContentDocument, others []*Snapshot, build func(size int) error,
) ([]*schema.ContentDocument, error) {
	const size = 128 // the bytes of a translation

	translated := make([]*schema.ContentDocument, len(docs))
	for i, doc := range docs {
		if err := build(size * len(others)); err != nil {
			return nil, err
		}
		shown := *doc
		shown.Translations = []*schema.ContentTranslation{}
		for _, other := range others {
			if t := s.translation(doc, other); t != nil {
				shown.Translations = append(shown.Translations, t)
			}
		}
		translated[i] = &shown
	}
	return translated, nil
}

// translation returns the translation of a document in the content of another locale, or
// nil if there is none.
func (s *Snapshot) translation(doc *schema.ContentDocument, other *Snapshot) *schema.ContentTranslation {
	found := other.byID[doc.ID]
	if doc.Locale != nil {
		base, _ := baseOf(doc.ID)
		if found = other.byID[s.groups[doc.ID][other.Locale]]; found == nil {
			found = other.byID[other.bases[base]]
		}
		if found == nil {
			found = other.byID[base]
		}
		if found == nil || found.Type != doc.Type || found.Locale == nil || *found.Locale != other.Locale {
			return nil
		}
	}
	if found == nil {
		return nil
	}

	slugs := slugsOf(found)
	slug, ok := slugs[string(other.Locale)]
	if !ok {
		slug = slugs[""]
	}
	if slug == "" && len(slugs) > 0 {
		return nil // it has no address in this language
	}
	return &schema.ContentTranslation{Locale: other.Locale, Slug: schema.Optional(slug), ID: found.ID}
}
