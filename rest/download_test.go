package rest

import "testing"

func TestConditionalDownload(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)

	for header, status := range map[string]int{
		`"v1"`:       304,
		`W/"v1"`:     304,
		`*`:          304,
		`"v0", "v1"`: 304,
		`"v2"`:       200,
		`v1`:         200,
		``:           200,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := send(t, srv, method, "/api/quote/pdf?id=abc", "", "If-None-Match", header)
			if got.status != status {
				t.Errorf("%s %s: got %d, want %d", method, header, got.status, status)
			}

			if status == 304 && (got.body != "" ||
				got.header.Get("ETag") != `"v1"` || got.header.Get("Cache-Control") == "") {
				t.Errorf("%s %s: 304 with %q and %v", method, header, got.body, got.header)
			}
		}
	}

	if got := send(t, srv, "GET", "/api/quote/pdf?id=abc", "", "Range", "bytes=0-3"); got.status != 200 ||
		got.body != string(testPDF) {
		t.Errorf("a range got %d and %d bytes", got.status, len(got.body))
	}
}
