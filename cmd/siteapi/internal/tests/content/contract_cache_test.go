package content

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/upstream/faulttest"
	"siteapi/schema"
)

// warm fills the cache with every locale's content.
func warm(s *apptest.Service) {
	s.T.Helper()
	apptest.Eventually(s.T, "an entry for each locale is cached", func() bool {
		for _, locale := range schema.AllLocale {
			s.Query(`query($l: Locale!) { content(documentType: "heroSection", locale: $l) { id } }`,
				object{"l": locale})
		}
		return size(s) == len(schema.AllLocale)
	})
}

func size(s *apptest.Service) int {
	stats := s.Through("REST", "cacheStats", nil).Data["stats"].(object)
	return int(stats["size"].(float64))
}

// allLocales are the locales in the keys of an invalidation of everything.
var allLocales = fmt.Sprint(schema.AllLocale)

// invalidated returns the locales whose keys were invalidated, such as [en es].
func invalidated(got apptest.Outcome) string {
	return strings.ReplaceAll(fmt.Sprint(got.Data["invalidated"]), "content:locale:", "")
}

// rejects reports whether an outcome is BAD_USER_INPUT for the given fields.
func rejects(got apptest.Outcome, endpoint string, fields ...string) bool {
	return got.Code == "BAD_USER_INPUT" && slices.Equal(got.FieldNames(), fields) &&
		(endpoint != "REST" || got.Status == 400)
}

func TestContractClearCache(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CMS_WATCH=off")
	all := len(schema.AllLocale)

	for _, endpoint := range apptest.Endpoints {
		warm(s)
		want := object{"type": "memory", "size": float64(all), "available": true}
		if got := s.Through(endpoint, "cacheStats", nil); got.Data["success"] != true ||
			!reflect.DeepEqual(got.Data["stats"], want) {
			t.Errorf("statistics: %s", got)
		}

		for _, tt := range []struct {
			vars   object
			fields []string
		}{
			{nil, []string{"all", "pattern"}},
			{object{"all": false}, []string{"all", "pattern"}},
			{object{"all": true, "pattern": "content:*"}, []string{"all", "pattern"}},
			{object{"pattern": strings.Repeat("*", 257)}, []string{"pattern"}},
			{object{"pattern": "a\nb"}, []string{"pattern"}},
		} {
			got := s.Through(endpoint, "clearCache", tt.vars, apptest.CacheAuth)
			if !rejects(got, endpoint, tt.fields...) || size(s) != all {
				t.Errorf("%v: %s", tt.vars, got)
			}
		}

		for _, tt := range []struct {
			vars    object
			cleared int
		}{
			{object{"all": true}, all},
			{object{"pattern": "content:locale:[er][no]"}, 2},
			{object{"pattern": "other:*"}, 0},
			{object{"all": false, "pattern": "content:locale:ro"}, 1},
		} {
			// A renewal of the start may fill the cache in between.
			apptest.Eventually(t, fmt.Sprintf("%v clears %d entries", tt.vars, tt.cleared), func() bool {
				warm(s)
				got := s.Through(endpoint, "clearCache", tt.vars, apptest.CacheAuth)
				want := object{"success": true, "cleared": float64(tt.cleared)}
				return reflect.DeepEqual(got.Data, want) && size(s) == all-tt.cleared
			})
		}
	}
}

func TestContractInvalidateCache(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	s := apptest.Start(t, stubs.Env("CMS_WATCH=off")...)
	for _, endpoint := range apptest.Endpoints {
		for _, tt := range []struct {
			input object
			want  string
		}{
			{object{"type": "documentType", "documentType": "heroSection", "locale": "es"},
				"[es]"},
			{object{"type": "document", "documentType": "heroSection"}, allLocales},
			{object{"type": "locale", "locale": "ro"}, "[ro]"},
			{object{"type": "all"}, allLocales},
			{object{"documentType": "heroSection"}, allLocales},
			{object{"documentType": "unheardOf", "locale": "en"}, "[en]"},
			{object{"locale": "en"}, "[en]"},
		} {
			warm(s)
			// The CMS hangs, so that no entry is fetched again while they are counted.
			stubs.CMS.Fail(faulttest.Of(faulttest.Hang).Times(-1))
			kept := len(schema.AllLocale) - len(strings.Fields(tt.want))
			for _, remaining := range []int{kept, 0} { // then all are removed
				got := s.Through(endpoint, "invalidateCache", object{"input": tt.input}, apptest.CacheAuth)
				if got.Data["success"] != true || invalidated(got) != tt.want || size(s) != remaining {
					t.Errorf("%v: %s, want %v", tt.input, got, tt.want)
				}
				s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth)
			}
			stubs.Recover()
			s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth) // ends fetches that hang
		}

		for _, tt := range []struct {
			input  object
			fields []string
		}{
			{object{}, []string{"type"}},
			{object{"type": "document", "locale": "en"}, []string{"documentType"}},
			{object{"type": "locale", "documentType": "heroSection"}, []string{"locale"}},
		} {
			got := s.Through(endpoint, "invalidateCache", object{"input": tt.input}, apptest.CacheAuth)
			if !rejects(got, endpoint, tt.fields...) {
				t.Errorf("%v: %s", tt.input, got)
			}
		}

		wrong := object{"type": "page", "locale": "xx", "documentType": ""}
		got := s.Through(endpoint, "invalidateCache", object{"input": wrong}, apptest.CacheAuth)
		if !rejects(got, endpoint, "documentType", "locale", "type") ||
			!strings.Contains(got.Fields["locale"], "en, es, ro") ||
			!strings.Contains(got.Fields["type"], "documentType, document, locale, all") {
			t.Errorf("everything wrong: %s", got)
		}
	}
}

func TestContractWebhook(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	warm(s)
	for _, endpoint := range apptest.Endpoints {
		for payload, want := range map[string]string{
			`{"_id": "heroSection-es", "_type": "heroSection", "language": "es"}`: "[es]",
			`{"_id": "siteSettings", "_type": "siteSettings"}`:                    allLocales,
			`{"_type": "heroSection", "locale": "ro"}`:                            "[ro]",
			`{"type": "heroSection", "_lang": "en"}`:                              "[en]",
			`{"documentType": "heroSection", "__i18n_lang": "ro"}`:                "[ro]",
			`{"language": "es", "locale": "ro"}`:                                  "[es]",
			`{"language": "", "locale": "ro"}`:                                    "[ro]",
			`{"_id": 5, "_type": ["x"], "language": {"a": 1}}`:                    allLocales,
			`{"_type": "heroSection", "language": "xx"}`:                          "[]",
			`{"_type": "heroSection", "language": "es-ES"}`:                       "[es]",
			`{"_type": "heroSection", "__i18n_lang": "ro_RO"}`:                    "[ro]",
			`{"_type": "course", "language": "Deutsch"}`:                          "[]", // by name: no site uses it
			`{"_type": "course", "language": ["en", "de"]}`:                       allLocales,

			// The document is still in the content of its former language.
			`{"_id": "heroSection-es", "_type": "heroSection", "language": "ro"}`: "[es ro]",
			`{"_id": "heroSection-es", "_type": "heroSection", "language": "de"}`: "[es]",
			`{"_id": "siteSettings", "_type": "siteSettings", "language": "en"}`:  allLocales,

			// A document that is read by its id, whatever language a plugin wrote into it,
			// also at its first publication.
			`{"_id": "quoteRules", "_type": "quoteRules", "language": "en"}`: allLocales,
			`{"_id": "quoteTexts", "_type": "quoteTexts", "locale": "de"}`:   allLocales,
			`{"_type": "quoteRules", "language": "en"}`:                      allLocales,
			`{"_id": "siteSettings", "_type": "x", "_lang": "español"}`:      allLocales,
			`{"_id": "other", "_type": "siteSettings", "language": "es"}`:    "[es]",
			`{"_id": "drafts.quoteRules", "_type": "quoteRules"}`:            "[]",

			`{"_id": "drafts.heroSection-es", "_type": "heroSection", "language": "es"}`: "[]",
			`{"_id": "versions.r1.heroSection-es", "_type": "heroSection"}`:              "[]",
			`{"_id": "quoteSubmission.x"}`:                                               "[]",
			`{"documentType": "quoteSubmission"}`:                                        "[]",
		} {
			vars := object{"payload": json.RawMessage(payload)}
			for range 2 { // a repeated delivery is harmless
				got := s.Through(endpoint, "receiveCmsWebhook", vars, apptest.HookAuth)
				if got.Data["success"] != true || invalidated(got) != want {
					t.Errorf("%s: %s, want %v", payload, got, want)
				}
			}
		}
	}
}

func TestContractGuards(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CACHE_API_TOKEN=one, two")
	for _, endpoint := range apptest.Endpoints {
		for _, g := range []struct {
			name  string
			vars  object
			good  string
			other string // token of the other routes
		}{
			{"clearCache", object{"pattern": "x"}, "one", config.DevWebhookSecret},
			{"invalidateCache", object{"input": object{"type": "all"}}, "two", config.DevWebhookSecret},
			{"receiveCmsWebhook", object{"payload": object{"_type": "x"}}, config.DevWebhookSecret, "one"},
		} {
			if got := s.Through(endpoint, g.name, g.vars, "Authorization: bearer "+g.good); got.Code != "" {
				t.Errorf("%s with a good token: %s", g.name, got)
			}
			for _, header := range []string{
				"Authorization: Bearer " + g.good[:2],
				"Authorization: Bearer ",
				"Authorization: Bearer " + g.other,
				"Authorization: " + g.good,
				"X-No: token",
			} {
				got := s.Through(endpoint, g.name, g.vars, header)
				if got.Code != "UNAUTHENTICATED" || got.Data != nil || endpoint == "REST" &&
					(got.Status != 401 || got.Header.Get("WWW-Authenticate") != "Bearer") {
					t.Errorf("%s with %s: %s", g.name, header, got)
				}
			}
		}

		// Invalid input is not examined.
		if got := s.Through(endpoint, "clearCache", object{"pattern": ""}); got.Code != "UNAUTHENTICATED" {
			t.Errorf("invalid input: %s", got)
		}
	}

	none := apptest.Start(t, "CACHE_API_TOKEN= , ")
	for _, token := range []string{config.DevCacheToken, "", ","} {
		if got := none.Do("POST", "/api/cache/clear?all=true", "", "Authorization: Bearer "+token); got.Status != 401 {
			t.Errorf("token %q without a configured token: %s", token, got)
		}
	}
}
