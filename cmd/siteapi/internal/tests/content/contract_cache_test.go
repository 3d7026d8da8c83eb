package content

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema"
)

// startWarm starts a service with every locale's content in the cache, which no watch of the
// CMS renews.
func startWarm(t *testing.T) *apptest.Service {
	t.Helper()
	s := apptest.Start(t, map[string]string{"CMS_WATCH": "off"})

	for _, locale := range schema.AllLocale {
		s.Query(`query($l: Locale!) { content(documentType: "heroSection", locale: $l) { id } }`,
			map[string]any{"l": locale})
	}
	apptest.Eventually(s.T, "an entry for each locale is cached", func() bool {
		return size(s) == len(schema.AllLocale)
	})
	return s
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

func TestContractCacheStats(t *testing.T) {
	t.Parallel()
	s := startWarm(t)

	apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
		got := s.Through(endpoint, "cacheStats", nil)
		want := map[string]any{
			"success": true,
			"stats": map[string]any{
				"type":      "memory",
				"size":      float64(len(schema.AllLocale)),
				"available": true,
			},
		}

		if !reflect.DeepEqual(got.Data, want) {
			t.Errorf("got %s", got.Raw)
		}
	})
}

func TestContractClearCache(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		vars    map[string]any
		cleared float64
		code    string
		fields  []string
	}{
		{"all", map[string]any{"all": true}, float64(len(schema.AllLocale)), "", nil},
		{"everything below a prefix", map[string]any{"pattern": "content:*"},
			float64(len(schema.AllLocale)), "", nil},
		{"one key", map[string]any{"pattern": "content:locale:es"}, 1, "", nil},
		{"one character", map[string]any{"pattern": "content:locale:e?"}, 2, "", nil},
		{"a set", map[string]any{"pattern": "content:locale:[er][no]"}, 2, "", nil},
		{"nothing matches", map[string]any{"pattern": "other:*"}, 0, "", nil},
		{"all=false beside a pattern",
			map[string]any{"all": false, "pattern": "content:locale:ro"}, 1, "", nil},
		{"neither", nil, 0, "BAD_USER_INPUT", []string{"all", "pattern"}},
		{"all=false alone", map[string]any{"all": false}, 0, "BAD_USER_INPUT", []string{"all", "pattern"}},
		{"both", map[string]any{"all": true, "pattern": "content:*"}, 0, "BAD_USER_INPUT",
			[]string{"all", "pattern"}},
		{"pattern too long", map[string]any{"pattern": strings.Repeat("*", 257)}, 0,
			"BAD_USER_INPUT", []string{"pattern"}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
				s := startWarm(t)
				got := s.Through(endpoint, "clearCache", tt.vars, apptest.CacheAuth)

				if tt.code != "" {
					if got.Code != tt.code || !slices.Equal(got.FieldNames(), tt.fields) ||
						endpoint == "REST" && got.Status != 400 {
						t.Errorf("got %d %s", got.Status, got.Raw)
					}
					if size(s) != len(schema.AllLocale) {
						t.Error("a refused request removed entries")
					}
					return
				}

				if want := map[string]any{"success": true, "cleared": tt.cleared}; !reflect.DeepEqual(
					got.Data, want) {
					t.Errorf("got %s, want %v", got.Raw, want)
				}
				if left := size(s); left != len(schema.AllLocale)-int(tt.cleared) {
					t.Errorf("%d entries are left", left)
				}
			})
		})
	}
}

func TestContractClearCacheReadsAllInAnyLetterCase(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)

	for value, status := range map[string]int{
		"true":  200,
		"TRUE":  200,
		"True":  200,
		"false": 400,
		"FALSE": 400,
		"1":     400,
		"yes":   400,
		"on":    400,
		"":      400,
	} {
		if got := s.Do("POST", "/api/cache/clear?all="+value, "", apptest.CacheAuth); got.Status != status {
			t.Errorf("all=%s: %d %s, want %d", value, got.Status, got.Body, status)
		}
	}

	for _, pattern := range []string{"%00", "a%00", "%00a", "%0a", "a%0ab", "%C2%85", "%7F", "a%0a", "%09a", "%0a%00"} {
		got := s.Do("POST", "/api/cache/clear?pattern="+pattern, "", apptest.CacheAuth)
		literal, _ := url.QueryUnescape(pattern)
		text, _ := json.Marshal(literal)
		asked := s.Query(`mutation { clearCache(pattern: `+string(text)+`) { cleared } }`, nil, apptest.CacheAuth)
		if got.Status != 400 || !strings.Contains(string(asked.Body), "BAD_USER_INPUT") {
			t.Errorf("pattern=%s: %d %s, %s", pattern, got.Status, got.Body, asked.Body)
		}
	}
}

func TestContractInvalidateCache(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		input  map[string]any
		want   []string
		fields []string
	}{
		{"document type in a locale",
			map[string]any{"type": "documentType", "documentType": "heroSection", "locale": "es"},
			[]string{"content:locale:es"}, nil},
		{"document, its other word",
			map[string]any{"type": "document", "documentType": "heroSection", "locale": "es"},
			[]string{"content:locale:es"}, nil},
		{"document type in all locales",
			map[string]any{"type": "documentType", "documentType": "heroSection"}, allKeys(), nil},
		{"locale", map[string]any{"type": "locale", "locale": "ro"}, []string{"content:locale:ro"}, nil},
		{"all", map[string]any{"type": "all"}, allKeys(), nil},
		{"type follows from the document type",
			map[string]any{"documentType": "heroSection"}, allKeys(), nil},
		{"type follows from both", map[string]any{"documentType": "heroSection", "locale": "en"},
			[]string{"content:locale:en"}, nil},
		{"type follows from the locale", map[string]any{"locale": "en"}, []string{"content:locale:en"}, nil},
		{"a type the site does not serve", map[string]any{"documentType": "unheardOf", "locale": "en"},
			[]string{"content:locale:en"}, nil},
		{"nothing", map[string]any{}, nil, []string{"type"}},
		{"document type missing", map[string]any{"type": "documentType", "locale": "en"},
			nil, []string{"documentType"}},
		{"document type missing, other word", map[string]any{"type": "document"},
			nil, []string{"documentType"}},
		{"locale missing",
			map[string]any{"type": "locale", "documentType": "heroSection"}, nil, []string{"locale"}},
		{"unknown locale", map[string]any{"locale": "xx"}, nil, []string{"locale"}},
		{"unknown type", map[string]any{"type": "page"}, nil, []string{"type"}},
		{"everything wrong", map[string]any{"type": "page", "locale": "xx", "documentType": ""}, nil,
			[]string{"documentType", "locale", "type"}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
				s := startWarm(t)
				got := s.Through(endpoint, "invalidateCache", map[string]any{"input": tt.input}, apptest.CacheAuth)

				if tt.fields != nil {
					if got.Code != "BAD_USER_INPUT" || !slices.Equal(got.FieldNames(), tt.fields) ||
						endpoint == "REST" && got.Status != 400 {
						t.Errorf("got %d %s", got.Status, got.Raw)
					}
					return
				}

				if got.Data["success"] != true || !slices.Equal(keys(got.Data["invalidated"]), tt.want) {
					t.Errorf("got %s, want %v", got.Raw, tt.want)
				}
				if left := size(s); left != len(schema.AllLocale)-len(tt.want) {
					t.Errorf("%d entries are left", left)
				}
			})
		})
	}
}

func TestContractInvalidateNamesAllowedValues(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
		got := s.Through(endpoint, "invalidateCache",
			map[string]any{"input": map[string]any{"type": "page", "locale": "xx"}}, apptest.CacheAuth)
		if !strings.Contains(got.Fields["locale"], "en, es, ro") ||
			!strings.Contains(got.Fields["type"], "documentType, document, locale, all") {
			t.Errorf("got %v", got.Fields)
		}
	})
}

func TestContractInvalidateNamesKeysThatWereEmpty(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	s.Do("POST", "/api/cache/clear?all=true", "", apptest.CacheAuth)
	got := s.Through("REST", "invalidateCache",
		map[string]any{"input": map[string]any{"type": "all"}}, apptest.CacheAuth)
	if !slices.Equal(keys(got.Data["invalidated"]), allKeys()) {
		t.Errorf("got %s", got.Raw)
	}
}

func TestContractWebhook(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		payload map[string]any
		want    []string
	}{
		{"locale", map[string]any{"_id": "heroSection-es", "_type": "heroSection", "language": "es"},
			[]string{"content:locale:es"}},
		{"no locale", map[string]any{"_id": "siteSettings", "_type": "siteSettings"}, allKeys()},
		{"locale by another name", map[string]any{"_type": "heroSection", "locale": "ro"},
			[]string{"content:locale:ro"}},
		{"by a third", map[string]any{"type": "heroSection", "_lang": "en"}, []string{"content:locale:en"}},
		{"by a fourth", map[string]any{"documentType": "heroSection", "__i18n_lang": "ro"},
			[]string{"content:locale:ro"}},
		{"language wins over locale", map[string]any{"language": "es", "locale": "ro"},
			[]string{"content:locale:es"}},
		{"an empty language", map[string]any{"language": "", "locale": "ro"}, []string{"content:locale:ro"}},
		{"a null language", map[string]any{"_type": "siteSettings", "language": nil}, allKeys()},
		{"no type", map[string]any{"hello": "world"}, allKeys()},
		{"odd types",
			map[string]any{"_id": 5, "_type": []any{"x"}, "language": map[string]any{"a": 1}}, allKeys()},
		{"locale the site does not use",
			map[string]any{"_type": "heroSection", "language": "xx"}, []string{}},
		{"draft", map[string]any{"_id": "drafts.heroSection-es", "_type": "heroSection", "language": "es"},
			[]string{}},
		{"version", map[string]any{"_id": "versions.r1.heroSection-es", "_type": "heroSection"}, []string{}},
		{"a stored quote",
			map[string]any{"_id": "quoteSubmission.x", "_type": "quoteSubmission"}, []string{}},
		{"a stored quote by its id", map[string]any{"_id": "quoteSubmission.x"}, []string{}},
		{"a stored quote by its type", map[string]any{"documentType": "quoteSubmission"}, []string{}},
	}

	s := apptest.Start(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
				got := s.Through(endpoint, "receiveCmsWebhook",
					map[string]any{"payload": tt.payload}, apptest.HookAuth)
				again := s.Through(endpoint, "receiveCmsWebhook",
					map[string]any{"payload": tt.payload}, apptest.HookAuth)

				if got.Data["success"] != true || !slices.Equal(keys(got.Data["invalidated"]), tt.want) ||
					!reflect.DeepEqual(got.Data, again.Data) {
					t.Errorf("got %s, again %s, want %v", got.Raw, again.Raw, tt.want)
				}
				if !strings.Contains(got.Raw, `"invalidated":[`) {
					t.Errorf("invalidated is not a list: %s", got.Raw)
				}
			})
		})
	}

	for _, body := range []string{`[{"_type":"x"}]`, `"x"`} {
		if got := s.RESTOutcome(s.Do("POST", "/api/webhooks/cms", body, apptest.HookAuth)); got.Status != 400 ||
			got.Code != "BAD_USER_INPUT" {
			t.Errorf("%s: %d %s", body, got.Status, got.Raw)
		}
	}
}

func TestContractPublishedContentIsVisibleAtOnce(t *testing.T) {
	t.Parallel()
	s := startWarm(t)
	const ask = `{ content(documentType: "heroSection", locale: es) { fields } }`

	s.WriteContent(`[{"_id":"h","_type":"heroSection","language":"es","title":"Nuevo"},` +
		`{"_id":"siteSettings","_type":"siteSettings"}]`)
	s.Through("REST", "receiveCmsWebhook",
		map[string]any{"payload": map[string]any{"_type": "heroSection", "language": "es"}}, apptest.HookAuth)

	if got := s.Query(ask, nil); string(got.Body) !=
		`{"data":{"content":[{"fields":{"language":"es","title":"Nuevo"}}]}}` {
		t.Errorf("the first answer after the webhook is %s", got.Body)
	}
}

func TestContractGuards(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, map[string]string{"CACHE_API_TOKEN": "one, two"})
	bad := apptest.Start(t, map[string]string{"CACHE_API_TOKEN": " , "})

	guarded := []struct {
		name  string
		vars  map[string]any
		good  string
		other string // token of the other routes
	}{
		{"clearCache", map[string]any{"pattern": "x"}, "one", config.DevWebhookSecret},
		{"clearCache", map[string]any{"pattern": "x"}, "two", config.DevWebhookSecret},
		{"invalidateCache", map[string]any{"input": map[string]any{"type": "all"}},
			"two", config.DevWebhookSecret},
		{"receiveCmsWebhook", map[string]any{"payload": map[string]any{"_type": "x"}},
			config.DevWebhookSecret, "one"},
	}

	for _, g := range guarded {
		t.Run(g.name+" "+g.good, func(t *testing.T) {
			apptest.BothEndpoints(t, func(t *testing.T, endpoint string) {
				for _, scheme := range []string{"Bearer ", "bearer ", "Bearer  "} {
					if got := s.Through(endpoint, g.name, g.vars,
						"Authorization: "+scheme+g.good); got.Code != "" {
						t.Errorf("a good token after %q: %s", scheme, got.Raw)
					}
				}

				for _, header := range []string{
					"Authorization: Bearer wrong",
					"Authorization: Bearer ",
					"Authorization: Bearer " + g.good[:2],
					"Authorization: Bearer " + g.other,
					"Authorization: " + g.good,
					"Authorization: Basic " + g.good,
					"X-No: token",
				} {
					got := s.Through(endpoint, g.name, g.vars, header)
					if got.Code != "UNAUTHENTICATED" || got.Data != nil {
						t.Errorf("%s: %s", header, got.Raw)
					}
					if endpoint == "REST" &&
						(got.Status != 401 || got.Header.Get("WWW-Authenticate") != "Bearer") {
						t.Errorf("%s: status %d, WWW-Authenticate %q",
							header, got.Status, got.Header.Get("WWW-Authenticate"))
					}
				}
			})
		})
	}

	t.Run("no token configured", func(t *testing.T) {
		for _, token := range []string{config.DevCacheToken, "", ","} {
			if got := bad.Through("REST", "clearCache", map[string]any{"all": true},
				"Authorization: Bearer "+token); got.Code != "UNAUTHENTICATED" || got.Status != 401 {
				t.Errorf("token %q: %d %s", token, got.Status, got.Raw)
			}
		}
	})

	t.Run("a missing token wins over a bad body", func(t *testing.T) {
		got := s.Through("GraphQL", "invalidateCache",
			map[string]any{"input": map[string]any{"type": "nonsense"}})
		if got.Code != "UNAUTHENTICATED" {
			t.Errorf("GraphQL: %s", got.Raw)
		}
	})
}
