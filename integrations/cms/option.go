package cms

import (
	"cmp"
	"encoding/json"
)

// OptionType is the document type of calculator options. It assigns a label and a price
// to a slug:
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
// Price is in the currency of the quote rules. Order is for editors and the site; this
// service does not use it. A site that translates whole documents sets a language in each
// of them and uses a plain string as the label. The slug may be a plain string as well.
const OptionType = "quoteOption"

// Labels returns the labels of slugs in one locale, falling back to the English label. If
// several documents have the same slug, one in the locale's language takes precedence,
// then the one with the smallest id.
func Labels(docs []Document, locale string) map[string]string {
	labels := map[string]string{}
	for _, language := range []string{locale, ""} {
		for _, d := range docs {
			if d.Type != OptionType || d.Language != language {
				continue
			}

			var option struct{ Label any }
			_ = json.Unmarshal(d.Fields, &option) // drivers return objects only
			label, _ := Text(option.Label, locale)
			if _, slug := OptionSlug(d); slug != "" && label != "" {
				labels[slug] = cmp.Or(labels[slug], label)
			}
		}
	}
	return labels
}
