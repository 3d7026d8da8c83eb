package cms

import "encoding/json"

// RulesType is the document type, and the id of its only document, by whose rules the
// options of the calculator are priced:
//
//	{
//	  "_id": "quoteRules", "_type": "quoteRules",
//	  "currency": "EUR", "spreadPercent": 35, "roundTo": 100,
//	  "minimum": 0, "validDays": 30, "enforce": true
//	}
//
// Currency, spreadPercent and roundTo are required. Without the document nothing is priced.
const RulesType = "quoteRules"

// OptionSlug returns the group and the slug of a document of [OptionType]; one that is
// missing or of another type is empty.
func OptionSlug(d Document) (group, slug string) {
	var option struct{ Group, Slug json.RawMessage }
	if json.Unmarshal(d.Fields, &option) != nil {
		return "", ""
	}
	return oneOf(option.Group), oneOf(option.Slug, "current")
}
