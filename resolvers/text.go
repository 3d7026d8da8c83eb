package resolvers

import (
	"slices"

	"siteapi/schema"
)

// distinct returns each of some texts once, without white space around them.
func distinct(list []string) (texts []string) {
	for _, text := range list {
		if text = schema.Trim(text); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// trimmed returns an optional text without white space around it, or an empty one.
func trimmed(s *string) string { return schema.Trim(schema.ValueOr(s, "")) }
