package playground

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"siteapi/schema"
)

// start returns the playground as a fresh clone has it, or with a GraphiQL of few words.
func start(t *testing.T, built bool, change func(*Options)) http.Handler {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(web, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path, "web/dist/") {
			return err
		}
		data, err := fs.ReadFile(web, path)
		files[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if built {
		for name, text := range map[string]string{"page-A.js": "run()", "page-B.css": "a{}", "terms-C.txt": "MIT", "icons-D.ttf": "font"} {
			var packed strings.Builder
			w := gzip.NewWriter(&packed)
			_, _ = io.WriteString(w, text)
			_ = w.Close()
			files["web/dist/"+name+".gz"] = &fstest.MapFile{Data: []byte(packed.String())}
		}
		files["web/dist/index.html"] = files["web/graphiql.html"] // as the build copies it
	}
	o := Options{
		GraphQLPath: "/graphql", Introspection: true, CacheToken: "cache-word", WebhookToken: "<webhook>",
		Refuse: func(w http.ResponseWriter, _ *http.Request, e *schema.Error) { w.WriteHeader(e.Code.Status()) },
	}
	if change != nil {
		change(&o)
	}
	h, err := open(o, files)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(h http.Handler, path, acceptEncoding string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", acceptEncoding)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPage(t *testing.T) {
	t.Parallel()
	quiet := func(o *Options) { o.Introspection = false }
	nonce := regexp.MustCompile(`'nonce-([A-Z2-7]{26})'`)
	for name, c := range map[string]struct {
		handler http.Handler
		says    []string
	}{
		"fresh clone": {start(t, false, nil), []string{
			"make playground", `action="/graphql"`, `data-cache-token="cache-word"`, `data-webhook-token="&lt;webhook&gt;"`,
		}},
		"with GraphiQL": {start(t, true, nil), []string{
			`data-introspection="on"`, `data-graphql-path="/graphql"`, `data-cache-token="cache-word"`,
		}},
		"without introspection": {start(t, true, quiet), []string{`data-introspection="off"`}},
	} {
		nonces := map[string]bool{}
		for _, path := range []string{"/playground", "/playground/"} {
			r := get(c.handler, path, "gzip")
			text := r.Body.String()
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %s does not say %s", name, path, want)
				}
			}
			if regexp.MustCompile(`(?:src|href)="(?:https?:)?//`).MatchString(text) {
				t.Errorf("%s: %s loads from elsewhere", name, path)
			}
			policy := r.Header().Get("Content-Security-Policy")
			found := nonce.FindStringSubmatch(policy)
			if found == nil || nonces[found[1]] || strings.Contains(text, "nonce=") && !strings.Contains(text, `nonce="`+found[1]+`"`) {
				t.Fatalf("%s: the policy %q has no nonce of this page's own", name, policy)
			}
			nonces[found[1]] = true
			for _, want := range []string{
				"default-src 'none'; ", "script-src 'self'; ", "connect-src 'self'; ", "frame-ancestors 'none'", "base-uri 'none'; ",
			} {
				if !strings.Contains(policy, want) {
					t.Errorf("%s: the policy %q does not say %s", name, policy, want)
				}
			}
			for header, want := range map[string]string{
				"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
				"Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := r.Header().Get(header); got != want {
					t.Errorf("%s: %s: %s, want %s", name, header, got, want)
				}
			}
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	h := start(t, true, nil)
	const script, forGood = "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"
	for name, want := range map[string]struct{ contentType, caching string }{
		"page-A.js": {script, forGood}, "page-B.css": {"text/css; charset=utf-8", forGood}, "icons-D.ttf": {"font/ttf", forGood},
		"terms-C.txt": {"text/plain; charset=utf-8", forGood}, "operations.js": {script, "no-cache"}, "icon.svg": {"image/svg+xml", "no-cache"},
	} {
		plain, packed := get(h, "/playground/assets/"+name, "br"), get(h, "/playground/assets/"+name, "br, gzip;q=0.5")
		for _, r := range []*httptest.ResponseRecorder{plain, packed} {
			if r.Header().Get("Content-Type") != want.contentType || r.Header().Get("Cache-Control") != want.caching {
				t.Errorf("%s: %v", name, r.Header())
			}
		}
		body := io.Reader(packed.Body)
		if want.caching == forGood {
			if packed.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" {
				t.Fatalf("%s: encodings of %v and %v", name, packed.Header(), plain.Header())
			}
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		unpacked, err := io.ReadAll(body)
		if text := plain.Body.String(); err != nil || text == "" || text != string(unpacked) {
			t.Errorf("%s: %q and %q, %v", name, text, unpacked, err)
		}
	}
	for _, path := range []string{
		"nothing.js", "", "../graphiql.html", "../dist/page-A.js", "page-A.js.gz", "../../playground.go", "page-A.js/",
	} {
		if r := get(h, "/playground/assets/"+path, "gzip"); r.Code != http.StatusNotFound {
			t.Errorf("%q: status %d", path, r.Code)
		}
	}
	if r := get(h, "/playground/fallback.html", "gzip"); r.Code != http.StatusNotFound {
		t.Errorf("the template is served with status %d", r.Code)
	}
}

// TestOperations compares the prepared operations with the schema, and their tokens with the guards of their fields.
func TestOperations(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(web, "web/static/operations.js")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, root := range []*ast.Definition{schema.AST().Query, schema.AST().Mutation} {
		for _, f := range root.Fields {
			missing[f.Name] = !strings.HasPrefix(f.Name, "__")
		}
	}
	for _, example := range regexp.MustCompile("(?s)query: `(.*?)`,(.*?)\n  },").FindAllStringSubmatch(string(text), -1) {
		doc, err := gqlparser.LoadQueryWithRules(schema.AST(), example[1], rules.NewDefaultRules())
		if err != nil {
			t.Errorf("%s: %v", example[1], err)
			continue
		}
		field := doc.Operations[0].SelectionSet[0].(*ast.Field)
		missing[field.Name] = false
		want := ""
		if auth := field.Definition.Directives.ForName("auth"); auth != nil {
			want = `token: "` + strings.ToLower(auth.Arguments.ForName("token").Value.Raw) + `"`
		}
		if !strings.Contains(example[2], want) || want == "" && strings.Contains(example[2], "token:") {
			t.Errorf("%s should have %q and has %s", field.Name, want, example[2])
		}
		for _, v := range doc.Operations[0].VariableDefinitions {
			if v.Type.NonNull && v.DefaultValue == nil && !strings.Contains(example[2], v.Variable+": ") {
				t.Errorf("%s has no value for $%s", field.Name, v.Variable)
			}
		}
	}
	for name, isMissing := range missing {
		if isMissing {
			t.Errorf("operations.js has no example for %s", name)
		}
	}
}
