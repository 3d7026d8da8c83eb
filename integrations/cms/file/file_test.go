package file_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/cmstest"
	"siteapi/integrations/cms/file"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	cmstest.Run(t, func(t *testing.T) cmstest.Subject {
		d, path, _ := open(t, "[]")
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
					if err != nil {
						t.Fatal(err)
					}
					stored[strings.TrimSuffix(filepath.Base(p), ".json")] = text
				}
				return stored
			},
		}
	})
}

// open opens a content file with this text.
func open(t *testing.T, text string) (*file.Driver, string, *log) {
	t.Helper()
	path, out := contentFile(t, text), &log{}
	d, err := file.Open(file.Options{Path: path, Dir: filepath.Dir(path), Log: zerolog.New(out)})
	if err != nil {
		t.Fatal(err)
	}
	return d, path, out
}

// contentFile makes a content file in a folder of its own.
func contentFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "content.json")
	write(t, path, text)
	return path
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// log collects log lines of several goroutines.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func page(id string) string { return fmt.Sprintf(`[{"_id":%q,"_type":"page"}]`, id) }

// pages returns the ids of the pages served in English.
func pages(t *testing.T, d *file.Driver) []string {
	t.Helper()
	docs, err := d.Fetch(t.Context(), cms.Query{Types: []string{"page"}, Locale: "en"})
	if err != nil {
		t.Fatal(err)
	}

	ids := []string{}
	for _, doc := range docs {
		ids = append(ids, doc.ID)
	}
	return ids
}

func TestContentForms(t *testing.T) {
	t.Parallel()
	a, b := `{"_id":"a","_type":"page"}`, `{"_id":"b","_type":"page"}`
	for name, tc := range map[string]struct {
		text      string
		want      []string
		malformed string // expected in the log
	}{
		"array":              {"[" + b + "," + a + "]", []string{"a", "b"}, ""},
		"empty array":        {"[]", []string{}, ""},
		"one per line":       {a + "\n" + b + "\n", []string{"a", "b"}, ""},
		"one per line, even": {"\ufeff\n" + a + "\r\n\n  " + b, []string{"a", "b"}, ""},
		"a single document":  {"{\n \"_id\":\"a\",\n \"_type\":\"page\"\n}\n", []string{"a"}, ""},
		"byte order mark":    {"\ufeff \n[" + a + "]", []string{"a"}, ""},
		"drafts and private": {
			`[` + a + `,{"_id":"drafts.a","_type":"page"},{"_id":"x.y","_type":"page"}]`,
			[]string{"a"}, "",
		},
		"no document": {`[` + a + `, 7]`, []string{"a"}, "entry 2: a document is not a JSON object"},
		"no type":     {`[{"_id":"x"},` + a + `]`, []string{"a"}, "entry 1: document"},
		"twice": {
			`[` + a + `,{"_id":"a","_type":"t"}]`,
			[]string{"a"}, "entry 2: a second document has the _id",
		},
		"broken line": {a + "\n  {\"_id\": }\n", []string{"a"}, "line 2: not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, out := open(t, tc.text)
			if got := pages(t, d); !slices.Equal(got, tc.want) ||
				tc.malformed != "" && out.count(tc.malformed) != 1 {
				t.Errorf("%q, want %q; logged %s", got, tc.want, out.b.String())
			}
		})
	}
}

func TestOpenRefusesBrokenContent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"empty":        {" \n", "the file is empty"},
		"cut off":      {"[\n{\"_id\":\"a\"", "line 2, column 10: unexpected end"},
		"comma":        {"[\n  {\"_id\":\"a\",\n  }\n]", "line 3, column 3: invalid character '}'"},
		"number":       {"7", "begins with neither"},
		"no documents": {`[7, {"_id":"a"}]`, "entry 1: a document is not a JSON object"},
		"no lines":     {"{\n\"_id\"\n", "line 1: not a JSON object"},
		"not UTF-8":    {"[\n\"\xff\"]", "line 2, column 2: this is not UTF-8 text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := contentFile(t, tc.text)
			_, err := file.Open(file.Options{Path: path, Dir: filepath.Dir(path)})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want %q and the file's name", err, tc.want)
			}
		})
	}

	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain"), "x")
	for name, opts := range map[string]file.Options{
		"no content file":       {Path: filepath.Join(dir, "none.json"), Dir: dir},
		"content is a folder":   {Path: dir, Dir: dir},
		"no data folder":        {},
		"data folder is a file": {Dir: filepath.Join(dir, "plain")},
	} {
		if _, err := file.Open(opts); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

func TestBrokenContentLeavesTheOld(t *testing.T) {
	t.Parallel()
	d, path, out := open(t, page("a"))
	for _, tc := range []struct {
		name, logged string
		spoil        func()
	}{
		{"broken", "line 1, column 16", func() { write(t, path, `[{"_id":"b","_ty`) }},
		{"removed", "no such file", func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		tc.spoil()

		for range 3 {
			if got := pages(t, d); !slices.Equal(got, []string{"a"}) {
				t.Fatalf("%s: %q", tc.name, got)
			}
		}

		if err := d.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), tc.logged) {
			t.Errorf("%s: Ping: %v", tc.name, err)
		}
		if n := out.count(tc.logged); n != 1 {
			t.Errorf("%s: logged %d times", tc.name, n)
		}
	}

	write(t, path, page("c"))
	if got := pages(t, d); !slices.Equal(got, []string{"c"}) {
		t.Fatalf("repaired: %q", got)
	}
	if err := d.Ping(t.Context()); err != nil || out.count("can be read again") != 1 {
		t.Errorf("repaired: %v, logged %s", err, out.b.String())
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	d, path, _ := open(t, page("start"))
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
		if got := pages(t, d); !slices.Equal(got, []string{id}) {
			t.Fatalf("%s: %q served", what, got)
		}
	}

	expect("what changed before the watch began", "start")

	write(t, path, page("written"))
	expect("a write", "written")

	write(t, path+".new", page("renamed"))
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	expect("a rename", "renamed")

	write(t, path, page("fetched"))
	_ = pages(t, d)
	expect("a change that a Fetch saw first", "fetched")

	write(t, path, "[{")
	write(t, path, page("repaired"))
	expect("a repair", "repaired")

	cancel()
	<-ended
	if len(changes) > 0 {
		t.Errorf("%d changes too many", len(changes))
	}
}

func TestAssetsOfAnExport(t *testing.T) {
	t.Parallel()
	d, _, _ := open(t,
		`{"_id":"image-a-1x1-png","_type":"sanity.imageAsset","url":"https://cdn.example/a.png"}`+"\n"+
			`{"_id":"p","_type":"page","logo":{"asset":{"_ref":"image-a-1x1-png"}},`+
			`"other":{"asset":{"_ref":"image-b-1x1-png"}}}`)

	docs, err := d.Fetch(t.Context(), cms.Query{Types: []string{"page"}, Locale: "en"})
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}

	want := `{"asset":{"_ref":"image-a-1x1-png","url":"https://cdn.example/a.png"}},` +
		`"other":{"asset":{"_ref":"image-b-1x1-png"}}`
	if !strings.Contains(string(docs[0].Fields), want) {
		t.Errorf("%s", docs[0].Fields)
	}
}

func TestLeadFiles(t *testing.T) {
	t.Parallel()
	d, path, _ := open(t, "[]")
	dir := filepath.Dir(path)
	if err := d.Put(t.Context(), cmstest.Lead("abc")); err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]os.FileMode{
		filepath.Join(dir, "cms"):                             0o700,
		filepath.Join(dir, "cms", "quoteSubmission.abc.json"): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}

	if entries, err := os.ReadDir(filepath.Join(dir, "cms")); err != nil || len(entries) != 1 {
		t.Errorf("%d entries left, %v", len(entries), err)
	}
}

// TestErasureOfDamagedFiles checks that a damaged file is found by the address in it.
func TestErasureOfDamagedFiles(t *testing.T) {
	t.Parallel()
	d, path, _ := open(t, "[]")
	dir := filepath.Dir(path)
	for name, content := range map[string]string{
		"quoteSubmission.cut.json":     `{"contact":{"email":"Ana@Example.com"`,
		"quoteSubmission.cut.json.tmp": `{"contact":`,
		"quoteSubmission.other.json":   `{"contact":`,
		"quoteSubmission.odd.json":     `["ana@example.com"]`,
		"notes.json":                   `"ana@example.com"`,
	} {
		write(t, filepath.Join(dir, "cms", name), content)
	}

	found, err := d.Find(t.Context(), "ana@example.com")
	if slices.Sort(found); err != nil || !slices.Equal(found, []string{"cut", "odd"}) {
		t.Fatalf("found %q %v", found, err)
	}

	if err := d.Erase(t.Context(), found); err != nil {
		t.Error(err)
	}

	if left, err := filepath.Glob(filepath.Join(dir, "cms", "*cut*")); err != nil || len(left) != 0 {
		t.Errorf("left are %q %v", left, err)
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	d, _, _ := open(t, string(file.Sample()))
	docs, err := d.Fetch(t.Context(), cms.Query{
		Types:  []string{"siteSettings", cms.OptionType},
		Locale: "ro",
	})
	if err != nil {
		t.Fatal(err)
	}

	if options := len(docs) - 1; options < 20 || len(cms.Labels(docs, "ro")) != options {
		t.Errorf("%d labels for %d options", len(cms.Labels(docs, "ro")), options)
	}

	for _, doc := range docs {
		var option struct{ Price *float64 }
		if err := json.Unmarshal(doc.Fields, &option); err != nil ||
			doc.Type == cms.OptionType && option.Price == nil {
			t.Errorf("%s has no price (%v)", doc.ID, err)
		}
	}

	text := string(file.Sample())
	if strings.ContainsAny(text, "şţŞŢ") || strings.Contains(text, `"http://`) {
		t.Error("the sample has letters with a cedilla, or an address without TLS")
	}
}
