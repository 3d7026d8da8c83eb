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
	for _, locale := range schema.AllLocale {
		s.Query(`query($l: Locale!) { content(documentType: "heroSection", locale: $l) { id } }`,
			map[string]any{"l": locale})
	}
	apptest.Eventually(s.T, "an entry for each locale is cached", func() bool {
		return size(s) == len(schema.AllLocale)
	})
}

func size(s *apptest.Service) int {
	stats := s.Through("REST", "cacheStats", nil).Data["stats"].(map[string]any)
	return int(stats["size"].(float64))
}

func keys(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	names := make([]string, 0, len(list))
	for _, item := range list {
		names = append(names, fmt.Sprint(item))
	}
	slices.Sort(names)
	return names
}

// allKeys returns the key of every locale's content, sorted.
func allKeys() (names []string) {
	for _, locale := range schema.AllLocale {
		names = append(names, "content:locale:"+string(locale))
	}
	slices.Sort(names)
	return names
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

	apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
		warm(s)
		want := map[string]any{"type": "memory", "size": float64(all), "available": true}
		if got := s.Through(endpoint, "cacheStats", nil); got.Data["success"] != true ||
			!reflect.DeepEqual(got.Data["stats"], want) {
			t.Errorf("statistics: %s", got)
		}

		for _, tt := range []struct {
			vars   map[string]any
			fields []string
		}{
			{nil, []string{"all", "pattern"}},
			{map[string]any{"all": false}, []string{"all", "pattern"}},
			{map[string]any{"all": true, "pattern": "content:*"}, []string{"all", "pattern"}},
			{map[string]any{"pattern": strings.Repeat("*", 257)}, []string{"pattern"}},
			{map[string]any{"pattern": "a\nb"}, []string{"pattern"}},
		} {
			got := s.Through(endpoint, "clearCache", tt.vars, apptest.CacheAuth)
			if !rejects(got, endpoint, tt.fields...) || size(s) != all {
				t.Errorf("%v: %s", tt.vars, got)
			}
		}

		for _, tt := range []struct {
			vars    map[string]any
			cleared int
		}{
			{map[string]any{"all": true}, all},
			{map[string]any{"pattern": "content:locale:[er][no]"}, 2},
			{map[string]any{"pattern": "other:*"}, 0},
			{map[string]any{"all": false, "pattern": "content:locale:ro"}, 1},
		} {
			warm(s)
			got := s.Through(endpoint, "clearCache", tt.vars, apptest.CacheAuth)
			want := map[string]any{"success": true, "cleared": float64(tt.cleared)}
			if !reflect.DeepEqual(got.Data, want) || size(s) != all-tt.cleared {
				t.Errorf("%v: %s, want %v", tt.vars, got, want)
			}
		}
	})

	for value, status := range map[string]int{"true": 200, "TRUE": 200, "False": 400, "1": 400, "": 400} {
		if got := s.Do("POST", "/api/cache/clear?all="+value, "", apptest.CacheAuth); got.Status != status {
			t.Errorf("all=%s: %s, want %d", value, got, status)
		}
	}
}

func TestContractInvalidateCache(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	s := apptest.Start(t, stubs.Env("CMS_WATCH=off")...)
	apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
		for _, tt := range []struct {
			input map[string]any
			want  []string
		}{
			{map[string]any{"type": "documentType", "documentType": "heroSection", "locale": "es"},
				[]string{"content:locale:es"}},
			{map[string]any{"type": "document", "documentType": "heroSection"}, allKeys()},
			{map[string]any{"type": "locale", "locale": "ro"}, []string{"content:locale:ro"}},
			{map[string]any{"type": "all"}, allKeys()},
			{map[string]any{"documentType": "heroSection"}, allKeys()},
			{map[string]any{"documentType": "unheardOf", "locale": "en"}, []string{"content:locale:en"}},
			{map[string]any{"locale": "en"}, []string{"content:locale:en"}},
		} {
			warm(s)
			// The CMS hangs, so that no entry is fetched again while they are counted.
			stubs.CMS.Fail(faulttest.Of(faulttest.Hang).Times(-1))
			for _, remaining := range []int{len(schema.AllLocale) - len(tt.want), 0} { // then all are removed
				got := s.Through(endpoint, "invalidateCache", map[string]any{"input": tt.input}, apptest.CacheAuth)
				if got.Data["success"] != true || !slices.Equal(keys(got.Data["invalidated"]), tt.want) ||
					size(s) != remaining {
					t.Errorf("%v: %s, want %v", tt.input, got, tt.want)
				}
				s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth)
			}
			stubs.Recover()
			s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth) // ends fetches that hang
		}

		for _, tt := range []struct {
			input  map[string]any
			fields []string
		}{
			{map[string]any{}, []string{"type"}},
			{map[string]any{"type": "document", "locale": "en"}, []string{"documentType"}},
			{map[string]any{"type": "locale", "documentType": "heroSection"}, []string{"locale"}},
		} {
			got := s.Through(endpoint, "invalidateCache", map[string]any{"input": tt.input}, apptest.CacheAuth)
			if !rejects(got, endpoint, tt.fields...) {
				t.Errorf("%v: %s", tt.input, got)
			}
		}

		wrong := map[string]any{"type": "page", "locale": "xx", "documentType": ""}
		got := s.Through(endpoint, "invalidateCache", map[string]any{"input": wrong}, apptest.CacheAuth)
		if !rejects(got, endpoint, "documentType", "locale", "type") ||
			!strings.Contains(got.Fields["locale"], "en, es, ro") ||
			!strings.Contains(got.Fields["type"], "documentType, document, locale, all") {
			t.Errorf("everything wrong: %s", got)
		}
	})
}

func TestContractWebhook(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	warm(s)
	apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
		for payload, want := range map[string][]string{
			`{"_id": "heroSection-es", "_type": "heroSection", "language": "es"}`: {"content:locale:es"},
			`{"_id": "siteSettings", "_type": "siteSettings"}`:                    allKeys(),
			`{"_type": "heroSection", "locale": "ro"}`:                            {"content:locale:ro"},
			`{"type": "heroSection", "_lang": "en"}`:                              {"content:locale:en"},
			`{"documentType": "heroSection", "__i18n_lang": "ro"}`:                {"content:locale:ro"},
			`{"language": "es", "locale": "ro"}`:                                  {"content:locale:es"},
			`{"language": "", "locale": "ro"}`:                                    {"content:locale:ro"},
			`{"_id": 5, "_type": ["x"], "language": {"a": 1}}`:                    allKeys(),
			`{"_type": "heroSection", "language": "xx"}`:                          {},
			`{"_type": "heroSection", "language": "es-ES"}`:                       {"content:locale:es"},
			`{"_type": "heroSection", "__i18n_lang": "ro_RO"}`:                    {"content:locale:ro"},
			`{"_type": "course", "language": "Deutsch"}`:                          allKeys(),

			// The document is still in the content of its former language.
			`{"_id": "heroSection-es", "_type": "heroSection", "language": "ro"}`: {"content:locale:es", "content:locale:ro"},
			`{"_id": "heroSection-es", "_type": "heroSection", "language": "de"}`: {"content:locale:es"},
			`{"_id": "siteSettings", "_type": "siteSettings", "language": "en"}`:  allKeys(),

			`{"_id": "drafts.heroSection-es", "_type": "heroSection", "language": "es"}`: {},
			`{"_id": "versions.r1.heroSection-es", "_type": "heroSection"}`:              {},
			`{"_id": "quoteSubmission.x"}`:                                               {},
			`{"documentType": "quoteSubmission"}`:                                        {},
		} {
			vars := map[string]any{"payload": json.RawMessage(payload)}
			for range 2 { // a repeated delivery is harmless
				got := s.Through(endpoint, "receiveCmsWebhook", vars, apptest.HookAuth)
				if got.Data["success"] != true || !slices.Equal(keys(got.Data["invalidated"]), want) ||
					!strings.Contains(got.Raw, `"invalidated":[`) {
					t.Errorf("%s: %s, want %v", payload, got, want)
				}
			}
		}
	})

	for _, body := range []string{`[{"_type":"x"}]`, `"x"`, `{}`, ``, `{`} {
		got := s.RESTOutcome(s.Do("POST", "/api/webhooks/cms", body, apptest.HookAuth))
		if got.Status != 400 || got.Code != "BAD_USER_INPUT" {
			t.Errorf("%s: %s", body, got)
		}
	}
}

func TestContractPublishedContentIsVisibleAtOnce(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CMS_WATCH=off")
	warm(s)
	hero(&s.Client, "Nuevo")
	s.Through("REST", "receiveCmsWebhook",
		map[string]any{"payload": map[string]any{"_type": "heroSection", "language": "es"}}, apptest.HookAuth)

	if got := s.Query(apptest.AskHero, nil); !got.Has("Nuevo") {
		t.Errorf("the first response after the webhook is %s", got.Body)
	}
}

func TestContractGuards(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CACHE_API_TOKEN=one, two")
	apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
		for _, g := range []struct {
			name  string
			vars  map[string]any
			good  string
			other string // token of the other routes
		}{
			{"clearCache", map[string]any{"pattern": "x"}, "one", config.DevWebhookSecret},
			{"invalidateCache", map[string]any{"input": map[string]any{"type": "all"}}, "two", config.DevWebhookSecret},
			{"receiveCmsWebhook", map[string]any{"payload": map[string]any{"_type": "x"}}, config.DevWebhookSecret, "one"},
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
	})

	// Without a token, invalid input is not examined.
	apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
		if got := s.Through(endpoint, "clearCache", map[string]any{"pattern": ""}); got.Code != "UNAUTHENTICATED" {
			t.Errorf("invalid input: %s", got)
		}
	})

	none := apptest.Start(t, "CACHE_API_TOKEN= , ")
	for _, token := range []string{config.DevCacheToken, "", ","} {
		if got := none.Do("POST", "/api/cache/clear?all=true", "", "Authorization: Bearer "+token); got.Status != 401 {
			t.Errorf("token %q without a configured token: %s", token, got)
		}
	}
}
