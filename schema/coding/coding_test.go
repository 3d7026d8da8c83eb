package coding_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"siteapi/schema"
	"siteapi/schema/coding"
)

// write sends an answer of some size to a request.
func write(r *http.Request, contentType string, body *coding.Body) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	w.Header().Set("ETag", `"tag"`)
	w.Header().Set("Content-Type", contentType)
	coding.Write(w, r, http.StatusOK, body)
	return w
}

func request(method string, acceptEncoding ...string) *http.Request {
	r := httptest.NewRequest(method, "/", nil)
	r.Header["Accept-Encoding"] = acceptEncoding
	return r
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	body := coding.NewBody(make([]byte, 1024))
	for accept, want := range map[string]string{
		"":                               "",
		"gzip":                           "gzip",
		"x-gzip":                         "gzip",
		"GZIP":                           "gzip",
		"br":                             "br",
		"gzip, deflate, br, zstd":        "br",
		"gzip;q=1.0, br;q=0.9":           "gzip",
		"br;q=0, gzip":                   "gzip",
		"br;q=0.0,gzip;q=0":              "",
		"*":                              "br",
		"*;q=0":                          "",
		"br;q=0, *":                      "gzip",
		"gzip;q=0.5, *;q=0.1":            "gzip",
		"identity":                       "",
		"identity, gzip;q=0.5":           "",
		"identity;q=0.5, gzip;q=0.5":     "gzip",
		"identity;q=0, deflate":          "",
		"gzip;q=wrong, br ; q = 0.2":     "br",
		"gzip;q=NaN, br;q=-1, *;q=2":     "",
		"deflate, zstd, compress":        "",
		" , ,gzip ; q=0.001,, identity;": "",
	} {
		got := write(request(http.MethodGet, accept), "application/json", body).Header()
		if got.Get("Content-Encoding") != want {
			t.Errorf("%q: %q, want %q", accept, got.Get("Content-Encoding"), want)
		}
	}

	got := write(request(http.MethodGet, "gzip;q=0.1", "br;q=0.9"), "application/json", body)
	if got.Header().Get("Content-Encoding") != "br" {
		t.Errorf("two headers: %v", got.Header())
	}
}

func TestWhatIsNotCompressed(t *testing.T) {
	t.Parallel()
	withToken, ofSession := request(http.MethodGet, "gzip"), request(http.MethodGet, "gzip")
	withToken.Header.Set("Authorization", "Bearer x")
	ofSession = ofSession.WithContext(schema.WithCaller(t.Context(), schema.Caller{
		Operator: schema.Operator{Role: schema.RoleViewer},
	}))

	for name, c := range map[string]struct {
		r           *http.Request
		size        int
		contentType string
		vary        string
	}{
		"less than 1 KB":         {request(http.MethodGet, "gzip"), 1023, "application/json", "Accept-Encoding"},
		"an answer to a token":   {withToken, 2000, "application/json", "Accept-Encoding"},
		"an answer to a session": {ofSession, 2000, "application/json", "Accept-Encoding"},
		"a PDF":                  {request(http.MethodGet, "gzip"), 2000, "application/pdf", ""},
	} {
		h := write(c.r, c.contentType, coding.NewBody(make([]byte, c.size))).Header()
		if h.Get("Content-Encoding") != "" || h.Get("ETag") != `"tag"` || h.Get("Vary") != c.vary {
			t.Errorf("%s: %v", name, h)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	plain := []byte(strings.Repeat(`{"title":"Sitios web que se ganan su lugar"}`, 100))
	body := coding.NewBody(plain)

	decode := map[string]func(io.Reader) (io.Reader, error){
		"":     func(r io.Reader) (io.Reader, error) { return r, nil },
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"br":   func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	}

	for accept, etag := range map[string]string{"": `"tag"`, "gzip": `"tag-gzip"`, "br": `"tag-br"`} {
		w := write(request(http.MethodGet, accept), "application/problem+json", body)
		encoded := bytes.Clone(w.Body.Bytes())
		reader, err := decode[w.Header().Get("Content-Encoding")](w.Body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil || !bytes.Equal(text, plain) || accept != "" && len(encoded) > len(plain)/10 {
			t.Errorf("%q: %d bytes, %v", accept, len(encoded), err)
		}
		h := w.Header()
		if h.Get("Content-Encoding") != accept || h.Get("ETag") != etag || h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", accept, h)
		}
		if w := write(request(http.MethodHead, accept), "text/plain; charset=utf-8", body); w.Body.Len() != 0 ||
			w.Header().Get("Content-Length") != h.Get("Content-Length") {
			t.Errorf("%q: HEAD: %v", accept, w.Header())
		}

		// The client's copy is current if it is of the coding that it would get now.
		for match, want := range map[string]int{
			etag: 304, "W/" + etag: 304, `"x", ` + etag: 304, "*": 304, `"tag-zstd"`: 200,
		} {
			r := request(http.MethodGet, accept)
			r.Header.Set("If-None-Match", match)
			w := write(r, "application/json; charset=utf-8", body)
			if w.Code != want || want == 304 && (w.Body.Len() > 0 || w.Header().Get("ETag") != etag ||
				w.Header().Get("Vary") != "Accept-Encoding" || w.Header().Get("Content-Encoding") != "") {
				t.Errorf("%q with If-None-Match %s: %d %v", accept, match, w.Code, w.Header())
			}
		}
	}
}

// TestPostHasNoCondition: a condition on a POST is not for reading.
func TestPostHasNoCondition(t *testing.T) {
	t.Parallel()
	r := request(http.MethodPost, "gzip")
	r.Header.Set("If-None-Match", "*")
	w := write(r, "application/json", coding.NewBody(make([]byte, 2000)))
	if w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestGunzip(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(make([]byte, 5000))
	_ = z.Close()

	body, err := coding.Gunzip(packed.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if w := write(request(http.MethodGet, "gzip"), "text/css", body); !bytes.Equal(w.Body.Bytes(), packed.Bytes()) {
		t.Error("it was compressed again")
	}
	if w := write(request(http.MethodGet), "text/css", body); w.Body.Len() != 5000 {
		t.Errorf("%d bytes", w.Body.Len())
	}
	if _, err := coding.Gunzip(packed.Bytes()[:20]); err == nil {
		t.Error("half a file is taken")
	}
}
