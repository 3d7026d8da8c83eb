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

// OptionSlug returns the group and the slug of a document of [OptionType]. A missing
// value, or one of another type, is returned as "".
func OptionSlug(d Document) (group, slug string) {
	var option struct{ Group, Slug json.RawMessage }
	if json.Unmarshal(d.Fields, &option) != nil {
		return "", ""
	}
	return oneOf(option.Group), oneOf(option.Slug, "current")
}
