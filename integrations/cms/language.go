package cms

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// DefaultLanguage is the language of a plain text where texts are localized, and of the
// text that is used if another one is missing.
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
// "" if it has none. The fields are those of Sanity's plugins. Values that are not
// language tags do not count.
func Language(fields map[string]any) string {
	for _, name := range []string{"language", "locale", "_lang", "__i18n_lang"} {
		if language := languageOf(fields[name]); language != "" {
			return language
		}
	}
	return ""
}

// Texts returns the texts of a localized value by language. The value is an object by
// language, an array of the internationalized-array plugin, or a plain text in the
// [DefaultLanguage]. Blank texts count as missing. Texts returns false if a part of the
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
