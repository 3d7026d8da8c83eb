package playground

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"siteapi/schema"
)

// withoutBundle are the committed files, as a fresh clone has them.
func withoutBundle(t *testing.T) fstest.MapFS {
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
	return files
}

// withBundle are the files with a GraphiQL of one line.
func withBundle(t *testing.T) fstest.MapFS {
	t.Helper()
	files := withoutBundle(t)
	for name, text := range map[string]string{
		"playground-AAAA.js": "run()", "playground-BBBB.css": "a{}", "licences-CCCC.txt": "MIT", "codicon-DDDD.ttf": "font",
	} {
		files["web/dist/"+name+".gz"] = &fstest.MapFile{Data: pack([]byte(text))}
	}
	files["web/dist/manifest.json"] = &fstest.MapFile{
		Data: []byte(`{"script":"playground-AAAA.js","style":"playground-BBBB.css","licences":"licences-CCCC.txt"}`),
	}
	return files
}

func options() Options {
	return Options{
		Path: "/playground", GraphQLPath: "/graphql", Introspection: true, CacheToken: "cache-word", WebhookToken: "<webhook>",
		Random: func() string { return "R4ND0M" },
		Refuse: func(w http.ResponseWriter, _ *http.Request, e *schema.Error) { w.WriteHeader(e.Code.Status()) },
	}
}

func get(t *testing.T, h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func mustOpen(t *testing.T, o Options, files fs.FS) *Handler {
	t.Helper()
	h, err := open(o, files)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestPage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		files   fs.FS
		built   bool
		says    []string
		policy  []string
		without []string // in the policy
	}{
		"as a fresh clone has it": {
			files: withoutBundle(t), says: []string{"make playground", `action="/graphql"`, "fallback-"},
			policy:  []string{"style-src 'self'", "form-action 'self'"},
			without: []string{"unsafe", "nonce"},
		},
		"with GraphiQL": {
			files: withBundle(t), built: true,
			says: []string{
				"/playground/assets/playground-AAAA.js", "/playground/assets/playground-BBBB.css", `nonce="R4ND0M"`,
				`data-introspection="on"`, `data-graphql-path="/graphql"`, "licences-CCCC.txt",
			},
			policy:  []string{"style-src 'self' 'nonce-R4ND0M'", "worker-src 'self'", "form-action 'none'"},
			without: []string{"unsafe-eval", "script-src 'self' '", "style-src 'self' 'unsafe"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := mustOpen(t, options(), c.files)
			if h.Built() != c.built {
				t.Errorf("Built() = %v", h.Built())
			}
			for _, path := range []string{"/playground", "/playground/"} {
				r := get(t, h, http.MethodGet, path)
				text := r.Body.String()
				for _, want := range c.says {
					if !strings.Contains(text, want) {
						t.Errorf("%s does not say %s", path, want)
					}
				}
				if strings.Contains(text, "//") && regexp.MustCompile(`(?:src|href)="(?:https?:)?//`).MatchString(text) {
					t.Errorf("%s loads from elsewhere", path)
				}
				policy := r.Header().Get("Content-Security-Policy")
				for _, want := range append(c.policy, "default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'") {
					if !strings.Contains(policy, want) {
						t.Errorf("the policy %q does not say %s", policy, want)
					}
				}
				for _, bad := range c.without {
					if strings.Contains(policy, bad) {
						t.Errorf("the policy %q says %s", policy, bad)
					}
				}
				for name, want := range map[string]string{
					"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
					"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
				} {
					if got := r.Header().Get(name); got != want {
						t.Errorf("%s: %s, want %s", name, got, want)
					}
				}
			}
		})
	}
}

func TestIntrospectionOff(t *testing.T) {
	t.Parallel()
	o := options()
	o.Introspection = false
	if text := get(t, mustOpen(t, o, withBundle(t)), http.MethodGet, "/playground").Body.String(); !strings.Contains(text, `data-introspection="off"`) {
		t.Error("the page is not told")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	h := mustOpen(t, options(), withoutBundle(t))
	cases := map[string]struct {
		method, path string
		status       int
	}{
		"unknown file":         {http.MethodGet, "/playground/assets/nothing.js", http.StatusNotFound},
		"unhashed name":        {http.MethodGet, "/playground/assets/fallback.js", http.StatusNotFound},
		"folder":               {http.MethodGet, "/playground/assets/", http.StatusNotFound},
		"way out":              {http.MethodGet, "/playground/assets/../graphiql.html", http.StatusNotFound},
		"template":             {http.MethodGet, "/playground/fallback.html", http.StatusNotFound},
		"form sent to it":      {http.MethodPost, "/playground", http.StatusMethodNotAllowed},
		"file of GraphiQL's":   {http.MethodGet, "/playground/assets/playground-AAAA.js", http.StatusNotFound},
		"only the headers":     {http.MethodHead, "/playground", http.StatusOK},
		"preflight of nothing": {http.MethodOptions, "/playground", http.StatusMethodNotAllowed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := get(t, h, c.method, c.path)
			if r.Code != c.status {
				t.Errorf("status %d, want %d", r.Code, c.status)
			}
			if c.status == http.StatusMethodNotAllowed && r.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("Allow: %s", r.Header().Get("Allow"))
			}
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	h := mustOpen(t, options(), withBundle(t))
	for name, contentType := range map[string]string{
		"playground-AAAA.js": "text/javascript; charset=utf-8", "playground-BBBB.css": "text/css; charset=utf-8",
		"licences-CCCC.txt": "text/plain; charset=utf-8", "codicon-DDDD.ttf": "font/ttf", h.assets.names["icon.svg"]: "image/svg+xml",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := "/playground/assets/" + name
			plain := get(t, h, http.MethodGet, path, "Accept-Encoding: br")
			packed := get(t, h, http.MethodGet, path, "Accept-Encoding: br, gzip;q=0.5")
			if plain.Header().Get("Content-Encoding") != "" || packed.Header().Get("Content-Encoding") != "gzip" {
				t.Fatalf("encodings %q and %q", plain.Header().Get("Content-Encoding"), packed.Header().Get("Content-Encoding"))
			}
			reader, err := gzip.NewReader(packed.Body)
			if err != nil {
				t.Fatal(err)
			}
			unpacked, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			if text := plain.Body.String(); text == "" || text != string(unpacked) {
				t.Errorf("%q and %q", text, unpacked)
			}
			for _, r := range []*httptest.ResponseRecorder{plain, packed} {
				for header, want := range map[string]string{
					"Content-Type": contentType, "Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding",
				} {
					if got := r.Header().Get(header); got != want {
						t.Errorf("%s: %s, want %s", header, got, want)
					}
				}
			}
		})
	}
}

// TestOperations holds every prepared operation to the schema, variables included, and
// its token to the guard of its field.
func TestOperations(t *testing.T) {
	t.Parallel()
	text := get(t, mustOpen(t, options(), withoutBundle(t)), http.MethodGet, "/playground").Body.String()
	_, after, _ := strings.Cut(text, `id="operations">`)
	data, _, _ := strings.Cut(after, "</script>")
	var list []Operation
	if err := json.Unmarshal([]byte(data), &list); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{
		"SiteSettings": "", "content": "", "trackQuote": "", "submitQuote": "", "quotePdf": "", "cacheStats": "",
		"clearCache": "cache-word", "invalidateCache": "cache-word", "receiveCmsWebhook": "<webhook>",
	}
	for _, op := range list {
		doc, err := gqlparser.LoadQueryWithRules(schema.AST(), op.Query, rules.NewDefaultRules())
		if err != nil {
			t.Errorf("%s: %v", op.Title, err)
			continue
		}
		root := regexp.MustCompile(`(?m)^  (\w+)`).FindStringSubmatch(op.Query)[1]
		want, ok := tokens[root]
		if !ok || op.Token != want {
			t.Errorf("%s has the token %q, want %q", op.Title, op.Token, want)
		}
		delete(tokens, root)
		if doc.Operations[0].Name == "" || op.Title == "" {
			t.Errorf("%s has no name", op.Query)
		}
		var variables map[string]any
		if op.Variables != "" {
			if err := json.Unmarshal([]byte(op.Variables), &variables); err != nil {
				t.Errorf("%s: %v", op.Title, err)
			}
		}
		for _, v := range doc.Operations[0].VariableDefinitions {
			if _, given := variables[v.Variable]; !given && v.Type.NonNull {
				t.Errorf("%s: no value for $%s", op.Title, v.Variable)
			}
		}
		if strings.Contains(op.Variables, sessionMark) || strings.Contains(op.Variables, "sessionId") && !strings.Contains(op.Variables, "playground-R4ND0M") {
			t.Errorf("%s has no session: %s", op.Title, op.Variables)
		}
	}
	for root := range tokens {
		t.Errorf("nothing is prepared for %s", root)
	}
	if !strings.Contains(html.UnescapeString(text), list[0].Query) {
		t.Error("without scripts the form is empty")
	}
}

// TestEmbedded opens what is really in the binary, built or not.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	h, err := New(options())
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range h.assets.files {
		if file.contentType == "" {
			t.Errorf("%s has no content type", name)
		}
		if _, err := gzip.NewReader(bytes.NewReader(file.packed)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
