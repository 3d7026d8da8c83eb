package resolvers

import (
	"encoding/json"
	"slices"
	"testing"

	"siteapi/schema"
)

func TestWebhookEvent(t *testing.T) {
	t.Parallel()
	all := schema.Locales()
	tests := []struct {
		name, payload string
		want          []schema.Locale
	}{
		{"language", `{"_id":"hero-es","_type":"heroSection","language":"es"}`, []schema.Locale{"es"}},
		{"locale", `{"_type":"heroSection","locale":"ro"}`, []schema.Locale{"ro"}},
		{"_lang", `{"_type":"heroSection","_lang":"en"}`, []schema.Locale{"en"}},
		{"__i18n_lang", `{"_type":"heroSection","__i18n_lang":"ro"}`, []schema.Locale{"ro"}},
		{"language wins over locale", `{"language":"es","locale":"ro"}`, []schema.Locale{"es"}},
		{"empty language, then locale", `{"language":"","locale":"ro"}`, []schema.Locale{"ro"}},
		{"null language", `{"language":null,"_type":"siteSettings"}`, all},
		{"no language", `{"_id":"siteSettings","_type":"siteSettings"}`, all},
		{"no type", `{"_id":"x"}`, all},
		{"anything", `{"hello":"world"}`, all},
		{"other language", `{"_type":"heroSection","language":"xx"}`, nil},
		{"draft", `{"_id":"drafts.hero-es","_type":"heroSection","language":"es"}`, nil},
		{"version", `{"_id":"versions.r1.hero-es","_type":"heroSection"}`, nil},
		{"own submission by type", `{"_id":"quoteSubmission.abc","_type":"quoteSubmission"}`, nil},
		{"own submission by id", `{"_id":"quoteSubmission.abc"}`, nil},
		{"own submission by documentType", `{"documentType":"quoteSubmission"}`, nil},
		{"odd types of fields", `{"_id":5,"_type":["x"],"language":{"a":1}}`, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var payload map[string]any
			if err := json.Unmarshal([]byte(tt.payload), &payload); err != nil {
				t.Fatal(err)
			}
			if got := newWebhookEvent(payload).locales(); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
