package cms

import "encoding/json"

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

// OptionSlug returns the group and the slug of a document of [OptionType]. The slug is a
// text or an object with the field current. A missing value, or one of another type, is
// returned as "".
func OptionSlug(d Document) (group, slug string) {
	var option struct{ Group, Slug any }
	_ = json.Unmarshal(d.Fields, &option) // a document that is not an object has neither

	group, _ = option.Group.(string)
	if object, ok := option.Slug.(map[string]any); ok {
		option.Slug = object["current"]
	}
	slug, _ = option.Slug.(string)
	return group, slug
}
