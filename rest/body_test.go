package rest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"siteapi/schema"
)

func TestHostileBodies(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)
	for _, c := range []struct {
		name, body string
		status     int
		detail     string // expected part of the detail
	}{
		{"not JSON", `sessionId=1`, 400,
			"The body is not valid JSON: unexpected character (line 1, column 1)."},
		{"array", `[]`, 400, "has to be a JSON object"},
		{"name in another letter case", `{"SESSIONID":"a"}`, 400, "invalid fields"},
		{"64 KiB and a byte", `{"sessionId":"s-1"` + strings.Repeat(" ", 65536-18) + `}`, 413,
			"at most 65536 bytes"},
		{"64 KiB", `{"sessionId":"s-1"` + strings.Repeat(" ", 65536-19) + `}`, 200, ""},
		{"unknown fields", `{"x":{"y":[1,{"z":"\u0000"}]},"sessionId":"s-1","selections":{"x":1}}`, 200, ""},
	} {
		before := stub.ran()
		got := send(t, srv, "POST", "/api/quote/track", c.body, "Content-Type", "application/json")
		if got.status != c.status || (stub.ran() > before) != (c.status == 200) {
			t.Errorf("%s: got %d %s", c.name, got.status, got.body)
		}
		if c.status != 200 && !strings.Contains(got.problem(t).Detail, c.detail) {
			t.Errorf("%s: got %s, want %q in it", c.name, got.body, c.detail)
		}
	}
}

func TestBodyValues(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)

	got := send(t, srv, "POST", "/api/quote/track", `{
		"sessionId": "s-1",
		"selections": {"projectType": "a\"\\\u00e9\ud83d\ude00b", "features": ["x", null, "ș"], "unknown": [1]},
		"estimate": {"min": 1e3, "max": 123456789.125, "currency": null}
	}`)
	if got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}

	encoded, err := json.Marshal(stub.args[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"sessionId":"s-1",` +
		`"selections":{"projectType":"a\"\\é😀b","features":["x",null,"ș"],` +
		`"complexity":null,"timeline":null},` +
		`"estimate":{"min":1000,"max":123456789.125,"currency":null},"formData":null,"attribution":null,"locale":null,"consents":null}`

	if string(encoded) != want {
		t.Errorf("got  %s\nwant %s", encoded, want)
	}

	if half := send(t, srv, "POST", "/api/quote/track",
		`{"sessionId":"s","formData":{"firstName":"Ana \ud83d"}}`); half.status != 200 {
		t.Errorf("half an emoji in a hint: %d %s", half.status, half.body)
	}
}

// The payload of the CMS is kept whole, with every digit of its numbers.
func TestAnyJSONIsNotPruned(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)

	body := `{"_id":"a","big":12345678901234567890,"exact":0.1000,"list":[true,null,{"x":{}}],"text":"é"}`
	if got := send(t, srv, "POST", "/api/webhooks/cms", body,
		"Authorization", bearerHeader); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}

	encoded, err := json.Marshal(stub.args[0])
	if err != nil {
		t.Fatal(err)
	}
	if string(encoded) != body {
		t.Errorf("got  %s\nwant %s", encoded, body)
	}

	for body, want := range map[string]string{
		`{}`:   "body empty",
		`null`: "body required",
		`[]`:   "body empty",
		`{"many values":[` + strings.Repeat(`{"":0},`, 100_000) + `0]}`: "",
	} {
		got := send(t, srv, "POST", "/api/webhooks/cms", body, "Authorization", bearerHeader)
		p := got.problem(t)

		if got.status != 400 ||
			want != "" && (len(p.Errors) != 1 || p.Errors[0].Field+" "+string(p.Errors[0].Code) != want) {
			t.Errorf("%s: got %d %s", body, got.status, got.body)
		}
	}

	large := `{"a":"` + strings.Repeat("a", 1<<20-8) + `"}`
	if got := send(t, srv, "POST", "/api/webhooks/cms", large,
		"Authorization", bearerHeader); got.status != 200 {
		t.Errorf("1 MiB: got %d %s", got.status, got.body)
	}
	if got := send(t, srv, "POST", "/api/webhooks/cms", large+" ",
		"Authorization", bearerHeader); got.status != 413 {
		t.Errorf("1 MiB and a byte: got %d", got.status)
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	srv, _ := newServer(t)

	for _, c := range []struct {
		path, contentType, coding string
		status                    int
	}{
		{"track", "application/json", "", 200},
		{"track", `Application/JSON;charset="UTF-8"`, "", 200},
		{"track", "text/plain;charset=UTF-8", "", 200},
		{"track", "text/plain", "identity", 200},
		{"track", "", "", 200},
		{"track", "application/json; charset=utf-16", "", 415},
		{"track", "application/x-www-form-urlencoded", "", 415},
		{"track", "application/json", "gzip", 415},
		{"submit", "text/plain", "", 415},
	} {
		got := send(t, srv, "POST", "/api/quote/"+c.path, validSubmit,
			"Content-Type", c.contentType, "Content-Encoding", c.coding)
		if got.status != c.status || c.status == 415 && got.problem(t).Code != schema.CodeUnsupportedMediaType {
			t.Errorf("%s %s %s: got %d %s", c.path, c.contentType, c.coding, got.status, got.body)
		}
	}
}

// A body that is announced as too large is refused before it is sent. A body that ends
// early is not a success.
func TestBodiesThatNeverCome(t *testing.T) {
	t.Parallel()
	srv, stub := newServer(t)

	for head, want := range map[string]string{
		"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n":                 "HTTP/1.1 413",
		"Content-Length: 50\r\n\r\n" + validTrack:                                  "HTTP/1.1 400",
		"Transfer-Encoding: chunked\r\n\r\nfffff\r\n" + strings.Repeat("a", 1<<17): "HTTP/1.1 413",
	} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}

		if _, err := fmt.Fprintf(conn,
			"POST /api/quote/track HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s", head); err != nil {
			t.Fatal(err)
		}

		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		all, _ := io.ReadAll(conn) // a reset may follow the response
		_ = conn.Close()

		if !strings.HasPrefix(string(all), want) || stub.ran() > 0 {
			t.Errorf("%.60q: got %.100q, %d operations ran", head, all, stub.ran())
		}
	}
}
