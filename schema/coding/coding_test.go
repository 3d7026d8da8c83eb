package coding_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"siteapi/schema"
	"siteapi/schema/coding"
)

func request(accept ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header["Accept-Encoding"] = accept
	return r
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]coding.Coding{
		"":                               coding.Identity,
		"gzip":                           coding.Gzip,
		"x-gzip":                         coding.Gzip,
		"GZIP":                           coding.Gzip,
		"br":                             coding.Brotli,
		"gzip, deflate, br, zstd":        coding.Brotli,
		"gzip;q=1.0, br;q=0.9":           coding.Gzip,
		"br;q=0, gzip":                   coding.Gzip,
		"br;q=0.0,gzip;q=0":              coding.Identity,
		"*":                              coding.Brotli,
		"*;q=0":                          coding.Identity,
		"br;q=0, *":                      coding.Gzip,
		"gzip;q=0.5, *;q=0.1":            coding.Gzip,
		"identity":                       coding.Identity,
		"identity, gzip;q=0.5":           coding.Identity,
		"identity;q=0.5, gzip;q=0.5":     coding.Gzip,
		"identity;q=0, deflate":          coding.Identity,
		"gzip;q=wrong, br ; q = 0.2":     coding.Brotli,
		"gzip;q=NaN, br;q=-1, *;q=2":     coding.Identity,
		"deflate, zstd, compress":        coding.Identity,
		" , ,gzip ; q=0.001,, identity;": coding.Identity,
	} {
		if got := coding.For(request(accept), 2000); got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
	if got := coding.For(request("gzip;q=0.1", "br;q=0.9"), 2000); got != coding.Brotli {
		t.Errorf("two headers: %q", got)
	}
}

func TestWhatIsNotCompressed(t *testing.T) {
	t.Parallel()
	withToken := request("gzip")
	withToken.Header.Set("Authorization", "Bearer x")
	ofSession := request("gzip")
	ofSession = ofSession.WithContext(schema.WithCaller(context.Background(), &schema.Caller{Session: true}))

	for name, c := range map[string]struct {
		r    *http.Request
		size int
	}{
		"an answer of less than 1 KB": {request("gzip"), 1023},
		"an answer to a token":        {withToken, 2000},
		"an answer to a session":      {ofSession, 2000},
	} {
		if got := coding.For(c.r, c.size); got != coding.Identity {
			t.Errorf("%s is compressed with %q", name, got)
		}
	}
	if got := coding.For(request("gzip"), 1024); got != coding.Gzip {
		t.Errorf("an answer of 1 KB: %q", got)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	plain := []byte(strings.Repeat(`{"title":"Sitios web que se ganan su lugar"}`, 100))
	body := coding.NewBody(plain)

	write := func(method, accept, match string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, "/", nil)
		r.Header.Set("Accept-Encoding", accept)
		r.Header.Set("If-None-Match", match)
		w.Header().Set("ETag", `"tag"`)
		w.Header().Set("Content-Type", "application/json")
		coding.Write(w, r, http.StatusOK, body)
		return w
	}
	decode := map[string]func(io.Reader) (io.Reader, error){
		"":     func(r io.Reader) (io.Reader, error) { return r, nil },
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"br":   func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	}

	for accept, etag := range map[string]string{"": `"tag"`, "gzip": `"tag-gzip"`, "br": `"tag-br"`} {
		w := write(http.MethodGet, accept, "")
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
		if w := write(http.MethodHead, accept, ""); w.Body.Len() != 0 ||
			w.Header().Get("Content-Length") != h.Get("Content-Length") {
			t.Errorf("%q: HEAD: %v", accept, w.Header())
		}

		// The client's copy is current if it is of the coding that it would get now.
		for match, want := range map[string]int{
			etag: 304, "W/" + etag: 304, `"x", ` + etag: 304, "*": 304, `"tag-zstd"`: 200,
		} {
			w := write(http.MethodGet, accept, match)
			if w.Code != want || want == 304 && (w.Body.Len() > 0 || w.Header().Get("ETag") != etag ||
				w.Header().Get("Vary") != "Accept-Encoding" || w.Header().Get("Content-Encoding") != "") {
				t.Errorf("%q with If-None-Match %s: %d %v", accept, match, w.Code, w.Header())
			}
		}
	}
}
