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

// content is a source that counts its fills and can be changed.
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
			t.Fatalf("it never happens: %s", what)
		}
	}
}

// ask sends the server a command that must succeed.
func ask(t *testing.T, s *valkeyserver.Server, args ...string) any {
	t.Helper()
	reply, err := s.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// TestServerAway stops or freezes the server under two instances.
func TestServerAway(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testing.T, *valkeyserver.Server) (back func()){
		"stopped": func(t *testing.T, s *valkeyserver.Server) func() {
			s.Stop()
			return func() {
				if err := s.Start(); err != nil {
					t.Fatal(err)
				}
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

			back := leave(t, server)
			eventually(t, "statistics say that it is away", func() bool {
				return !a.Stats(t.Context()).Available
			})
			if err := a.Invalidate(t.Context(), "k"); !errors.Is(err, cache.ErrUnavailable) ||
				!strings.Contains(err.Error(), server.Addr()+": ") {
				t.Errorf("Invalidate while away: %v, want the address and why", err)
			}
			if _, err := a.Clear(t.Context(), cache.Pattern("*")); !errors.Is(err, cache.ErrUnavailable) {
				t.Errorf("Clear while away: %v", err)
			}

			s.value.Store("during")
			s.fills.Store(0)
			began := time.Now()
			for range 1000 {
				read(t, a, "k", s, "during")
			}
			if n := s.fills.Load(); time.Since(began) < time.Second && n > 2 {
				t.Errorf("%d fills for a thousand reads while away", n)
			}

			back()
			s.value.Store("after")
			eventually(t, "an invalidation succeeds again", func() bool {
				return a.Invalidate(t.Context(), "k") == nil
			})

			read(t, a, "k", s, "after")

			eventually(t, "the other has it too", func() bool {
				e, ok := b.Peek(t.Context(), "k")
				return ok && string(e.Value) == "after"
			})
		})
	}
}

// TestFillAcrossAnOutage checks that values which an instance read or began to fill
// before the server went away are not served once the server is back without its data.
func TestFillAcrossAnOutage(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	c, s := open(t, server.URL(), "p:"), newContent("old")
	read(t, c, "copied", s, "old")

	began, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context(), "under way", func(ctx context.Context) ([]byte, cache.Lifetime, error) {
			close(began)
			<-release
			return s.fill(ctx)
		})
		done <- err
	}()

	<-began
	server.Stop()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the server is used again", func() bool {
		return c.Invalidate(t.Context(), "other") == nil
	})

	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}

	s.value.Store("new")
	read(t, c, "copied", s, "new")
	read(t, c, "under way", s, "new")
}

// TestRestoredData kills a server that saves to disk after an invalidation, so that it comes
// back with the earlier entry. No instance serves that, and what is filled afterwards stays.
func TestRestoredData(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t, "--save", "3600 1")
	a, b, s := open(t, server.URL(), "p:"), open(t, server.URL(), "p:"), newContent("old")
	read(t, a, "k", s, "old")
	read(t, b, "k", s, "old")
	ask(t, server, "SAVE")

	s.value.Store("new")
	if err := a.Invalidate(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}

	c := open(t, server.URL(), "p:")
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		for _, instance := range []cache.Cache{a, b, c} {
			read(t, instance, "k", s, "new")
		}
	}

	s.fills.Store(0)
	read(t, open(t, server.URL(), "p:"), "k", s, "new")
	if n := s.fills.Load(); n != 0 {
		t.Errorf("an instance that starts later fills %d times", n)
	}
}

// TestServerWithoutRun uses a server that does not say its run, here as INFO is its ECHO.
func TestServerWithoutRun(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t, "--rename-command", "INFO", "HIDDEN", "--rename-command", "ECHO", "INFO")
	err := open(t, server.URL(), "p:").Invalidate(t.Context(), "k")
	if !errors.Is(err, cache.ErrUnavailable) || !strings.Contains(err.Error(), "run_id") {
		t.Errorf("Invalidate: %v", err)
	}
}

// TestStartWhileAway opens a cache before its server is there.
func TestStartWhileAway(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	server.Stop()

	c, s := open(t, server.URL(), "p:"), newContent("v")
	read(t, c, "k", s, "v")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}

	eventually(t, "entries are stored", func() bool {
		read(t, c, "k", s, "v")
		return c.Stats(t.Context()).Size == 1
	})
}

// TestServerWithoutMemory uses a server that refuses to store. Reads must not
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

// TestLeastPrivileges uses an account with only the privileges that the manual lists,
// among the keys of other services.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	args := append([]string{"--user", "siteapi", "on", ">p@ss:w/rd", "~siteapi:*", "resetchannels", "-@all"},
		strings.Fields(privileges)...)
	server := valkeyserver.Start(t, append(args, "--user", "admin", "on", "nopass", "~*", "+@all")...)
	ask(t, server, "MSET",
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

	if reply := ask(t, server, "DBSIZE"); reply != int64(3) {
		t.Errorf("%v keys are left, want the 3 of others", reply)
	}
}

// privileges are the commands that cache and rate limits need.
const privileges = "+@connection +@transaction +get +set +del +unlink +pttl +time +info " +
	"+eval +evalsha +script|load +scan"

// TestAddresses opens addresses that can't be used.
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
