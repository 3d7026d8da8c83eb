package pages

import (
	"bytes"
	"io/fs"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

// get returns the response of a page to a request for a path.
func get(t *testing.T, o Options, path, acceptEncoding string) *httptest.ResponseRecorder {
	t.Helper()
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
	r.Header.Set("Accept-Encoding", acceptEncoding) // as set by the server
	h.ServeHTTP(w, r)
	return w
}

func TestPage(t *testing.T) {
	t.Parallel()
	nonce := regexp.MustCompile(`'nonce-([A-Z2-7]{26})'`)
	o, nonces := Playground(), map[string]bool{}
	o.Values = map[string]string{"cache-token": "<token>"}
	for _, path := range []string{PlaygroundPath, PlaygroundPath + "/"} {
		r := get(t, o, path, "")
		text, policy := r.Body.String(), r.Header().Get("Content-Security-Policy")
		if !strings.Contains(text, "&lt;token&gt;") ||
			regexp.MustCompile(`(?:src|href)="(?:https?:)?//`).MatchString(text) {
			t.Errorf("%s: unexpected page %s", path, text)
		}
		found := nonce.FindStringSubmatch(policy)
		if found == nil || nonces[found[1]] || !strings.Contains(text, found[1]) {
			t.Fatalf("the policy %q does not have a new nonce of the page", policy)
		}
		nonces[found[1]] = true
		for _, want := range []string{
			"default-src 'none'; ", "script-src 'self'; ", "connect-src 'self'; ", "frame-ancestors 'none'; ", "base-uri 'none'; ",
			"worker-src 'self'", "img-src 'self' data:; ",
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
	types := map[string]string{
		".js":  "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8",
		".ttf": "font/ttf",
		".svg": "image/svg+xml",
		".txt": "text/plain; charset=utf-8",
	}
	for _, page := range []string{"playground", "docs", "inbox"} {
		o := Options{Path: "/try", Files: Files(page)}
		files, _ := fs.Glob(o.Files, "*.gz")
		for _, file := range files {
			packed, _ := fs.ReadFile(o.Files, file)
			plain, err := unpack(packed)
			name := strings.TrimSuffix(file, ".gz")
			for encoding, want := range map[string][]byte{"gzip": packed, "": plain} {
				r := get(t, o, "/try/assets/"+name, encoding)
				if header := r.Header(); err != nil || !bytes.Equal(r.Body.Bytes(), want) ||
					header.Get("Content-Type") != types[path.Ext(name)] || header.Get("Content-Encoding") != encoding ||
					header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
					t.Errorf("%s of %s, accepting %q: %v, %v", name, page, encoding, header, err)
				}
			}

			for _, path := range []string{"nothing.js", "", "../index.html", file, "../../page.go", "index.html"} {
				if r := get(t, o, "/try/assets/"+path, ""); r.Code != 404 {
					t.Errorf("%s: status %d", path, r.Code)
				}
			}
		}
	}
}
