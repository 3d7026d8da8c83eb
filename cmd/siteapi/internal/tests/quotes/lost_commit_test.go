package quotes

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
	"siteapi/integrations/store/storetest/pgserver"
)

// proxy forwards a service's connections to PostgreSQL. When a connection commits after
// it has sent the statement in after, proxy closes it: PostgreSQL receives the COMMIT,
// but its response is lost. This happens once for each value of after.
type proxy struct {
	net.Listener
	server string
	after  atomic.Value // string
}

// newProxy starts a proxy for a database, and returns the address of the database behind
// it.
func newProxy(t *testing.T, database string) (p *proxy, address string) {
	t.Helper()
	u, err := url.Parse(database)
	must(t, err)

	p = &proxy{server: u.Host}
	p.after.Store("")
	if p.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	go p.serve()

	u.Host = p.Addr().String()
	return p, u.String()
}

func (p *proxy) serve() {
	for {
		c, err := p.Accept()
		if err != nil {
			return
		}
		go p.forward(c)
	}
}

func (p *proxy) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()

	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
	}()

	buffer, armed := make([]byte, 64<<10), ""
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}

		if after := p.after.Load().(string); after != "" && bytes.Contains(buffer[:n], []byte(after)) {
			armed = after
		}

		lost := armed != "" && bytes.Contains(buffer[:n], []byte("commit")) &&
			p.after.CompareAndSwap(armed, "")
		if lost {
			client.Close()
		}

		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		if lost {
			_, _ = server.Read(buffer) // the lost response
			return
		}
	}
}

// TestLostCommit loses PostgreSQL's response to a COMMIT. The lead is stored with its
// deliveries, but the request fails with an error that mentions this. Repeating it
// returns the stored lead and creates no second one.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	p, address := newProxy(t, pgserver.Start(t).NewDatabase(t))
	s := apptest.Start(t, "DATABASE_URL="+address)

	p.after.Store("INSERT INTO leads")
	input := apptest.ValidLead("s")
	refused := s.SubmitThrough("REST", input)
	if refused.Status != 503 || refused.Code != "UPSTREAM_UNAVAILABLE" ||
		!strings.Contains(refused.Raw, "it is unknown whether") ||
		!strings.Contains(refused.Raw, "send the same request again") {
		t.Errorf("after the lost response: %s", refused)
	}

	apptest.Eventually(t, "the lead is delivered", func() bool { return len(s.Files("cms")) == 1 })
	for _, endpoint := range apptest.Endpoints {
		if id := s.MustSubmit(endpoint, input); delivered(s, "cms", id) == "" {
			t.Errorf("repeated: %s is another lead than %q", id, s.Files("cms"))
		}
	}
	if n := s.StoredLeads(); n != 1 {
		t.Errorf("%d leads are stored, want 1", n)
	}

	p.after.Store("DELETE FROM leads")
	for _, want := range []int{1, 0} {
		out, code := apptest.Command(t, s.Env, "leads", "erase", "--email", "ana@example.com", "--yes", "--server", s.Base)
		if code != want {
			t.Errorf("erasing, with a lost response and again: exit code %d, want %d: %s", code, want, out)
		}
	}
}
