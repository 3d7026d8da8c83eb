package content

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/cms"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// scriptedCMS is a CMS whose responses a test sets.
type scriptedCMS struct {
	mu    sync.Mutex
	title string
	err   error
	calls atomic.Int64
}

func (c *scriptedCMS) set(title string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.title, c.err = title, err
}

func (c *scriptedCMS) Fetch(context.Context, cms.Query) ([]cms.Document, error) {
	c.calls.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}

	fields, _ := json.Marshal(map[string]string{"title": c.title})
	return []cms.Document{{ID: "hero", Type: "heroSection", Fields: fields}}, nil
}

func (c *scriptedCMS) Ping(context.Context) error { return nil }

// clock is a clock that stands still.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

func newService(t *testing.T, source cms.Content, fallbackDir string, c *clock) *Service {
	t.Helper()
	m := memory.New()
	t.Cleanup(func() { _ = m.Close() })

	s := New(Options{
		CMS:         source,
		Cache:       m,
		FallbackDir: fallbackDir,
		Log:         zerolog.Nop(),
		Now:         c.now,
		Types:       []string{"heroSection"},
		Life:        cache.Lifetime{Fresh: time.Hour, Stale: time.Hour},
	})

	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func title(t *testing.T, s *Service) string {
	t.Helper()
	snap, err := s.Read(context.Background(), schema.LocaleEn)
	if err != nil {
		return "error: " + err.Error()
	}

	docs := snap.Documents("heroSection", Selection{})
	var fields struct{ Title string }
	if len(docs) != 1 || json.Unmarshal(docs[0].Fields.(json.RawMessage), &fields) != nil {
		t.Fatalf("got %+v", docs)
	}
	return fields.Title
}

// A fallback copy on disk is used as a whole or not at all: a full disk, another program or
// another version may have damaged it.
func TestDamagedFallbackCopy(t *testing.T) {
	t.Parallel()
	source, dir, c := &scriptedCMS{}, t.TempDir(), &clock{}
	source.set("one", nil)
	title(t, newService(t, source, dir, c))
	source.set("", errors.New("down"))
	path := filepath.Join(dir, "content-locale-en.json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(whole), "\n")
	head, line, fields := lines[0], lines[1], lines[2]

	for name, row := range map[string]struct {
		text   string
		usable bool
	}{
		"as written":                       {string(whole), true},
		"with a problem of the content":    {strings.Replace(string(whole), `"Hidden":null`, `"Hidden":["x"]`, 1), true},
		"empty":                            {"", false},
		"only zeros, after a power cut":    {strings.Repeat("\x00", len(whole)), false},
		"cut in the head":                  {head[:len(head)/2], false},
		"cut in the line of a document":    {head + "\n" + line[:len(line)/2], false},
		"cut before the fields":            {head + "\n" + line, false},
		"cut in the fields":                {head + "\n" + line + "\n" + fields[:len(fields)/2], false},
		"a line break at the end":          {string(whole) + "\n", false}, // an editor adds it
		"a BOM at the beginning":           {"\ufeff" + string(whole), false},
		"Windows line breaks in the head":  {strings.Replace(string(whole), "\n", "\r\n", 1), true}, // JSON ignores \r
		"the encoding of earlier versions": {`{"Origin":"o","Documents":[],"Hidden":null}`, false},
		"of another source":                {strings.Replace(string(whole), `"Origin":"`, `"Origin":"x`, 1), false},
	} {
		if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := title(t, newService(t, source, dir, c))
		if usable := got == "one"; usable != row.usable || !usable && !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRenew checks that renewals repeat until the CMS serves a change. A later change
// restarts the repetitions.
func TestRenew(t *testing.T) {
	t.Parallel()
	source, c := &scriptedCMS{}, &clock{}
	source.set("lagging", nil)
	s := newService(t, source, "", c)

	for i := range 2 {
		changed := []schema.Locale{schema.LocaleEn}
		if keys, err := s.Invalidate(t.Context(), changed); err != nil || !slices.Equal(keys, Keys(changed)) {
			t.Fatalf("got %q, %v", keys, err)
		}
		s.Renew(changed)
		eventually(t, func() bool { return source.calls.Load() == int64(i+1) })
	}

	source.set("settled", nil)
	eventually(t, func() bool { return title(t, s) == "settled" })
	eventually(t, func() bool { return source.calls.Load() == 4 })
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("the condition was not met within a minute")
}

// brokenRules is a CMS with unusable price rules.
type brokenRules struct{ scriptedCMS }

func (*brokenRules) Fetch(context.Context, cms.Query) ([]cms.Document, error) {
	return []cms.Document{{ID: cms.RulesType, Type: cms.RulesType, Fields: json.RawMessage(`{"roundTo":0}`)}}, nil
}

// noPrices is a price store that cannot be read. It counts writes.
type noPrices struct {
	RevisionStore
	stored atomic.Int64
}

func (*noPrices) CurrentRevision(context.Context, string, string) (store.Revision, error) {
	return store.Revision{}, store.ErrUnavailable
}

func (p *noPrices) UseRevision(_ context.Context, r store.Revision, _ time.Time) error {
	if r.Kind == store.Prices {
		p.stored.Add(1)
	}
	return nil
}

// Unusable rules do not replace the last usable ones while those cannot be read.
func TestUnusableRulesDoNotReplaceUsableOnes(t *testing.T) {
	t.Parallel()
	prices := &noPrices{}
	s := newService(t, &brokenRules{}, t.TempDir(), &clock{})
	s.Revisions = prices

	snap, err := s.Read(t.Context(), schema.LocaleEn)
	if err != nil || !snap.Unusable[store.Prices] {
		t.Fatalf("read %+v, %v", snap, err)
	}
	if err := s.Close(t.Context()); err != nil || prices.stored.Load() != 0 {
		t.Errorf("rules were replaced %d times, %v", prices.stored.Load(), err)
	}
}
