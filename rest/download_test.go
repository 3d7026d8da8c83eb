package rest

import (
	"net/http"
	"testing"

	"siteapi/schema"
)

func TestDownloadHeaders(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)
	got := send(t, srv, "GET", "/api/quote/pdf?id=abc", "")
	for name, want := range map[string]string{
		"Content-Type":        "application/pdf",
		"Content-Length":      "21",
		"Content-Disposition": `attachment; filename="quote-abc.pdf"; filename*=UTF-8''quote-abc.pdf`,
		"Content-Language":    "ro",
		"ETag":                `"v1"`,
		"Cache-Control":       "private, no-cache",
		"Vary":                "Accept-Language",
		"X-Robots-Tag":        "noindex",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
}

func TestConditionalDownload(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)
	for header, status := range map[string]int{
		`"v1"`:              304,
		`W/"v1"`:            304,
		`*`:                 304,
		`"v0", "v1"`:        304,
		`"a" ,W/"v0",,"v1"`: 304,
		`"v2"`:              200,
		`v1`:                200,
		`"v1`:               200,
		`W/`:                200,
		``:                  200,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := send(t, srv, method, "/api/quote/pdf?id=abc", "", "If-None-Match", header)
			if got.status != status {
				t.Errorf("%s %s: got %d, want %d", method, header, got.status, status)
			}
			if status == 304 && (got.body != "" || got.header.Get("ETag") != `"v1"` || got.header.Get("Cache-Control") == "") {
				t.Errorf("%s %s: 304 with %q and %v", method, header, got.body, got.header)
			}
		}
	}
	if got := send(t, srv, "GET", "/api/quote/pdf?id=abc", "", "Range", "bytes=0-3"); got.status != 200 || got.body != string(testPDF) {
		t.Errorf("a range got %d and %d bytes", got.status, len(got.body))
	}
}

func TestEntityTagsInSeveralLines(t *testing.T) {
	t.Parallel()
	if h := (http.Header{"If-None-Match": {`"a"`, `"b"`}}); !matches(h, `"b"`) || matches(h, `"c"`) {
		t.Error("the second line is not read")
	}
	if h := (http.Header{"If-None-Match": {`"b"`}}); !matches(h, `W/"b"`) {
		t.Error("a weak tag of our own is not matched")
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"quote-1.pdf":      `attachment; filename="quote-1.pdf"; filename*=UTF-8''quote-1.pdf`,
		"ofertă ș.pdf":     `attachment; filename="ofert___.pdf"; filename*=UTF-8''ofert%C4%83%20%C8%99.pdf`,
		"a\"b\\c\r\nX: y":  `attachment; filename="a_b_c__X__y"; filename*=UTF-8''a%22b%5Cc%0D%0AX%3A%20y`,
		"../../etc/passwd": `attachment; filename="_.._etc_passwd"; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd`,
		"it's (1)=@*.pdf":  `attachment; filename="it_s__1____.pdf"; filename*=UTF-8''it%27s%20%281%29%3D%40%2A.pdf`,
		"":                 `attachment; filename="download"; filename*=UTF-8''`,
	} {
		if got := disposition(name); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

func TestDownloadWithoutAnEntityTag(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)
	stub.reply = func(string) (any, error) {
		return &schema.QuotePDF{FileName: "f", ContentType: "application/pdf", Locale: "en", Content: []byte("x")}, nil
	}
	got := send(t, srv, "GET", "/api/quote/pdf?id=abc", "", "If-None-Match", "*")
	if got.status != 200 || got.body != "x" || got.header.Get("ETag") != "" {
		t.Errorf("got %d %q %v", got.status, got.body, got.header)
	}
}
