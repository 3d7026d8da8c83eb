package cms

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// DefaultLanguage is the language of a plain string where strings are localized, and
// of the one that is used if another is missing.
const DefaultLanguage = "en"

// languageTag matches a BCP 47 language tag, also with underscores. Its first group is
// the language without script and region.
var languageTag = regexp.MustCompile(`^\s*([a-zA-Z]{2,3})(?:[-_][a-zA-Z0-9]{1,8})*\s*$`)

// languageOf returns the language of a tag, such as "es" of "es-ES", "es_ES" and "ES". It
// returns "" if the value is not a tag.
func languageOf(value any) string {
	text, _ := value.(string)
	if tag := languageTag.FindStringSubmatch(text); tag != nil {
		return strings.ToLower(tag[1])
	}
	return ""
}

// Language returns the language in the fields of a document or of a webhook's payload, or
// "" if it has none. The fields are those of Sanity's plugins. If none of them has a
// language tag, another text counts as a language that no site uses, such as "Spanish".
func Language(fields map[string]any) (language string) {
	for _, name := range []string{"language", "locale", "_lang", "__i18n_lang"} {
		if tag := languageOf(fields[name]); tag != "" {
			return tag
		}
		if text, _ := fields[name].(string); language == "" {
			language = strings.TrimSpace(text)
		}
	}
	return language
}

// Slugs returns the slugs of a document by language. A slug for all languages has the
// language "". A slug is a string, or an object with the field current.
func Slugs(fields json.RawMessage) map[string]string {
	var document struct{ Slug any }
	_ = json.Unmarshal(fields, &document) // drivers return objects only

	value := plainSlug(document.Slug)
	switch v := value.(type) {
	case string:
		return map[string]string{"": v}
	case map[string]any:
		for language, slug := range v {
			v[language] = plainSlug(slug)
		}
	case []any:
		for _, item := range v {
			if entry, ok := item.(map[string]any); ok {
				entry["value"] = plainSlug(entry["value"])
			}
		}
	}
	slugs, _ := Texts(value)
	return slugs
}

// plainSlug returns the text of a slug that is an object, and any other value unchanged.
func plainSlug(value any) any {
	object, _ := value.(map[string]any)
	if current, ok := object["current"]; ok {
		return current
	}
	return value
}

// Texts returns the strings of a localized value by language. The value is an object by
// language, an array of the internationalized-array plugin, or a plain string in the
// [DefaultLanguage]. Blank strings count as missing. Texts returns false if a part of the
// value has another form.
func Texts(value any) (texts map[string]string, ok bool) {
	tagged := map[string]any{}
	ok = true
	switch v := value.(type) {
	case nil:
	case string:
		tagged[DefaultLanguage] = v
	case map[string]any:
		tagged = v
	case []any:
		for _, item := range v {
			entry, _ := item.(map[string]any)
			tag, isTag := entry["language"].(string) // since version 5 of the plugin
			if !isTag {
				tag, _ = entry["_key"].(string)
			}
			tagged[tag] = entry["value"]
		}
	default:
		ok = false
	}

	texts = map[string]string{}
	for _, tag := range slices.Sorted(maps.Keys(tagged)) { // "es" precedes "es-MX"
		if strings.HasPrefix(tag, "_") {
			continue
		}

		language := languageOf(tag)
		text, isText := tagged[tag].(string)
		ok = ok && language != "" && (isText || tagged[tag] == nil)
		if language != "" && texts[language] == "" && strings.TrimSpace(text) != "" {
			texts[language] = text
		}
	}
	return texts, ok
}

// Text returns the text of a localized value in a language, or else in the
// [DefaultLanguage], or "" if it has neither. It returns false like [Texts].
func Text(value any, language string) (string, bool) {
	texts, ok := Texts(value)
	return cmp.Or(texts[language], texts[DefaultLanguage]), ok
}
