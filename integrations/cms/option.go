package cms

import "encoding/json"

// OptionType is the document type that gives a label and a price to a slug of the
// calculator:
//
//	{
//	  "_id": "quoteOption-blog", "_type": "quoteOption",
//	  "group": "feature", "order": 2,
//	  "slug": {"_type": "slug", "current": "blog"},
//	  "label": {"en": "Blog", "es": "Blog", "ro": "Blog"},
//	  "price": 600
//	}
//
// Group is projectType, feature, complexity or timeline. Slugs are unique across groups.
// Price is in euros; group, order and price serve editors and the site, not this service.
// A site that translates by document gives each document a language and a label that is
// one string; slug may be a plain string as well.
const OptionType = "quoteOption"

// Labels returns the labels of slugs in one locale, with the English label for a slug
// that has none in it. Of two documents for one slug the one in the locale's own language
// wins, then the one with the lesser id.
func Labels(docs []Document, locale string) map[string]string {
	labels := map[string]string{}
	own := map[string]bool{}
	for _, d := range docs {
		if d.Type != OptionType || d.Language != "" && d.Language != locale {
			continue
		}

		var option struct{ Slug, Label json.RawMessage }
		if json.Unmarshal(d.Fields, &option) != nil {
			continue
		}

		slug, label := oneOf(option.Slug, "current"), oneOf(option.Label, locale, "en")
		if slug == "" || label == "" {
			continue
		}

		if _, taken := labels[slug]; !taken || d.Language != "" && !own[slug] {
			labels[slug], own[slug] = label, d.Language != ""
		}
	}

	return labels
}

// oneOf reads a string, or the first of an object's named fields that holds one.
func oneOf(raw json.RawMessage, names ...string) string {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}

	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}

	for _, name := range names {
		if s, _ := fields[name].(string); s != "" {
			return s
		}
	}
	return ""
}
