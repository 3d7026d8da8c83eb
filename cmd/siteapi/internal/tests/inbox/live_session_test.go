package inbox

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

	"siteapi/cmd/siteapi/internal/apptest"
)

// A stream goes on only as long as its session does, with the same role. One of another
// session is not touched.
func TestLiveEndsWithItsSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		groups []string // of the account afterwards
		status int      // of another stream afterwards
		end    func(s *apptest.Site, session string)
	}{
		"ended by an admin": {[]string{"desk"}, 401, func(s *apptest.Site, session string) {
			s.Says(apptest.Said{Args: "logins end " + session, Want: []string{"1"}})
		}},
		"a lower role": {[]string{"marketing"}, 200, func(s *apptest.Site, session string) {
			s.Damage(`UPDATE logins SET check_at = 1 WHERE hash LIKE '` + session + `%'`)
		}},
		"no role any more": {nil, 401, func(s *apptest.Site, session string) {
			s.Damage(`UPDATE logins SET check_at = 1 WHERE hash LIKE '` + session + `%'`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := apptest.NewProvider(t)
			p.Groups = []string{"desk"}
			address := apptest.FreeAddress(t)
			s := apptest.NewSite(t, p.Environ(address)...).Start()

			base := "http://" + address
			b, other := &apptest.Browser{T: t, Base: base}, &apptest.Browser{T: t, Base: base}
			if _, text := b.SignsIn(); b.Cookie == nil {
				t.Fatal(text)
			}
			out, _ := s.Run("logins", "list")
			session := regexp.MustCompile(`\b[0-9a-f]{12}\b`).FindString(out)
			if session == "" {
				t.Fatalf("the sessions: %s", out)
			}
			if _, text := other.SignsIn(); other.Cookie == nil {
				t.Fatal(text)
			}

			stream := opensStream(b)
			if stream.StatusCode != 200 {
				t.Fatalf("the stream: %d", stream.StatusCode)
			}
			stays := follow(t, base+"/admin/graphql", streamHeaders(other)...)

			p.Set(func() { p.Groups = test.groups })
			test.end(s, session)
			if _, err := io.Copy(io.Discard, stream.Body); err != nil {
				t.Errorf("the stream broke: %v", err)
			}
			if again := opensStream(b); again.StatusCode != test.status {
				t.Errorf("another stream: %d, want %d", again.StatusCode, test.status)
			}

			stays.Within(time.Minute, s.Submit("one"), "CREATED")
			if _, breaks := stays.Ends(); breaks > 0 {
				t.Error("the stream of another session ended")
			}
		})
	}
}

// streamHeaders are the headers of a stream in the session of a browser.
func streamHeaders(b *apptest.Browser) []string {
	return []string{"Cookie: " + b.Cookie.Name + "=" + b.Cookie.Value, "X-CSRF-Token: " + b.CSRF}
}

// opensStream asks for leadEvents in the session of a browser.
func opensStream(b *apptest.Browser) *http.Response {
	b.T.Helper()
	resp, err := openStream(b.T.Context(), b.Base+"/admin/graphql", "null", streamHeaders(b)...)
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// A client that stops reading is cut, although its connection stays open, and does not count
// as a stream any more. Other pages notice nothing.
func TestLiveCutsAStalledClient(t *testing.T) {
	t.Parallel()
	admin := apptest.FreeAddress(t)
	r := apptest.Launch(t, t.TempDir(), apptest.LiveEnv("ADMIN_ADDR="+admin)...)
	streams := func() string {
		for line := range strings.Lines(string((&apptest.Service{T: t, Base: "http://" + admin}).Do("GET", "/metrics", "").Body)) {
			if n, ok := strings.CutPrefix(line, `siteapi_http_requests_under_way{class="streams"} `); ok {
				return strings.TrimSpace(n)
			}
		}
		return ""
	}
	var ids []string
	for i := range 50 {
		ids = append(ids, r.Submits(fmt.Sprint("lead-", i)))
	}

	stalls(r)
	reader := follow(t, r.Base+"/graphql", apptest.OperatorAuth)
	if n := streams(); n != "2" {
		t.Fatalf("%s streams are counted, want 2", n)
	}

	// Each event takes some 100 KB of the stalled connection, whose buffers are small.
	n, told := 0, ""
	apptest.Eventually(t, "the stalled client is cut", func() bool {
		if told != reader.At() { // the event before has come
			n, told = n+1, reader.At()
			r.Operate(fmt.Sprintf(`mutation { assignLeads(ids: ["%s"], owner: "owner-%d@example.com") { changed } }`,
				strings.Join(ids, `", "`), n))
		}
		return streams() == "1"
	})
	reader.Within(time.Minute, r.Submits("after"), "CREATED")
	if _, breaks := reader.Ends(); breaks > 0 {
		t.Error("another stream broke")
	}
}

// stalls asks for events that are large, and reads nothing but the first line of the answer.
func stalls(r *apptest.Process) {
	r.T.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		})
	}}
	at, _ := url.Parse(r.Base)
	conn, err := dialer.DialContext(context.WithoutCancel(r.T.Context()), "tcp", at.Host)
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() { _ = conn.Close() })

	fields := ""
	for i := range 40 {
		fields += fmt.Sprintf(" a%d: id", i)
	}
	body := `{"query":"subscription { leadEvents { position changes {` + fields + ` } } }"}`
	_, err = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: %s\r\n%s\r\nAccept: text/event-stream\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", at.Host, apptest.OperatorAuth, len(body), body)
	if err != nil {
		r.T.Fatal(err)
	}
	if status, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(status, "200") {
		r.T.Fatalf("%q %v", status, err)
	}
}
