package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stream goes on only as long as its session does, with the same role. One of another
// session is not touched.
func TestLiveEndsWithItsSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		groups []string // of the account afterwards
		status int      // of another stream afterwards
		end    func(s *site, session string)
	}{
		"ended by an admin": {[]string{"desk"}, 401, func(s *site, session string) {
			s.says(said{args: "sessions end " + session, want: []string{"1"}})
		}},
		"a lower role": {[]string{"marketing"}, 200, func(s *site, session string) {
			s.damage(`UPDATE logins SET check_at = 1 WHERE hash LIKE '` + session + `%'`)
		}},
		"no role any more": {nil, 401, func(s *site, session string) {
			s.damage(`UPDATE logins SET check_at = 1 WHERE hash LIKE '` + session + `%'`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			p.groups = []string{"desk"}
			address := freeAddress(t)
			s := newSite(t, p.environ(address)...).start()

			base := "http://" + address
			b, other := &browser{t: t, base: base}, &browser{t: t, base: base}
			if _, text := b.signsIn(); b.cookie == nil {
				t.Fatal(text)
			}
			out, _ := s.run("sessions", "list")
			session := regexp.MustCompile(`\b[0-9a-f]{12}\b`).FindString(out)
			if session == "" {
				t.Fatalf("the sessions: %s", out)
			}
			if _, text := other.signsIn(); other.cookie == nil {
				t.Fatal(text)
			}

			stream := b.opensStream()
			if stream.StatusCode != 200 {
				t.Fatalf("the stream: %d", stream.StatusCode)
			}
			stays := follow(t, base+"/admin/graphql", other.streamHeaders()...)

			p.set(func() { p.groups = test.groups })
			test.end(s, session)
			if _, err := io.Copy(io.Discard, stream.Body); err != nil {
				t.Errorf("the stream broke: %v", err)
			}
			if again := b.opensStream(); again.StatusCode != test.status {
				t.Errorf("another stream: %d, want %d", again.StatusCode, test.status)
			}

			stays.within(time.Minute, s.submit("one"), "CREATED")
			if _, breaks := stays.ends(); breaks > 0 {
				t.Error("the stream of another session ended")
			}
		})
	}
}

// streamHeaders are the headers of a stream in the session of a browser.
func (b *browser) streamHeaders() []string {
	return []string{"Cookie: " + b.cookie.Name + "=" + b.cookie.Value, "X-CSRF-Token: " + b.csrf}
}

// opensStream asks for leadEvents in the session of a browser.
func (b *browser) opensStream() *http.Response {
	b.t.Helper()
	resp, err := openStream(b.t.Context(), b.base+"/admin/graphql", "null", b.streamHeaders()...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// A client that stops reading is cut, although its connection stays open, and does not count
// as a stream any more. Other pages notice nothing.
func TestLiveCutsAStalledClient(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	r := launch(t, t.TempDir(), liveEnv("ADMIN_ADDR="+admin)...)
	streams := func() string {
		for line := range strings.Lines(string((&service{t: t, base: "http://" + admin}).do("GET", "/metrics", "").body)) {
			if n, ok := strings.CutPrefix(line, `siteapi_http_requests_under_way{class="streams"} `); ok {
				return strings.TrimSpace(n)
			}
		}
		return ""
	}
	var ids []string
	for i := range 50 {
		ids = append(ids, r.submits(fmt.Sprint("lead-", i)))
	}

	r.stalls()
	reader := follow(t, r.base+"/graphql", operatorAuth)
	if n := streams(); n != "2" {
		t.Fatalf("%s streams are counted, want 2", n)
	}

	// Each event takes some 100 KB of the stalled connection, whose buffers are small.
	n, told := 0, ""
	eventually(t, "the stalled client is cut", func() bool {
		if told != reader.at() { // the event before has come
			n, told = n+1, reader.at()
			r.operate(fmt.Sprintf(`mutation { assignLeads(ids: ["%s"], owner: "owner-%d@example.com") { changed } }`,
				strings.Join(ids, `", "`), n))
		}
		return streams() == "1"
	})
	reader.within(time.Minute, r.submits("after"), "CREATED")
	if _, breaks := reader.ends(); breaks > 0 {
		t.Error("another stream broke")
	}
}

// stalls asks for events that are large, and reads nothing but the first line of the answer.
func (r *running) stalls() {
	r.t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		})
	}}
	at, _ := url.Parse(r.base)
	conn, err := dialer.DialContext(context.WithoutCancel(r.t.Context()), "tcp", at.Host)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })

	fields := ""
	for i := range 40 {
		fields += fmt.Sprintf(" a%d: id", i)
	}
	body := `{"query":"subscription { leadEvents { position changes {` + fields + ` } } }"}`
	_, err = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: %s\r\n%s\r\nAccept: text/event-stream\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", at.Host, operatorAuth, len(body), body)
	if err != nil {
		r.t.Fatal(err)
	}
	if status, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(status, "200") {
		r.t.Fatalf("%q %v", status, err)
	}
}
