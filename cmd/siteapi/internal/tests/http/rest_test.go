package http

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/cmd/siteapi/internal/config"
)

// TestRequestsOfREST checks the responses to REST requests. A request without a token to a
// guarded route gets only a 401, whatever else is wrong with it.
func TestRequestsOfREST(t *testing.T) {
	t.Parallel()
	const (
		track      = "POST /api/quote/track"
		submit     = "POST /api/quote/submit"
		estimate   = "POST /api/quote/estimate"
		clearCache = "POST /api/cache/clear"
		invalidate = "POST /api/cache/invalidate"
		webhook    = "POST /api/webhooks/cms"

		form, text, typeless = "Content-Type: application/x-www-form-urlencoded", "Content-Type: text/plain", "Content-Type: "

		session = `{"sessionId":"s-1"}`
	)
	s := apptest.Start(t)
	large := `{"a":"` + strings.Repeat("a", 1<<20-8) + `"}`

	for _, tt := range []struct {
		route, header, body string
		status              int
		want                string // in the response
	}{
		// Query strings.
		{clearCache + "?all=False&pattern=none", "", "", 200, `"cleared":0`},
		{clearCache + "?other=1&other=2&pattern=none%2A", "", "", 200, `"cleared":0`},
		{clearCache + "?all=1", "", "", 400, `"field":"all","code":"wrong_type"`},
		{clearCache + "?all=", "", "", 400, `"field":"all","code":"wrong_type"`},
		{clearCache + "?pattern=", "", "", 400, `"field":"pattern","code":"empty"`},
		{clearCache + "?all=true&all=false", "", "", 400, `"field":"all","code":"repeated"`},
		{clearCache + "?pattern=%00", "", "", 400, `"field":"pattern","code":"empty"`},
		{clearCache + "?pattern=%ff", "", "", 400, `"field":"pattern","code":"unreadable"`},
		{clearCache + "?pattern=%", "", "", 400, "malformed"},
		{clearCache + "?all=true;pattern=x", "", "", 400, "malformed"},

		// Bodies.
		{track, "", session, 200, `"success":true`},
		{track, "", `sessionId=1`, 400, "not valid JSON: unexpected character (line 1, column 1)."},
		{track, "", `[]`, 400, "must be a JSON object"},
		{track, "", `{"SESSIONID":"a"}`, 400, `"field":"sessionId","code":"required"`},
		{track, "", session + strings.Repeat(" ", 64<<10-len(session)), 200, ""},
		{track, "", session + strings.Repeat(" ", 64<<10-len(session)+1), 413, "at most 65536 bytes"},
		{track, "", `{"x":{"y":[1,{"z":"\u0000"}]},"sessionId":"s-1","selections":{"x":1}}`, 200, ""},
		{track, "", `{"sessionId":"s","formData":{"firstName":"Ana \ud83d"}}`, 200, ""}, // half an emoji
		{invalidate, "", `{"locale":"xx"}`, 400, `"field":"locale","code":"not_allowed"`},
		{webhook, "", large, 200, ""},
		{webhook, "", large + " ", 413, ""},
		{webhook, "", `{}`, 400, `"field":"body","code":"empty"`},
		{webhook, "", `[{"_type":"x"}]`, 400, `"field":"body"`},
		{webhook, "", `null`, 400, `"field":"body","code":"required"`},
		{webhook, "", `{"a":[` + strings.Repeat(`{"":0},`, 100_000) + `0]}`, 400, "too many values"},

		// A byte order mark, which .NET and old editors add. Sanity does not repeat a refused webhook.
		{track, "", "\ufeff" + session, 200, `"success":true`},
		{track, text, "\ufeff\r\n" + session, 200, `"success":true`},
		{invalidate, "", "\ufeff" + `{"locale":"es"}`, 200, `"content:locale:es"`},
		{webhook, "", "\ufeff" + `{"_id":"a","_type":"siteSettings"}`, 200, `"success":true`},
		{estimate, "", "\ufeff" + `{"selections":{}}`, 200, `"min":null`},
		{track, "", "\ufeff", 400, "empty"},
		{track, "", "\ufeff\ufeff" + session, 400, "unexpected character"},
		{track, "", session + "\ufeff", 400, "something follows"},
		{webhook, "", "\xfe\xff\x00{\x00}", 400, "not UTF-8"},
		{webhook, "", "\ufeffnull", 400, `"field":"body","code":"required"`},

		// Bodies whose fields are variables.
		{estimate, "", `{"selections":{"features":["a"],"x":1},"locale":"ro","estimate":7}`, 200, `"unpriced":["a"]`},
		{estimate, "", `{"selections":{},"locale":null}`, 200, `"min":null`},
		{estimate, "", `{}`, 400, `"field":"selections","code":"required"`},
		{estimate, "", `{"selections":{"features":["A b"]}}`, 400, `"field":"selections.features[0]","code":"not_a_slug"`},
		{estimate, "", `7`, 400, "The body must be a JSON object."},

		// Media types.
		{track, `Content-Type: Application/JSON;charset="UTF-8"`, session, 200, ""},
		{track, text, session, 200, ""},
		{track, typeless, session, 200, ""},
		{track, "Content-Encoding: identity", session, 200, ""},
		{track, "Content-Type: application/json; charset=utf-16", session, 415, "in UTF-8"},
		{track, form, session, 415, "application/json or text/plain"},
		{track, "Content-Encoding: gzip", session, 415, "without a Content-Encoding"},
		{submit, text, session, 415, "application/json"},
		{webhook, "Content-Type: text/html", `{}`, 415, ""},

		// Methods.
		{"PUT /api/quote/track", "", session, 405, "This path supports POST, OPTIONS."},
	} {
		method, path, _ := strings.Cut(tt.route, " ")
		headers, guarded := []string{}, strings.Contains(path, "cache") || strings.Contains(path, "webhook")
		if tt.header != "" {
			headers = append(headers, tt.header)
		}
		if guarded && method == "POST" {
			refused := s.Do(method, path, tt.body, headers...)
			if o := s.RESTOutcome(refused); refused.Status != 401 || o.Code != "UNAUTHENTICATED" || len(o.Fields) > 0 ||
				refused.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s without a token: %d %v %s", tt.route, refused.Status, refused.Header, refused.Body)
			}
		}

		token := config.DevCacheToken
		if path == "/api/webhooks/cms" {
			token = config.DevWebhookSecret
		}
		got := s.Do(method, path, tt.body, append(headers, "Authorization: Bearer "+token)...)
		if !got.Is(tt.status, tt.want) {
			t.Errorf("%s %s %.100s: %.300s, want %d %s", tt.route, tt.header, tt.body, got, tt.status, tt.want)
		}
		if got.Status >= 400 {
			s.RESTOutcome(got) // checks the problem document
		}
	}
}

// A body whose announced length is too large is rejected before it is sent. A truncated
// body is an error. A guarded route checks the token before it reads the body.
func TestIncompleteBodies(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, "CMS_WEBHOOK_SIGNING_SECRET=sign")

	for _, tt := range []struct{ path, head, want string }{
		{"quote/track", "Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n", "HTTP/1.1 413"},
		{"quote/track", "Content-Length: 50\r\n\r\n" + `{"sessionId":"s-1"}`, "HTTP/1.1 400"},
		{"quote/track", "Transfer-Encoding: chunked\r\n\r\nfffff\r\n" + strings.Repeat("a", 1<<17), "HTTP/1.1 413"},
		{"webhooks/cms", "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n", "HTTP/1.1 401"},
		{"cache/invalidate", "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n", "HTTP/1.1 401"},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.Base, "http://"))
		must(t, err)
		_, _ = fmt.Fprintf(conn, "POST /api/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s", tt.path, tt.head)
		_ = conn.(*net.TCPConn).CloseWrite()
		all, _ := io.ReadAll(conn) // a reset may follow the response
		_ = conn.Close()
		if !strings.HasPrefix(string(all), tt.want) {
			t.Errorf("%s %.60q: got %.100q", tt.path, tt.head, all)
		}
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t)
	for _, path := range []string{"/", "/playground", "/healthz", "/api/cache/clear", "/api/quote/pdf", "/api/openapi.json"} {
		// Go's client would request gzip for GET only.
		get, head := s.Do("GET", path, "", "Accept-Encoding: gzip"), s.Do("HEAD", path, "", "Accept-Encoding: gzip")
		if len(head.Body) > 0 || head.Status != get.Status || get.Status != 200 && path != "/api/quote/pdf" {
			t.Errorf("%s: HEAD returned %d and %d bytes, GET %d", path, head.Status, len(head.Body), get.Status)
		}
		for _, name := range []string{"Content-Type", "ETag", "Cache-Control"} {
			if head.Header.Get(name) != get.Header.Get(name) {
				t.Errorf("%s: %s is %q, with GET %q", path, name, head.Header.Get(name), get.Header.Get(name))
			}
		}
	}
}
