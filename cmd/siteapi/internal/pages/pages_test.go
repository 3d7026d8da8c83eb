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
)

func get(h http.Handler, path string, acceptEncoding ...string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
	r.Header["Accept-Encoding"] = acceptEncoding // as set by the server
	h.ServeHTTP(w, r)
	return w
}

func open(t *testing.T, o Options) http.Handler {
	t.Helper()
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// built returns the files of a small page in the format of the build.
func built(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{
		"index.html": {Data: []byte(`<p nonce="{{nonce}}">{{token}}</p>`)},
	}
	for name, text := range map[string]string{
		"page-A.js":   strings.Repeat("run()", 500),
		"page-B.css":  strings.Repeat("a{}", 500),
		"terms-C.txt": strings.Repeat("MIT", 500),
		"icons-D.ttf": strings.Repeat("font", 500),
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
			t.Errorf("%s: unexpected page %s", path, text)
		}
		found := nonce.FindStringSubmatch(policy)
		if found == nil || nonces[found[1]] || !strings.Contains(text, `nonce="`+found[1]+`"`) {
			t.Fatalf("the policy %q does not have a new nonce of the page", policy)
		}
		nonces[found[1]] = true
		for _, want := range []string{
			"default-src 'none'; ", "script-src 'self'; ", "connect-src 'self'; ", "frame-ancestors 'none'; ", "base-uri 'none'; ",
			"worker-src 'self'", "img-src 'self' data: https://cdn.example; ",
		} {
			if !strings.Contains(policy, want) {
				t.Errorf("the policy %q lacks %s", policy, want)
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

// Assets are sent compressed to clients that accept gzip, and uncompressed to others.
func TestFiles(t *testing.T) {
	t.Parallel()
	h := open(t, Options{Path: "/try", Files: built(t)})
	for name, want := range map[string]struct{ contentType, text string }{
		"page-A.js":   {"text/javascript; charset=utf-8", strings.Repeat("run()", 500)},
		"page-B.css":  {"text/css; charset=utf-8", strings.Repeat("a{}", 500)},
		"icons-D.ttf": {"font/ttf", strings.Repeat("font", 500)},
		"icon-E.svg":  {"image/svg+xml", "<svg/>"},
	} {
		for _, encoding := range []string{"gzip", ""} {
			r := get(h, "/try/assets/"+name, encoding)
			body := io.Reader(r.Body)
			if encoding == "gzip" {
				var err error
				if body, err = gzip.NewReader(body); err != nil {
					t.Fatal(err)
				}
			}
			text, err := io.ReadAll(body)
			if header := r.Header(); err != nil || string(text) != want.text ||
				header.Get("Content-Type") != want.contentType || header.Get("Content-Encoding") != encoding ||
				header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
				t.Errorf("%s, accepting %q: %v %q, %v", name, encoding, header, text, err)
			}
		}
	}
	for _, path := range []string{"nothing.js", "", "../index.html", "page-A.js.gz", "../../page.go", "index.html"} {
		if r := get(h, "/try/assets/"+path); r.Code != 404 {
			t.Errorf("%s: status %d", path, r.Code)
		}
	}
}
