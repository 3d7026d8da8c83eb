package inbox

import (
	"encoding/json"
	"strings"
	"testing"

	"siteapi/schema"
)

// The page of a refused login has every text in every language.
func TestRefusalPageInEveryLanguage(t *testing.T) {
	t.Parallel()
	words := map[schema.Locale]map[string]string{}
	if err := json.Unmarshal(refusedWords, &words); err != nil {
		t.Fatal(err)
	}
	for _, locale := range schema.Locales() {
		for name := range words[schema.DefaultLocale] {
			if text := words[locale][name]; text == "" || strings.Contains(text, "{{claim}}") != (name == "no_role") {
				t.Errorf("%s, %s: %q", locale, name, text)
			}
		}
	}
}
