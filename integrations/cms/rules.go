package cms

import "encoding/json"

// SettingsType is the document type of the site's settings, and the id of the only document
// of this type.
const SettingsType = "siteSettings"

// TranslationsType is the document type in which the plugin document-internationalization
// stores which documents are translations of each other. The service reads these documents
// and never serves them.
const TranslationsType = "translation.metadata"

// RulesType is the document type of the calculator's pricing rules, and the id of the
// only document of this type:
//
//	{
//	  "_id": "quoteRules", "_type": "quoteRules",
//	  "currency": "EUR", "spreadPercent": 35, "roundTo": 100,
//	  "minimum": 0, "validDays": 30, "enforce": true
//	}
//
// Currency, spreadPercent and roundTo are required. Without the document, the service
// does not compute prices.
const RulesType = "quoteRules"

// TextsType is the document type of the firm's own texts about quotes, and the id of the
// only document of this type. Its fields are the names of the texts in package pdf, each a
// localized value, and the number validityDays:
//
//	{
//	  "_id": "quoteTexts", "_type": "quoteTexts",
//	  "mailIntro": {"en": "Thank you, {firstName}.", "ro": "Mulțumim, {firstName}."},
//	  "validityDays": 30
//	}
const TextsType = "quoteTexts"

// OptionSlug returns the field of the selections to which a document of [OptionType]
// belongs, and its slug. The slug is a string or an object with the field current. A missing
// value, or one of another type, is returned as "".
func OptionSlug(d Document) (field, slug string) {
	var option struct {
		Group string
		Slug  any
	}
	_ = json.Unmarshal(d.Fields, &option) // a value of another type counts as missing

	switch option.Group {
	case "feature":
		field = "features"
	case "projectType", "complexity", "timeline":
		field = option.Group
	}
	if object, ok := option.Slug.(map[string]any); ok {
		option.Slug = object["current"]
	}
	slug, _ = option.Slug.(string)
	return field, slug
}
