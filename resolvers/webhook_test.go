package resolvers

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

func TestNotice(t *testing.T) {
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
		{"other language", `{"_type":"heroSection","language":"fr"}`, nil},
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
			if got := newNotice(payload).locales(); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// datedCMS answers with one document that was updated when a test says.
type datedCMS struct {
	mu      sync.Mutex
	updated time.Time
	fetches []time.Time
}

func (c *datedCMS) Fetch(_ context.Context, q cms.Query) ([]cms.Document, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetches = append(c.fetches, time.Now())
	return []cms.Document{{ID: "hero", Type: "heroSection", Language: q.Locale, UpdatedAt: c.updated, Fields: json.RawMessage(`{"_id":"hero"}`)}}, nil
}

func (c *datedCMS) Ping(context.Context) error { return nil }

func (c *datedCMS) set(updated time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updated = updated
}

func (c *datedCMS) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.fetches)
}

// TestRefetchUntilPublished: a notification that says of which document and when is
// followed until the content shows it, long before the last look.
func TestRefetchUntilPublished(t *testing.T) {
	t.Parallel()
	before := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	after := before.Add(time.Minute)
	payload := func(id, typ string) map[string]any {
		return map[string]any{"_id": id, "_type": typ, "language": "en", "_updatedAt": after.Format(time.RFC3339)}
	}
	start := func(t *testing.T, payload map[string]any) *datedCMS {
		source := &datedCMS{updated: before}
		r := newContentResolver(t, source, nil, &clock{})
		r.SettleDelay = time.Minute
		if _, err := r.receiveCmsWebhook(context.Background(), payload); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return source.count() >= 1 })
		return source
	}
	t.Run("a lagging index", func(t *testing.T) {
		t.Parallel()
		source := start(t, payload("hero", "heroSection"))
		eventually(t, func() bool { return source.count() >= 3 })
		source.set(after)
		known := source.count()
		eventually(t, func() bool { return source.count() > known })
		time.Sleep(time.Second)
		if more := source.count() - known; more > 2 {
			t.Errorf("%d more fetches although the content was there", more)
		}
	})
	for name, p := range map[string]map[string]any{
		"a type that is not served": payload("hero", "invoice"),
		"no time":                   {"_id": "hero", "_type": "heroSection", "language": "en"},
		"no id":                     {"_type": "heroSection", "language": "en", "_updatedAt": after.Format(time.RFC3339)},
		"an odd time":               {"_id": "hero", "_type": "heroSection", "language": "en", "_updatedAt": "yesterday"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := start(t, p)
			time.Sleep(500 * time.Millisecond)
			if n := source.count(); n != 1 {
				t.Errorf("%d fetches, want 1 until the last look", n)
			}
		})
	}
}

// TestOneKeyForTwoNotifications: an idempotency key that a careless sender uses twice
// hides no publication.
func TestOneKeyForTwoNotifications(t *testing.T) {
	t.Parallel()
	source := &datedCMS{}
	r := newContentResolver(t, source, nil, &clock{})
	send := func(locale string) []string {
		ctx := schema.WithCaller(context.Background(), &schema.Caller{IdempotencyKey: "same", Body: []byte(locale)})
		got, err := r.receiveCmsWebhook(ctx, map[string]any{"_type": "heroSection", "language": locale})
		if err != nil {
			t.Fatal(err)
		}
		return got.Invalidated
	}
	if got := [][]string{send("en"), send("es"), send("en")}; got[0][0] != "content:locale:en" || got[1][0] != "content:locale:es" || got[2][0] != "content:locale:en" {
		t.Errorf("got %v", got)
	}
	time.Sleep(100 * time.Millisecond)
	if n := source.count(); n != 2 {
		t.Errorf("%d fetches, want 2: the third notification is a repetition", n)
	}
}
