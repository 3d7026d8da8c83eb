package valkey_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/valkeyconn"
)

// content is a modifiable source that counts its fills.
type content struct {
	fills atomic.Int32
	value atomic.Value // string
}

func newContent(value string) *content {
	s := &content{}
	s.value.Store(value)
	return s
}

func (s *content) fill(context.Context) ([]byte, cache.Lifetime, error) {
	s.fills.Add(1)
	return []byte(s.value.Load().(string)), cache.Lifetime{Fresh: time.Hour}, nil
}

func read(t *testing.T, c cache.Cache, key string, s *content, want string) {
	t.Helper()
	e, err := c.Get(t.Context(), key, s.fill)
	if err != nil || string(e.Value) != want {
		t.Fatalf("Get(%q) = %q, %v; want %q", key, e.Value, err, want)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout: %s", what)
		}
	}
}

// do sends a command that must succeed to the server.
func do(t *testing.T, s *valkeyserver.Server, args ...string) any {
	t.Helper()
	reply, err := s.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// TestServerUnavailable stops or freezes the server of two instances.
func TestServerUnavailable(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(*testing.T, *valkeyserver.Server) (restore func()){
		"stopped": func(t *testing.T, s *valkeyserver.Server) func() {
			s.Stop()
			return func() {
				must(t, s.Start())
			}
		},
		"frozen": func(t *testing.T, s *valkeyserver.Server) func() {
			s.Pause(t)
			return func() { s.Resume(t) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := valkeyserver.Start(t)
			a, b := open(t, server.URL(), "p:"), open(t, server.URL(), "p:")

			s := newContent("before")
			read(t, a, "k", s, "before")
			read(t, b, "k", s, "before")

			restore := interrupt(t, server)
			eventually(t, "statistics report that it is unavailable", func() bool {
				return !a.Stats(t.Context()).Available
			})
			if err := a.Invalidate(t.Context(), "k"); !errors.Is(err, cache.ErrUnavailable) ||
				!strings.Contains(err.Error(), server.Addr()+": ") {
				t.Errorf("Invalidate while unavailable: %v, want the address and the reason", err)
			}
			if _, err := a.Clear(t.Context(), cache.Pattern("*")); !errors.Is(err, cache.ErrUnavailable) {
				t.Errorf("Clear while unavailable: %v", err)
			}

			s.value.Store("during")
			s.fills.Store(0)
			began := time.Now()
			for range 1000 {
				read(t, a, "k", s, "during")
			}
			if n := s.fills.Load(); time.Since(began) < time.Second && n > 2 {
				t.Errorf("%d fills for a thousand reads while unavailable", n)
			}

			restore()
			s.value.Store("after")
			eventually(t, "an invalidation succeeds again", func() bool {
				return a.Invalidate(t.Context(), "k") == nil
			})

			read(t, a, "k", s, "after")

			eventually(t, "the other instance reads the value", func() bool {
				e, ok := b.Peek(t.Context(), "k")
				return ok && string(e.Value) == "after"
			})
		})
	}
}

// TestFillAcrossAnOutage checks that an instance does not serve values that it read or
// began to fill before the server restarted without its data.
func TestFillAcrossAnOutage(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	c, s := open(t, server.URL(), "p:"), newContent("old")
	read(t, c, "copied", s, "old")

	began, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context(), "filling", func(ctx context.Context) ([]byte, cache.Lifetime, error) {
			close(began)
			<-release
			return s.fill(ctx)
		})
		done <- err
	}()

	<-began
	server.Stop()
	must(t, server.Start())

	eventually(t, "the server is available again", func() bool {
		return c.Invalidate(t.Context(), "other") == nil
	})

	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}

	s.value.Store("new")
	read(t, c, "copied", s, "new")
	read(t, c, "filling", s, "new")
}

// TestRestoredData kills a server that saves to disk after an invalidation, so the
// restarted server restores the invalidated entry. No instance may serve that entry, and
// values filled afterward must stay.
func TestRestoredData(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t, "--save", "3600 1")
	a, b, s := open(t, server.URL(), "p:"), open(t, server.URL(), "p:"), newContent("old")
	read(t, a, "k", s, "old")
	read(t, b, "k", s, "old")
	do(t, server, "SAVE")

	s.value.Store("new")
	must(t, a.Invalidate(t.Context(), "k"))
	server.Stop()
	must(t, server.Start())

	c := open(t, server.URL(), "p:")
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		for _, instance := range []cache.Cache{a, b, c} {
			read(t, instance, "k", s, "new")
		}
	}

	s.fills.Store(0)
	read(t, open(t, server.URL(), "p:"), "k", s, "new")
	if n := s.fills.Load(); n != 0 {
		t.Errorf("a later instance fills %d times", n)
	}
}

// TestServerWithoutRun uses a server that does not report its run id, because its INFO is
// renamed from ECHO.
func TestServerWithoutRun(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t, "--rename-command", "INFO", "HIDDEN", "--rename-command", "ECHO", "INFO")
	err := open(t, server.URL(), "p:").Invalidate(t.Context(), "k")
	if !errors.Is(err, cache.ErrUnavailable) || !strings.Contains(err.Error(), "run_id") {
		t.Errorf("Invalidate: %v", err)
	}
}

// TestStartWhileUnavailable opens a cache before its server starts.
func TestStartWhileUnavailable(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	server.Stop()

	c, s := open(t, server.URL(), "p:"), newContent("v")
	read(t, c, "k", s, "v")
	must(t, server.Start())

	eventually(t, "entries are stored", func() bool {
		read(t, c, "k", s, "v")
		return c.Stats(t.Context()).Size == 1
	})
}

// TestServerWithoutMemory uses a server that refuses to store values. Reads must not
// overload the source.
func TestServerWithoutMemory(t *testing.T) {
	t.Parallel()
	c, s := open(t, valkeyserver.Start(t, "--maxmemory", "1").URL(), "p:"), newContent("v")

	began := time.Now()
	for range 100 {
		read(t, c, "k", s, "v")
	}

	if n := s.fills.Load(); time.Since(began) < time.Second && n > 2 {
		t.Errorf("%d fills for a hundred reads", n)
	}

	if err := c.Invalidate(t.Context(), "k"); err != nil || !c.Stats(t.Context()).Available {
		t.Errorf("Invalidate: %v", err)
	}
}

// TestLeastPrivileges uses an account with only the privileges listed in the manual, on a
// server with keys of other services.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	args := append([]string{"--user", "siteapi", "on", ">p@ss:w/rd", "~siteapi:*", "resetchannels", "-@all"},
		strings.Fields(privileges)...)
	server := valkeyserver.Start(t, append(args, "--user", "admin", "on", "nopass", "~*", "+@all")...)
	do(t, server, "MSET",
		"content:locale:en", "theirs", "siteapi2:entry:k", "theirs", "siteapi:rate:192.0.2.1", "1")

	c := open(t, "valkey://siteapi:"+url.QueryEscape("p@ss:w/rd")+"@"+server.Addr(), "siteapi:")

	s := newContent("v")
	read(t, c, "content:locale:en", s, "v")
	if stats := c.Stats(t.Context()); stats.Size != 1 || !stats.Available {
		t.Errorf("statistics: %+v", stats)
	}

	if err := c.Invalidate(t.Context(), "content:locale:en"); err != nil {
		t.Error(err)
	}
	read(t, c, "content:locale:en", s, "v")

	if n, err := c.Clear(t.Context(), cache.Pattern("*")); n != 1 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}

	if reply := do(t, server, "DBSIZE"); reply != int64(3) {
		t.Errorf("%v keys remain, want the 3 of other services", reply)
	}
}

// privileges are the commands that the cache and rate limits need.
const privileges = "+@connection +@transaction +get +set +del +unlink +pttl +time +info " +
	"+eval +evalsha +script|load +scan"

// TestAddresses opens addresses that cannot be used.
func TestAddresses(t *testing.T) {
	t.Parallel()
	server, plain := valkeyserver.Start(t, "--requirepass", "right"), valkeyserver.Start(t)
	for name, c := range map[string]struct{ url, want string }{
		"wrong password":   {"valkey://:hushhush@" + server.Addr(), "WRONGPASS"},
		"no password":      {server.URL(), "NOAUTH"},
		"no such database": {plain.URL() + "/99", "DB index is out of range"},
		"other scheme":     {"http://:hushhush@" + plain.Addr(), "scheme"},
		"unreadable":       {"valkey://user:hush#hush@" + plain.Addr(), "percent-encoded"},
	} {
		conn, err := valkeyconn.Open(t.Context(), c.url, func(bool, error) {})
		if err == nil {
			conn.Close()
		}

		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
