package pages

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"siteapi/schema"
)

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func open(t *testing.T, o Options) http.Handler {
	t.Helper()
	o.Refuse = func(w http.ResponseWriter, _ *http.Request, e *schema.Error) { w.WriteHeader(e.Code.Status()) }
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// built is a page of few words, as the build leaves it.
func built(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{
		"index.html": {Data: []byte(`<p nonce="{{nonce}}">{{token}}</p>`)},
	}
	for name, text := range map[string]string{
		"page-A.js":   "run()",
		"page-B.css":  "a{}",
		"terms-C.txt": "MIT",
		"icons-D.ttf": "font",
		"icon-E.svg":  "<svg/>",
	} {
		var packed strings.Builder
		w := gzip.NewWriter(&packed)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		files[name+".gz"] = &fstest.MapFile{Data: []byte(packed.String())}
	}
	return files
}

func TestPage(t *testing.T) {
	t.Parallel()
	nonce := regexp.MustCompile(`'nonce-([A-Z2-7]{26})'`)
	h, nonces := open(t, Options{
		Path:       "/try",
		Files:      built(t),
		Policy:     "worker-src 'self'",
		ImageHosts: []string{"cdn.example"},
		Values:     map[string]string{"token": "<token>"},
	}), map[string]bool{}
	for _, path := range []string{"/try", "/try/"} {
		r := get(h, path)
		text, policy := r.Body.String(), r.Header().Get("Content-Security-Policy")
		if !strings.Contains(text, "&lt;token&gt;") ||
			regexp.MustCompile(`(?:src|href)="(?:https?:)?//`).MatchString(text) {
			t.Errorf("%s says %s", path, text)
		}
		found := nonce.FindStringSubmatch(policy)
		if found == nil || nonces[found[1]] || !strings.Contains(text, `nonce="`+found[1]+`"`) {
			t.Fatalf("the policy %q has no nonce of this page's own", policy)
		}
		nonces[found[1]] = true
		for _, want := range []string{
			"default-src 'none'; ", "script-src 'self'; ", "connect-src 'self'; ", "frame-ancestors 'none'; ", "base-uri 'none'; ",
			"worker-src 'self'", "img-src 'self' data: https://cdn.example; ",
		} {
			if !strings.Contains(policy, want) {
				t.Errorf("the policy %q does not say %s", policy, want)
			}
		}
		for header, want := range map[string]string{
			"Content-Type":                 "text/html; charset=utf-8",
			"Cache-Control":                "no-store",
			"X-Frame-Options":              "DENY",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := r.Header().Get(header); got != want {
				t.Errorf("%s: %s, want %s", header, got, want)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	const script, forGood = "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"
	for prefix, h := range map[string]http.Handler{
		"/try/assets/": open(t, Options{Path: "/try", Files: built(t)}),
		"/assets/":     open(t, Options{Path: "/", Files: built(t)}),
	} {
		for name, want := range map[string]struct{ contentType, caching, encoding, text string }{
			"page-A.js":   {script, forGood, "gzip", "run()"},
			"page-B.css":  {"text/css; charset=utf-8", forGood, "gzip", "a{}"},
			"icons-D.ttf": {"font/ttf", forGood, "gzip", "font"},
			"terms-C.txt": {"text/plain; charset=utf-8", forGood, "gzip", "MIT"},
			"icon-E.svg":  {"image/svg+xml", forGood, "gzip", "<svg/>"},
		} {
			r := get(h, prefix+name)
			header := r.Header()
			if header.Get("Content-Type") != want.contentType ||
				header.Get("Cache-Control") != want.caching ||
				header.Get("Content-Encoding") != want.encoding {
				t.Errorf("%s: %v", name, header)
			}
			body := io.Reader(r.Body)
			if want.encoding == "gzip" {
				var err error
				if body, err = gzip.NewReader(body); err != nil {
					t.Fatal(err)
				}
			}
			if text, err := io.ReadAll(body); err != nil || string(text) != want.text {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
		for _, path := range []string{
			"nothing.js", "", "../index.html", "../dist/page-A.js", "page-A.js.gz", "../../page.go", "page-A.js/", "index.html",
		} {
			if r := get(h, prefix+path); r.Code != http.StatusNotFound {
				t.Errorf("%s%s: status %d", prefix, path, r.Code)
			}
		}
	}
	if r := get(open(t, Options{Path: "/", Files: built(t)}), "/index.html"); r.Code != http.StatusNotFound {
		t.Errorf("the page is served with status %d", r.Code)
	}
}
