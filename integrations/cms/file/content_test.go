package file_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/file"
)

// open opens a content file with this text.
func open(t *testing.T, text string) (*file.Driver, string, *log, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "content.json")
	write(t, path, text)
	out := &log{}
	d, err := file.Open(file.Options{Path: path, Dir: dir, Log: zerolog.New(out)})
	return d, path, out, err
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

func TestForms(t *testing.T) {
	t.Parallel()
	a, b := `{"_id":"a","_type":"page"}`, `{"_id":"b","_type":"page"}`
	both := []string{"a", "b"}
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"array":                    {"[" + b + "," + a + "]", both},
		"empty array":              {"[]", []string{}},
		"wrapped":                  {`{"documents":[` + a + "," + b + `]}`, both},
		"wrapped, with more":       {`{"version":1,"documents":[` + a + `],"x":[` + a + `]}`, []string{"a"}},
		"one per line":             {a + "\n" + b + "\n", both},
		"one per line, loose":      {"\n" + a + "\r\n\n  " + b, both},
		"a single document":        {"{\n \"_id\":\"a\",\n \"_type\":\"page\"\n}\n", []string{"a"}},
		"a document w/ documents":  {`{"_id":"a","_type":"page","documents":[]}`, []string{"a"}},
		"byte order mark":          {"\ufeff \n[" + a + "]", []string{"a"}},
		"drafts and private":       {`[` + a + `,{"_id":"drafts.a","_type":"page"},{"_id":"x.y","_type":"page"}]`, []string{"a"}},
		"braces and quotes inside": {`[{"_id":"a","_type":"page","t":"}\"]\n{"}` + "," + b + "]", both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, _, err := open(t, tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := pages(t, d); !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestOpenRefusesBrokenContent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"empty":            {"", "line 1, column 1: the file is empty"},
		"blank":            {" \n\n", "line 3, column 1: the file is empty"},
		"cut off":          {"[\n{\"_id\":\"a\"", "line 2, column 10: unexpected end"},
		"comma":            {"[\n  {\"_id\":\"a\",\n  }\n]", "line 3, column 3: invalid character '}'"},
		"two values":       {"[] []", "line 1, column 4: invalid character '['"},
		"number":           {"7", "line 1, column 1: neither an array"},
		"text":             {`"x"`, "line 1, column 1: neither an array"},
		"wrapped nonsense": {`{"documents":7}`, `"documents" is not an array`},
		"not a document":   {"[\n 7]", "line 2, column 2: a document is not a JSON object"},
		"no id":            {"[\n  {\"_type\":\"a\"}]", "line 2, column 3: _id"},
		"no type":          {`[{"_id":"a"}]`, `line 1, column 2: document "a": _type is missing`},
		"not UTF-8":        {"[\n\"\xff\"]", "line 2, column 2: this is not UTF-8 text"},
		"HTML":             {"<html>", "line 1, column 1: invalid character '<'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, path, _, err := open(t, tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want %q and the file's name", err, tc.want)
			}
		})
	}
}

func TestMalformedEntriesAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"no document":       {`[{"_id":"a","_type":"page"}, 7]`, "line 1, column 30: a document is not a JSON object"},
		"twice":             {"[{\"_id\":\"a\",\"_type\":\"page\"},\n{\"_id\":\"a\",\"_type\":\"t\"}]", `line 2, column 1: a second document has the _id`},
		"broken line":       {"{\"_id\":\"a\",\"_type\":\"page\"}\n  {\"_id\": }\n", "line 2, column 11: invalid character '}'"},
		"cut-off last line": {"{\"_id\":\"a\",\"_type\":\"page\"}\n{\"_id\":\"b", "line 2, column 9: unexpected end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, out, err := open(t, tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := pages(t, d); !slices.Equal(got, []string{"a"}) || out.count(tc.want) != 1 {
				t.Errorf("%q served, logged %s", got, out.b.String())
			}
		})
	}
}

func TestOpenRefusesOddPaths(t *testing.T) {
	t.Parallel()
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
	d, path, out, err := open(t, `[{"_id":"a","_type":"page"}]`)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		write(t, path, `[{"_id":"b","_ty`)
		if got := pages(t, d); !slices.Equal(got, []string{"a"}) {
			t.Fatalf("broken: %q", got)
		}
	}
	if err := d.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "line 1, column 16") {
		t.Errorf("Ping with a broken file: %v", err)
	}
	if n := out.count("can't be used"); n != 1 {
		t.Errorf("the same trouble was logged %d times", n)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := pages(t, d); !slices.Equal(got, []string{"a"}) {
			t.Fatalf("removed: %q", got)
		}
	}
	if n := out.count("no such file"); n != 1 {
		t.Errorf("that the file is away was logged %d times", n)
	}
	if err := d.Ping(t.Context()); err == nil {
		t.Error("Ping is content without a file")
	}
	write(t, path, `[{"_id":"c","_type":"page"}]`)
	if got := pages(t, d); !slices.Equal(got, []string{"c"}) {
		t.Fatalf("mended: %q", got)
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("Ping with a mended file: %v", err)
	}
	if out.count("can be read again") != 1 {
		t.Error("that the file is well again was not logged")
	}
}

// TestChangeThatLeavesNoTrace rewrites the file so that neither size nor time tell, as two
// quick writes may.
func TestChangeThatLeavesNoTrace(t *testing.T) {
	t.Parallel()
	d, path, _, err := open(t, page("a"))
	if err != nil {
		t.Fatal(err)
	}
	_ = pages(t, d)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, page("b"))
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := pages(t, d); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q", got)
	}
}

func TestAssetsOfAnExport(t *testing.T) {
	t.Parallel()
	d, _, _, err := open(t, `{"_id":"image-a-1x1-png","_type":"sanity.imageAsset","url":"https://cdn.example/a.png"}
{"_id":"p","_type":"page","logo":{"asset":{"_ref":"image-a-1x1-png"}},"other":{"asset":{"_ref":"image-b-1x1-png"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := d.Fetch(t.Context(), cms.Query{Types: []string{"page"}, Locale: "en"})
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	want := `{"_id":"p","_type":"page","logo":{"asset":{"_ref":"image-a-1x1-png","url":"https://cdn.example/a.png"}},"other":{"asset":{"_ref":"image-b-1x1-png"}}}`
	if string(docs[0].Fields) != want {
		t.Errorf("%s", docs[0].Fields)
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	d, err := file.Open(file.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	file.Sample()[0] = 'x' // a copy: changing it harms nobody
	labels := map[string]int{}
	for _, locale := range []string{"en", "es", "ro"} {
		docs, err := d.Fetch(t.Context(), cms.Query{Types: []string{"siteSettings", "heroSection", cms.OptionType}, Locale: locale})
		if err != nil {
			t.Fatal(err)
		}
		types := map[string]int{}
		for _, doc := range docs {
			types[doc.Type]++
			if doc.UpdatedAt.IsZero() {
				t.Errorf("%s has no time", doc.ID)
			}
		}
		if types["siteSettings"] != 1 || types["heroSection"] != 1 || types[cms.OptionType] < 20 {
			t.Errorf("%s: %v", locale, types)
		}
		labels[locale] = len(cms.Labels(docs, locale))
		if labels[locale] != types[cms.OptionType] {
			t.Errorf("%s: %d labels for %d options", locale, labels[locale], types[cms.OptionType])
		}
	}
	text := string(file.Sample())
	if !json.Valid(file.Sample()) || strings.ContainsAny(text, "şţŞŢ") || strings.Contains(text, `"http://`) {
		t.Error("the sample is broken, has letters with a cedilla, or an address without TLS")
	}
}
