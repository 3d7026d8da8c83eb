package graphqlhttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// FuzzRequest sends anything as a request's body, query string and headers. Whatever it
// is, the answer is quick, below 500 and, where there is a body, valid JSON.
func FuzzRequest(f *testing.F) {
	seeds := []struct{ method, query, body string }{
		{"POST", "", `{"query":"{ SiteSettings(id: \"siteSettings\") { contactPhone } }"}`},
		{"POST", "", `{"query":"query A($l: Locale!) { content(documentType: \"a\", locale: $l) { id fields } }","variables":{"l":"ro"},"operationName":"A"}`},
		{"POST", "", `{"query":"mutation { trackQuote(input: {sessionId: \"a\", selections: {features: [\"b\"]}}) { success } }"}`},
		{"POST", "", `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"abc"}}}`},
		{"POST", "", `{"documentId":"sha256:abc"}`},
		{"POST", "", `{"query":"{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }"}`},
		{"POST", "", `[{"query":"{ __typename }"}]`},
		{"POST", "", "{\"query\":\"\xff\"}"},
		{"GET", `query=%7B__typename%7D&variables=%7B%7D&extensions=%7B%22persistedQuery%22%3Anull%7D`, ""},
		{"GET", `query=%7Bcontent(documentType%3A"a")%7Bid%7D%7D`, ""},
	}
	for _, s := range seeds {
		f.Add(s.method == "GET", s.query, s.body, typeJSON, typeGraphQL)
	}
	handler := newSetup(nil).handler(f, nil)
	f.Fuzz(func(t *testing.T, get bool, query, body, contentType, accept string) {
		r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body))
		if get {
			r = httptest.NewRequest(http.MethodGet, "/graphql", nil)
			r.URL.RawQuery = query
		}
		r.Header["Content-Type"], r.Header["Accept"] = []string{contentType}, []string{accept}
		w := httptest.NewRecorder()
		start := time.Now()
		handler.ServeHTTP(w, r)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		if w.Code >= 500 || w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	})
}
