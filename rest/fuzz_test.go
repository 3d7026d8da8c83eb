package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

// FuzzBinding sends any query string and any body to every route: the answer is never
// a 5xx, problems are well formed, and nothing that encoding/json refuses gets through.
func FuzzBinding(f *testing.F) {
	for _, seed := range []struct{ query, body string }{
		{"", validTrack}, {"", validSubmit}, {"all=true", ""}, {"pattern=content:*&all=", "{}"},
		{"id=abc&locale=ro", `{"_type":"x","list":[1,2.5e3,null,{"a":"\u00e9\ud83d\ude00"}]}`},
		{"%zz;=&&", "{\"a\":\"\x00\xff\"}"}, {"id=a&id=b", `{"sessionId":"a","sessionId":"b"}`},
		{"", `{"sessionId":"a","estimate":{"min":1e999,"max":-0,"currency":[]},"selections":{"features":[[["x"]]]}}`},
		{"", `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[`},
		{"", " {} {}"}, {"", "null"}, {"", `"\u0000"`},
	} {
		f.Add(seed.query, []byte(seed.body))
	}
	a, _ := newAPI(f)
	f.Fuzz(func(t *testing.T, query string, body []byte) {
		for _, rt := range a.routes {
			r := httptest.NewRequest(rt.method, rt.path, bytes.NewReader(body))
			r.URL.RawQuery = query
			r.Header.Set("Authorization", bearerHeader)
			w := httptest.NewRecorder()
			a.ServeHTTP(w, withCaller(r))
			if w.Code >= 500 {
				t.Fatalf("%s %s: %d %s", rt.method, rt.path, w.Code, w.Body)
			}
			if w.Code >= 400 {
				var p Problem
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code {
					t.Fatalf("%s %s: %d with %q", rt.method, rt.path, w.Code, w.Body)
				}
			}
			if w.Code == http.StatusOK && rt.body != nil && !json.Valid(body) {
				t.Fatalf("%s %s accepted %q", rt.method, rt.path, body)
			}
		}
	})
}
