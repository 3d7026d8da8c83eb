package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"siteapi/schema"
)

const (
	validTrack  = `{"sessionId":"s-1"}`
	validSubmit = `{"sessionId":"s-1","contact":{"firstName":"Ana","lastName":"Ionescu","email":"ana@example.com"},` +
		`"selections":{"projectType":"web-app"},"estimate":{"min":1,"max":2,"currency":"EUR"}}`
	bearerHeader = "Bearer " + testToken
)

func TestRoutesAnswerTheRootFieldsValue(t *testing.T) {
	t.Parallel()
	cases := []struct{ method, path, body, want string }{
		{"GET", "/api/cache/clear", "", `{"success":true,"stats":{"type":"memory","size":2,"available":true}}`},
		{"POST", "/api/cache/clear?all=true", "", `{"success":true,"cleared":3}`},
		{"POST", "/api/cache/clear?pattern=content:*", "", `{"success":true,"cleared":3}`},
		{"POST", "/api/cache/invalidate", `{"documentType":"heroSection"}`, `{"success":true,"invalidated":["content:locale:en"]}`},
		{"POST", "/api/webhooks/cms", `{"_type":"heroSection"}`, `{"success":true,"invalidated":[]}`},
		{"POST", "/api/quote/track", validTrack, `{"success":true,"sessionId":"s-1"}`},
		{"POST", "/api/quote/submit", validSubmit, `{"success":true,"submissionId":"abc","pdfUrl":"/api/quote/pdf?id=abc"}`},
		{"GET", "/api/quote/pdf?id=abc", "", string(testPDF)},
	}
	for _, c := range cases {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			t.Parallel()
			srv, _ := newServer(t)
			got := send(t, srv, c.method, c.path, c.body, "Authorization", bearerHeader)
			if got.status != 200 || got.body != c.want {
				t.Fatalf("got %d %s\nwant 200 %s", got.status, got.body, c.want)
			}
			if length := got.header.Get("Content-Length"); length != fmt.Sprint(len(c.want)) {
				t.Errorf("Content-Length %s of %d", length, len(c.want))
			}
			if strings.Contains(c.path, "pdf") {
				return
			}
			if typ := got.header.Get("Content-Type"); typ != "application/json; charset=utf-8" {
				t.Errorf("Content-Type %q", typ)
			}
			if cc := got.header.Get("Cache-Control"); cc != "no-store" {
				t.Errorf("Cache-Control %q", cc)
			}
		})
	}
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)
	cases := []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/api/nothing", 404, ""},
		{"GET", "/api/", 404, ""},
		{"GET", "/api/cache/clear/", 404, ""},
		{"GET", "/api//cache/clear", 404, ""},
		{"GET", "/api/cache/../cache/clear", 404, ""},
		{"GET", "/api/cache%2Fclear", 404, ""},
		{"GET", "/api/c%61che/clear", 404, ""},
		{"GET", "/api/Cache/clear", 404, ""},
		{"OPTIONS", "/api/nothing", 404, ""},
		{"DELETE", "/api/cache/clear", 405, "GET, HEAD, POST, OPTIONS"},
		{"GET", "/api/quote/track", 405, "POST, OPTIONS"},
		{"HEAD", "/api/quote/track", 405, "POST, OPTIONS"},
		{"POST", "/api/quote/pdf", 405, "GET, HEAD, OPTIONS"},
		{"PROPFIND", "/api/quote/pdf", 405, "GET, HEAD, OPTIONS"},
		{"POST", "/api/openapi.json", 405, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/api/cache/clear", 204, "GET, HEAD, POST, OPTIONS"},
		{"OPTIONS", "/api/quote/submit", 204, "POST, OPTIONS"},
		{"OPTIONS", "/api/openapi.json", 204, "GET, HEAD, OPTIONS"},
	}
	for _, c := range cases {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			got := send(t, srv, c.method, c.path, "")
			if got.status != c.status || got.header.Get("Allow") != c.allow {
				t.Fatalf("got %d with Allow %q, want %d with %q", got.status, got.header.Get("Allow"), c.status, c.allow)
			}
			if c.status >= 400 && c.method != "HEAD" {
				got.problem(t)
			}
		})
	}
	if stub.ran() != 0 {
		t.Errorf("%d operations ran", stub.ran())
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)
	for _, path := range []string{"/api/cache/clear", "/api/quote/pdf?id=abc", "/api/quote/pdf", "/api/openapi.json"} {
		get, head := send(t, srv, "GET", path, ""), send(t, srv, "HEAD", path, "")
		if head.body != "" || head.status != get.status {
			t.Errorf("%s: HEAD gave %d and %d bytes, GET %d", path, head.status, len(head.body), get.status)
		}
		for _, name := range []string{"Content-Length", "Content-Type", "ETag", "Cache-Control"} {
			if head.header.Get(name) != get.header.Get(name) {
				t.Errorf("%s: %s is %q, by GET %q", path, name, head.header.Get(name), get.header.Get(name))
			}
		}
	}
}

// A caller without a token learns nothing else of a guarded route.
func TestMissingTokenWinsOverEverythingElse(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)
	cases := []struct{ name, path, body, contentType, want string }{
		{"valid", "/api/cache/invalidate", `{"type":"all"}`, "application/json", "200"},
		{"not JSON", "/api/cache/invalidate", `{`, "application/json", "400"},
		{"empty", "/api/webhooks/cms", ``, "application/json", "400"},
		{"invalid field", "/api/cache/invalidate", `{"locale":"xx"}`, "application/json", "400"},
		{"media type", "/api/webhooks/cms", `{}`, "text/html", "415"},
		{"too large", "/api/webhooks/cms", strings.Repeat(" ", 1<<20+1), "application/json", "413"},
		{"parameter", "/api/cache/clear?all=perhaps", ``, "", "400"},
		{"query string", "/api/cache/clear?all=%zz", ``, "", "400"},
		{"parameter twice", "/api/cache/clear?all=true&all=true", ``, "", "400"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := send(t, srv, "POST", c.path, c.body, "Content-Type", c.contentType)
			if got.status != 401 || got.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("without a token: %d, WWW-Authenticate %q", got.status, got.header.Get("WWW-Authenticate"))
			}
			if p := got.problem(t); p.Code != schema.CodeUnauthenticated || p.Errors != nil {
				t.Errorf("without a token: %+v", p)
			}
			if got := send(t, srv, "POST", c.path, c.body, "Content-Type", c.contentType, "Authorization", bearerHeader); fmt.Sprint(got.status) != c.want {
				t.Errorf("with a token: %d, want %s: %s", got.status, c.want, got.body)
			}
		})
	}
	if stub.ran() != 1 {
		t.Errorf("%d operations ran, want the valid one", stub.ran())
	}
}

func TestErrorsOfAnOperation(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name       string
		err        error
		status     int
		code       schema.Code
		detail     string
		retryAfter string
	}{
		{"unavailable", &schema.Error{Code: schema.CodeUpstreamUnavailable, Message: "Away.", RetryAfter: 30 * time.Second}, 503, schema.CodeUpstreamUnavailable, "Away.", "30"},
		{"unavailable, nobody knows how long", &schema.Error{Code: schema.CodeUpstreamUnavailable, Message: "Away."}, 503, schema.CodeUpstreamUnavailable, "Away.", "5"},
		{"rate limited", &schema.Error{Code: schema.CodeRateLimited, Message: "Slow down.", RetryAfter: time.Second}, 429, schema.CodeRateLimited, "Slow down.", "1"},
		{"not found", &schema.Error{Code: schema.CodeNotFound, Message: "No such thing."}, 404, schema.CodeNotFound, "No such thing.", ""},
		{"a bug", errors.New("pq: secret of the database"), 500, schema.CodeInternal, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv, stub := newServer(t)
			stub.reply = func(string) (any, error) { return nil, c.err }
			got := send(t, srv, "POST", "/api/quote/track", validTrack)
			p := got.problem(t)
			if got.status != c.status || p.Code != c.code || got.header.Get("Retry-After") != c.retryAfter {
				t.Errorf("got %d %+v, Retry-After %q", got.status, p, got.header.Get("Retry-After"))
			}
			if c.detail != "" && p.Detail != c.detail {
				t.Errorf("detail %q", p.Detail)
			}
			if strings.Contains(got.body, "secret") || (c.status == 500 && !strings.Contains(p.Detail, p.RequestID)) {
				t.Errorf("detail %q", p.Detail)
			}
		})
	}
}

func TestNothingFoundIs404(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)
	stub.reply = func(string) (any, error) { return nil, nil } //nolint:nilnil // an answer of null
	if got := send(t, srv, "GET", "/api/quote/pdf?id=abc", ""); got.status != 404 || got.problem(t).Code != schema.CodeNotFound {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestAllInvalidFieldsAreReported(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)
	got := send(t, srv, "POST", "/api/quote/submit",
		`{"sessionId":"s 1","contact":{"firstName":"","lastName":7,"email":"x"},"selections":[],"estimate":{"min":2,"max":1,"currency":"?"}}`)
	var fields []string
	for _, e := range got.problem(t).Errors {
		fields = append(fields, e.Field)
	}
	want := "sessionId contact.firstName contact.lastName contact.email selections estimate.min estimate.currency"
	if strings.Join(fields, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(fields, " "), want)
	}
}

// The caller that the server's middleware made is used, and gets the raw body.
func TestCallerComesFromTheContext(t *testing.T) {
	t.Parallel()
	a, stub := newAPI(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &schema.Caller{RequestID: "from-middleware", Bearer: testToken}
		a.ServeHTTP(w, r.WithContext(schema.WithCaller(r.Context(), c)))
	}))
	t.Cleanup(srv.Close)
	body := "{ \"_type\" : \"heroSection\" }\n"
	if got := send(t, srv, "POST", "/api/webhooks/cms", body); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if c := stub.callers[0]; c.RequestID != "from-middleware" || string(c.Body) != body {
		t.Errorf("caller %+v with body %q", c, c.Body)
	}
	if p := send(t, srv, "GET", "/api/nothing", "").problem(t); p.RequestID != "from-middleware" {
		t.Errorf("request id %q", p.RequestID)
	}
}

func TestCallerFromHeaders(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)
	send(t, srv, "POST", "/api/quote/track", validTrack, "Authorization", "bearer  t ", "Accept-Language", "ro",
		"Idempotency-Key", `"k"`, "Sanity-Webhook-Signature", "t=1,v1=x")
	got := stub.callers[0]
	if got.RequestID == "" || got.Address != "127.0.0.1" {
		t.Errorf("caller %+v", got)
	}
	got.RequestID, got.Address, got.Body, got.Summary = "", "", nil, schema.Summary{}
	want := schema.Caller{Bearer: "t", AcceptLanguage: "ro", IdempotencyKey: "k", Signature: "t=1,v1=x"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for header, want := range map[string]string{"": "", "Bearer": "", "Basic abc": "", "BEARER abc": "abc"} {
		if got := bearer(header); got != want {
			t.Errorf("bearer(%q) = %q", header, got)
		}
	}
}

// broken is an executor that gives what no executor should.
type broken struct {
	*stub
	res *graphql.Response
}

func (b broken) DispatchOperation(
	ctx context.Context, _ *graphql.OperationContext,
) (graphql.ResponseHandler, context.Context) {
	return graphql.OneShot(b.res), ctx
}

func TestStrangeAnswersOfTheExecutor(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		res    *graphql.Response
		status int
	}{
		{"none, as the time is up", nil, 503},
		{"no data", &graphql.Response{}, 500},
		{"null", &graphql.Response{Data: []byte("null")}, 500},
		{"another field", &graphql.Response{Data: []byte(`{"other":{}}`)}, 500},
		{"cut off", &graphql.Response{Data: []byte(`{"trackQuote":{`)}, 500},
		{"error without a code", &graphql.Response{Errors: gqlerror.List{{Message: "secret"}}}, 500},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, err := New(broken{newStub(t), c.res}, schema.AST(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(a)
			t.Cleanup(srv.Close)
			got := send(t, srv, "POST", "/api/quote/track", validTrack)
			if got.problem(t); got.status != c.status || strings.Contains(got.body, "secret") {
				t.Errorf("got %d %s", got.status, got.body)
			}
		})
	}
}

func TestRoutesAndMatch(t *testing.T) {
	t.Parallel()
	a, _ := newAPI(t)
	var got []string
	for _, r := range a.Routes() {
		got = append(got, fmt.Sprintf("%s %s %s %d", r.Method, r.Path, r.Operation, r.BodyLimit))
	}
	want := `GET /api/cache/clear CacheStats 0
POST /api/cache/clear ClearCache 0
POST /api/cache/invalidate InvalidateCache 65536
GET /api/quote/pdf QuotePdf 0
POST /api/quote/submit SubmitQuote 65536
POST /api/quote/track TrackQuote 65536
POST /api/webhooks/cms ReceiveCmsWebhook 1048576`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	for request, want := range map[string]string{
		"HEAD /api/cache/clear": "CacheStats", "POST /api/cache/clear?all=true": "ClearCache",
		"OPTIONS /api/cache/clear": "", "GET /api/quote/track": "", "GET /graphql": "", "GET /api/quote%2Fpdf": "",
	} {
		method, target, _ := strings.Cut(request, " ")
		r, found := a.Match(httptest.NewRequest(method, target, nil))
		if r.Operation != want || found != (want != "") {
			t.Errorf("%s: %v %q", request, found, r.Operation)
		}
	}
}
