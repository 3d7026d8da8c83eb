package resolvers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/cms"
	"siteapi/schema"
)

// scriptedCMS returns the answers that a test sets.
type scriptedCMS struct {
	mu      sync.Mutex
	title   string
	err     error
	release chan struct{} // fetches wait for it, if set, after reading the title
	calls   atomic.Int64
}

func (c *scriptedCMS) set(title string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.title, c.err = title, err
}

func (c *scriptedCMS) Fetch(ctx context.Context, q cms.Query) ([]cms.Document, error) {
	c.calls.Add(1)
	c.mu.Lock()
	title, err, release := c.title, c.err, c.release
	c.mu.Unlock()

	if release != nil {
		select {
		case <-release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}

	if err != nil {
		return nil, err
	}

	fields, _ := json.Marshal(map[string]string{"_id": "hero", "title": title})
	return []cms.Document{{ID: "hero", Type: "heroSection", Language: q.Locale, Fields: fields}}, nil
}

func (c *scriptedCMS) Ping(context.Context) error { return nil }

// clock is a time that a test moves.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()) }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func newContentResolver(t *testing.T, source cms.Content, fallbackDir string, c *clock) *Resolver {
	t.Helper()
	m := memory.New()
	t.Cleanup(func() { _ = m.Close() })

	r := New(Deps{
		CMS:          source,
		Cache:        m,
		FallbackDir:  fallbackDir,
		Log:          zerolog.Nop(),
		Now:          c.now,
		ContentTypes: []string{"heroSection"},
		ContentLife:  cache.Lifetime{Fresh: time.Hour, Stale: time.Hour},
	})

	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func title(t *testing.T, r *Resolver) string {
	t.Helper()
	docs, err := r.contentDocuments(context.Background(), "heroSection", schema.LocaleEn)
	if err != nil {
		return "error: " + err.Error()
	}

	var fields struct{ Title string }
	if len(docs) != 1 || json.Unmarshal(docs[0].Fields.(json.RawMessage), &fields) != nil {
		t.Fatalf("got %+v", docs)
	}
	return fields.Title
}

func TestFallbackCopyIsServedWhileTheCMSFails(t *testing.T) {
	t.Parallel()
	source, dir, c := &scriptedCMS{}, t.TempDir(), &clock{}
	source.set("", errors.New("down"))
	r := newContentResolver(t, source, dir, c)

	if got := title(t, r); got[:6] != "error:" {
		t.Fatalf("with no copy at all the answer is %q, want an error", got)
	}

	var coded *schema.Error
	if _, err := r.siteSettings(context.Background(), siteSettingsType); !errors.As(err, &coded) ||
		coded.Code != schema.CodeUpstreamUnavailable {
		t.Fatalf("the error is %v, want UPSTREAM_UNAVAILABLE", err)
	}

	source.set("one", nil)
	c.advance(cmsPause)
	if got := title(t, r); got != "one" {
		t.Fatalf("got %q", got)
	}

	source.set("", errors.New("down again"))
	if _, err := r.content.invalidate(context.Background(), schema.Locales()); err != nil {
		t.Fatal(err)
	}
	if got := title(t, r); got != "one" {
		t.Fatalf("after an invalidation with the CMS away: %q, want the fallback copy", got)
	}

	before := source.calls.Load()
	for range 10 {
		title(t, r)
	}
	if calls := source.calls.Load(); calls != before {
		t.Errorf("the CMS was asked %d times during the pause", calls-before)
	}

	again := newContentResolver(t, source, dir, c)
	if got := title(t, again); got != "one" {
		t.Errorf("after a restart with the CMS away: %q, want the copy on disk", got)
	}

	source.set("two", nil)
	c.advance(cmsPause)
	if got := title(t, r); got != "two" {
		t.Errorf("after the pause: %q, want the new content", got)
	}
}

func TestInvalidationEndsThePause(t *testing.T) {
	t.Parallel()
	source, c := &scriptedCMS{}, &clock{}
	r := newContentResolver(t, source, "", c)

	source.set("", errors.New("down"))
	title(t, r)

	source.set("new", nil)
	if _, err := r.content.invalidate(context.Background(), []schema.Locale{schema.LocaleEn}); err != nil {
		t.Fatal(err)
	}

	if got := title(t, r); got != "new" {
		t.Errorf("got %q: news from the CMS must be fetched at once", got)
	}
}

func TestFetchOvertakenByAnInvalidationIsNotServed(t *testing.T) {
	t.Parallel()
	source, c := &scriptedCMS{}, &clock{}
	r := newContentResolver(t, source, "", c)

	// A slow fetch has read the old title when the content is invalidated.
	release := make(chan struct{})
	source.set("old", nil)
	source.release = release
	slow := make(chan string, 1)
	go func() { slow <- title(t, r) }()
	for source.calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}

	source.mu.Lock()
	source.title, source.release = "new", nil
	source.mu.Unlock()
	if _, err := r.content.invalidate(context.Background(), schema.Locales()); err != nil {
		t.Fatal(err)
	}
	if got := title(t, r); got != "new" {
		t.Fatalf("a read after the invalidation got %q", got)
	}

	close(release)
	<-slow
	if got := title(t, r); got != "new" {
		t.Fatalf("the overtaken fetch put back %q", got)
	}

	source.set("", errors.New("down"))
	if _, err := r.content.invalidate(context.Background(), schema.Locales()); err != nil {
		t.Fatal(err)
	}
	if got := title(t, r); got != "new" {
		t.Fatalf("the overtaken fetch became the fallback copy: %q", got)
	}
}

func TestConcurrentMissesAskTheCMSOnce(t *testing.T) {
	t.Parallel()
	source, c := &scriptedCMS{}, &clock{}
	source.set("one", nil)
	source.release = make(chan struct{})
	r := newContentResolver(t, source, "", c)

	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { title(t, r) })
	}
	time.Sleep(20 * time.Millisecond)
	close(source.release)
	group.Wait()

	if calls := source.calls.Load(); calls != 1 {
		t.Errorf("50 readers caused %d fetches, want 1", calls)
	}
}

// TestRefetchAfterAWebhook follows a webhook until the CMS serves the change. A later
// webhook takes over the repetitions of the earlier one.
func TestRefetchAfterAWebhook(t *testing.T) {
	t.Parallel()
	source, c := &scriptedCMS{}, &clock{}
	source.set("lagging", nil)
	r := newContentResolver(t, source, "", c)

	for i := range 2 {
		header := map[string][]string{"Idempotency-Key": {fmt.Sprint("delivery-", i)}}
		ctx := schema.WithCaller(context.Background(), schema.Caller{Header: header})
		got, err := r.receiveCmsWebhook(ctx, map[string]any{"_type": "heroSection", "language": "en"})
		if err != nil || len(got.Invalidated) != 1 || got.Invalidated[0] != "content:locale:en" {
			t.Fatalf("got %+v, %v", got, err)
		}
		eventually(t, func() bool { return source.calls.Load() == int64(i+1) })
	}

	source.set("settled", nil)
	eventually(t, func() bool { return title(t, r) == "settled" })
	eventually(t, func() bool { return source.calls.Load() == 4 })
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("it did not happen within a minute")
}
