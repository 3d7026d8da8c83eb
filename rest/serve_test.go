package rest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"siteapi/schema"
)

const (
	validTrack  = `{"sessionId":"s-1"}`
	validSubmit = `{"sessionId":"s-1",` +
		`"contact":{"firstName":"Ana","lastName":"Ionescu","email":"ana@example.com"},` +
		`"selections":{"projectType":"web-app"},"estimate":{"min":1,"max":2,"currency":"EUR"}}`
	bearerHeader = "Bearer " + testToken
)

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)

	for _, path := range []string{
		"/api/cache/clear",
		"/api/quote/pdf?id=abc",
		"/api/quote/pdf",
		"/api/openapi.json",
	} {
		// Go's client would ask for gzip by GET alone.
		get := send(t, srv, "GET", path, "", "Accept-Encoding", "gzip")
		head := send(t, srv, "HEAD", path, "", "Accept-Encoding", "gzip")
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

// A caller without a token learns nothing else about a guarded route.
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
				t.Errorf("without a token: %d, WWW-Authenticate %q",
					got.status, got.header.Get("WWW-Authenticate"))
			}

			if p := got.problem(t); p.Code != schema.CodeUnauthenticated || p.Errors != nil {
				t.Errorf("without a token: %+v", p)
			}

			if got := send(t, srv, "POST", c.path, c.body,
				"Content-Type", c.contentType, "Authorization", bearerHeader,
			); fmt.Sprint(got.status) != c.want {
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
	srv, stub := newServer(t)
	stub.reply = func(string) (any, error) { return nil, errors.New("pq: secret of the database") }
	got := send(t, srv, "POST", "/api/quote/track", validTrack)
	if p := got.problem(t); got.status != 500 || strings.Contains(got.body, "secret") ||
		!strings.Contains(p.Detail, p.RequestID) {
		t.Errorf("a bug: %d %s", got.status, got.body)
	}
}
