package inbox

import (
	"encoding/json"
	"strings"
	"testing"

	"siteapi/schema"
)

// Each reason of a refused login has words in each language. Those in English are the messages
// of the errors.
func TestRefusalSpeaksEveryLanguage(t *testing.T) {
	t.Parallel()
	all := map[schema.Locale]refusalWords{}
	if err := json.Unmarshal(refusedWords, &all); err != nil {
		t.Fatal(err)
	}

	for _, locale := range schema.Locales() {
		w := all[locale]
		for _, text := range []string{w.Title, w.Heading, w.Again, w.Back, w.Help} {
			if text == "" {
				t.Errorf("%s lacks a text: %+v", locale, w)
			}
		}
		for _, reason := range []string{
			reasonCancelled, reasonElsewhere, reasonNoRole, reasonUnconfirmed, reasonUnavailable, reasonInternal,
		} {
			text := w.Reasons[reason]
			if (text == "") != (locale == schema.DefaultLocale) ||
				text != "" && strings.Contains(text, "{{claim}}") != (reason == reasonNoRole) {
				t.Errorf("%s, %s: %q", locale, reason, text)
			}
		}
	}
}
