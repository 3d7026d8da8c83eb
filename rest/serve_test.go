package rest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestFirst(t *testing.T) {
	srv, _ := newServer(t)
	for _, c := range [][3]string{
		{"GET", "/api/cache/clear", ""},
		{"POST", "/api/cache/clear?all=TRUE", ""},
		{"POST", "/api/quote/track", `{"sessionId":"a","zz":{"x":[1,2,"\u0041"]},"selections":{"features":["a"]},"estimate":{"min":1.5}}`},
		{"POST", "/api/quote/submit", `{"sessionId":"a"}`},
		{"GET", "/api/quote/pdf?id=1", ""},
		{"GET", "/api/quote/pdf?id=", ""},
	} {
		req, _ := http.NewRequest(c[0], srv.URL+c[1], strings.NewReader(c[2]))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		t.Log(c[0], c[1], res.Status, res.Header, string(b))
	}
}
