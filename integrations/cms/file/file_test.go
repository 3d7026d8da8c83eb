package file_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/cmstest"
	"siteapi/integrations/cms/file"
	"siteapi/integrations/upstream"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	cmstest.Run(t, func(t *testing.T) cmstest.Subject {
		d, path := open(t, "[]")
		return cmstest.Subject{
			Driver: d,
			Replace: func(t testing.TB, docs ...string) {
				t.Helper()
				write(t, path, "["+strings.Join(docs, ",")+"]")
			},
			Stored: func(t testing.TB) map[string]json.RawMessage {
				t.Helper()
				stored := map[string]json.RawMessage{}
				paths, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "cms", "*.json"))
				for _, p := range paths {
					text, err := os.ReadFile(p)
					must(t, err)
					stored[strings.TrimSuffix(filepath.Base(p), ".json")] = text
				}
				return stored
			},
		}
	})
}

// open opens a driver on a content file with this text.
func open(t *testing.T, text string) (d *file.Driver, path string) {
	t.Helper()
	path = contentFile(t, text)
	d, err := file.Open(file.Options{Path: path, Dir: filepath.Dir(path)})
	must(t, err)
	return d, path
}

// contentFile creates a content file in a new temporary folder.
func contentFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "content.json")
	write(t, path, text)
	return path
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func page(id string) string { return fmt.Sprintf(`[{"_id":%q,"_type":"page"}]`, id) }

// pages returns the ids of the pages served in English, such as [a b].
func pages(t *testing.T, d *file.Driver) string {
	t.Helper()
	docs, err := d.Fetch(t.Context(), cms.Query{Types: []string{"page"}})
	must(t, err)

	ids := []string{}
	for _, doc := range docs {
		ids = append(ids, doc.ID)
	}
	return fmt.Sprint(ids)
}

// TestContentForms reads content files as people, exports and deployments write them. An
// unusable file is refused with its name.
func TestContentForms(t *testing.T) {
	t.Parallel()
	a, b := `{"_id":"a","_type":"page"}`, `{"_id":"b","_type":"page"}`
	for text, want := range map[string]struct{ ids, logged, refused string }{
		"\ufeff \n[" + b + "," + a + "]":      {ids: "[a b]"},
		"[]":                                  {ids: "[]"},
		"\n" + a + "\r\n\n  " + b + "\n":      {ids: "[a b]"},
		`[` + a + `, 7]`:                      {ids: "[a]", logged: "entry 2: a document is not a JSON object"},
		`[` + a + `,{"_id":"a","_type":"t"}]`: {ids: "[a]", logged: "entry 2: a second document has the _id"},
		" \n":                                 {refused: "the file is empty"},
		"[\n{\"_id\":\"a\"":                   {refused: "line 2: unexpected EOF"},
		"[\n  {\"_id\":\"a\",\n  }\n]":        {refused: "line 3: invalid character '}'"},
		`[7, {"_id":"a"}]`:                    {refused: "entry 1: a document is not a JSON object"},
		"[\n\"\xff\"]":                        {refused: "not UTF-8 text"},
	} {
		var log bytes.Buffer
		path := contentFile(t, text)
		d, err := file.Open(file.Options{Path: path, Dir: filepath.Dir(path), Log: zerolog.New(&log)})
		if want.refused != "" {
			if err == nil || !strings.Contains(err.Error(), want.refused) || !strings.Contains(err.Error(), path) {
				t.Errorf("%q: %v, want %q and the file's name", text, err, want.refused)
			}
			continue
		}
		must(t, err)
		if got := pages(t, d); got != want.ids || !strings.Contains(log.String(), want.logged) {
			t.Errorf("%q: %s, want %s; logged %s", text, got, want.ids, log.String())
		}
	}
}

func TestBrokenContentKeepsTheOld(t *testing.T) {
	t.Parallel()
	d, path := open(t, page("a"))
	write(t, path, `[{"_id":"b","_ty`)
	for _, what := range []string{"broken", "removed"} {
		if got := pages(t, d); got != "[a]" {
			t.Errorf("%s: %s", what, got)
		}
		if err := d.Ping(t.Context()); err == nil {
			t.Errorf("%s: Ping reports no error", what)
		}
		_ = os.Remove(path)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	d, path := open(t, page("start"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	changes, ended := make(chan struct{}, 100), make(chan struct{})
	go func() {
		d.Watch(ctx, nil, func() { changes <- struct{}{} })
		close(ended)
	}()

	expect := func(what, id string) {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(time.Minute):
			t.Fatalf("%s was not noticed", what)
		}
		if got := pages(t, d); got != "["+id+"]" {
			t.Fatalf("%s: %s served", what, got)
		}
	}

	expect("a change before the watch", "start")

	write(t, path, page("written"))
	expect("a write", "written")

	write(t, path, page("fetched"))
	_ = pages(t, d)
	expect("a change that a Fetch saw first", "fetched")

	write(t, path, "[{")
	write(t, path, page("repaired"))
	expect("a repair", "repaired")

	// A deployment puts another file of the same size and time in its place.
	before, err := os.Stat(path)
	must(t, err)
	write(t, path+".next", page("deployed"))
	err = errors.Join(os.Chtimes(path+".next", before.ModTime(), before.ModTime()), os.Rename(path+".next", path))
	if after, statErr := os.Stat(path); err != nil || statErr != nil || after.Size() != before.Size() {
		t.Fatal(err, statErr)
	}
	expect("a deployment", "deployed")

	cancel()
	<-ended
	if len(changes) > 0 {
		t.Errorf("%d unexpected changes", len(changes))
	}
}

// TestAssetsOfAnExport covers exports, which store asset addresses in separate documents.
func TestAssetsOfAnExport(t *testing.T) {
	t.Parallel()
	d, _ := open(t,
		`{"_id":"image-a-1x1-png","_type":"sanity.imageAsset","url":"https://cdn.example/a.png"}`+"\n"+
			`{"_id":"p","_type":"page","logo":{"asset":{"_ref":"image-a-1x1-png"}},`+
			`"other":{"asset":{"_ref":"image-b-1x1-png"}}}`)

	docs, err := d.Fetch(t.Context(), cms.Query{Types: []string{"page"}})
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}

	want := `{"asset":{"_ref":"image-a-1x1-png","url":"https://cdn.example/a.png"},` +
		`"height":1,"url":"https://cdn.example/a.png","width":1},"other":{"asset":{"_ref":"image-b-1x1-png"}}`
	if !strings.Contains(string(docs[0].Fields), want) {
		t.Errorf("%s", docs[0].Fields)
	}
}

// TestErasureOfDamagedFiles checks that a damaged file is found by the address in it, and
// that files with other addresses are not.
func TestErasureOfDamagedFiles(t *testing.T) {
	t.Parallel()
	d, path := open(t, "[]")
	dir := filepath.Dir(path)
	must(t, d.Put(t.Context(), cmstest.Lead("whole")))
	for name, content := range map[string]string{
		"quoteSubmission.cut.json":    `{"contact":{"email":"Eva@Example.com"`,
		"quoteSubmission.odd.json":    `["eva@example.com"]`,
		"quoteSubmission.longer.json": `{"contact":{"email":"xeva@example.com"`,
		"quoteSubmission.other.json":  `{"contact":`,
		"notes.json":                  `"eva@example.com"`,
	} {
		write(t, filepath.Join(dir, "cms", name), content)
	}

	found, err := d.Find(t.Context(), "eva@example.com")
	if slices.Sort(found); err != nil || !slices.Equal(found, []string{"cut", "odd"}) {
		t.Fatalf("found %q %v", found, err)
	}
	if err := d.Erase(t.Context(), found); err != nil {
		t.Error(err)
	}
	remaining, err := filepath.Glob(filepath.Join(dir, "cms", "*.json"))
	if err != nil || len(remaining) != 4 {
		t.Errorf("remaining files: %q %v", remaining, err)
	}
}

// An unreadable folder of leads is not mistaken for an empty one.
func TestUnreadableLeads(t *testing.T) {
	t.Parallel()
	d, path := open(t, "[]")
	folder := filepath.Join(filepath.Dir(path), "cms")
	must(t, errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600)))
	if found, err := d.Find(t.Context(), "eva@example.com"); upstream.KindOf(err) != upstream.Unavailable || err == nil {
		t.Errorf("found %q, %v, want unavailable", found, err)
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	d, _ := open(t, string(file.Sample()))
	docs, err := d.Fetch(t.Context(), cms.Query{Types: []string{"siteSettings", cms.OptionType}})
	must(t, err)

	if options := len(docs) - 1; options < 20 || len(cms.Labels(docs, "ro")) != options {
		t.Errorf("%d labels for %d options", len(cms.Labels(docs, "ro")), options)
	}

	for _, doc := range docs {
		var option struct {
			Price *float64
			Tiers []any
		}
		if err := json.Unmarshal(doc.Fields, &option); err != nil ||
			doc.Type == cms.OptionType && option.Price == nil && option.Tiers == nil {
			t.Errorf("%s has no price (%v)", doc.ID, err)
		}
	}

	text := string(file.Sample())
	if strings.ContainsAny(text, "şţŞŢ") || strings.Contains(text, `"http://`) {
		t.Error("the sample contains letters with a cedilla or an address without TLS")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
