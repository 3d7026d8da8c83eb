package content

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// source is a CMS whose responses a test sets.
type source struct {
	documents []cms.Document
	err       error
}

// Fetch implements [cms.Content].
func (s *source) Fetch(context.Context, cms.Query) ([]cms.Document, error) { return s.documents, s.err }

// Ping implements [cms.Content].
func (s *source) Ping(context.Context) error { return nil }

func newService(t *testing.T, source cms.Content, fallbackDir string) *Service {
	t.Helper()
	m := memory.New()
	t.Cleanup(func() { _ = m.Close() })

	s := New(Options{
		CMS:         source,
		Cache:       m,
		FallbackDir: fallbackDir,
		Log:         zerolog.Nop(),
		Types:       []string{"heroSection"},
		Life:        cache.Lifetime{Fresh: time.Hour},
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

	docs, _ := snap.Documents("heroSection", Selection{})
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
	dir, cause := t.TempDir(), errors.New("down")
	hero := cms.Document{ID: "hero", Type: "heroSection", Fields: json.RawMessage(`{"title":"one"}`)}
	title(t, newService(t, &source{documents: []cms.Document{hero}}, dir))
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
		got := title(t, newService(t, &source{err: cause}, dir))
		if usable := got == "one"; usable != row.usable || !usable && !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %q", name, got)
		}
	}
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
	rules := cms.Document{ID: cms.RulesType, Type: cms.RulesType, Fields: json.RawMessage(`{"roundTo":0}`)}
	s := newService(t, &source{documents: []cms.Document{rules}}, t.TempDir())
	s.Revisions = prices

	snap, err := s.Read(t.Context(), schema.LocaleEn)
	if err != nil || !snap.Unusable[store.Prices] {
		t.Fatalf("read %+v, %v", snap, err)
	}
	if err := s.Close(t.Context()); err != nil || prices.stored.Load() != 0 {
		t.Errorf("rules were replaced %d times, %v", prices.stored.Load(), err)
	}
}

// The last event of a follower that reads slowly has the newest revision: a preview compares
// it with what it shows.
func TestSlowFollower(t *testing.T) {
	t.Parallel()
	s := newService(t, &source{}, "")
	changes := make(chan *schema.ContentChange, 2)
	s.previews.followers[changes] = true

	last := ""
	for _, revision := range []string{"a", "b", "c", "d"} {
		s.seen(revision)
	}
	for len(changes) > 0 {
		last = (<-changes).Revision
	}
	if last != "d" {
		t.Errorf("the last event has the revision %q", last)
	}
}
