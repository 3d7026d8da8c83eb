package valkey_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/valkeyconn"
)

// do sends a command that must succeed to the server.
func do(t *testing.T, s *valkeyserver.Server, args ...string) any {
	t.Helper()
	reply, err := s.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// TestServerUnavailable freezes the server of two instances. A test of the service stops it.
func TestServerUnavailable(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	a, b := open(t, server.URL(), "p:"), open(t, server.URL(), "p:")

	s := cachetest.NewSource("before")
	cachetest.Get(t, a, "k", s, "before")
	cachetest.Get(t, b, "k", s, "before")

	server.Pause(t)
	cachetest.Eventually(t, "statistics report that it is unavailable", func() bool {
		return !a.Stats(t.Context()).Available
	})
	if err := a.Invalidate(t.Context(), "k"); !errors.Is(err, cache.ErrUnavailable) ||
		!strings.Contains(err.Error(), server.Addr()+": ") {
		t.Errorf("Invalidate while unavailable: %v, want the address and the reason", err)
	}
	if _, err := a.Clear(t.Context(), cache.Pattern("*")); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("Clear while unavailable: %v", err)
	}

	s.Value.Store("during")
	s.Fills.Store(0)
	began := time.Now()
	for range 1000 {
		cachetest.Get(t, a, "k", s, "during")
	}
	if n := s.Fills.Load(); time.Since(began) < time.Second && n > 2 {
		t.Errorf("%d fills for a thousand reads while unavailable", n)
	}

	server.Resume(t)
	s.Value.Store("after")
	cachetest.Eventually(t, "an invalidation succeeds again", func() bool {
		return a.Invalidate(t.Context(), "k") == nil
	})
	cachetest.Get(t, a, "k", s, "after")
	cachetest.Eventually(t, "the other instance reads the value", func() bool {
		e, ok := b.Peek(t.Context(), "k")
		return ok && string(e.Value) == "after"
	})
}

// TestFillAcrossAnOutage checks that an instance does not serve values that it read or
// began to fill before the server restarted without its data.
func TestFillAcrossAnOutage(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	c, s := open(t, server.URL(), "p:"), cachetest.NewSource("old")
	cachetest.Get(t, c, "copied", s, "old")

	filling := cachetest.Blocked("old")
	done := cachetest.GetAsync(t.Context(), c, "filling", filling)
	filling.WaitForFill(t)
	server.Stop()
	must(t, server.Start())

	cachetest.Eventually(t, "the server is available again", func() bool {
		return c.Invalidate(t.Context(), "other") == nil
	})

	close(filling.Release)
	must(t, (<-done).Err)

	s.Value.Store("new")
	cachetest.Get(t, c, "copied", s, "new")
	cachetest.Get(t, c, "filling", s, "new")
}

// TestRestoredData kills a server that saves to disk after an invalidation, so the
// restarted server restores the invalidated entry. No instance may serve that entry, and
// values filled afterward must stay.
func TestRestoredData(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t, "--save", "3600 1")
	a, b, s := open(t, server.URL(), "p:"), open(t, server.URL(), "p:"), cachetest.NewSource("old")
	cachetest.Get(t, a, "k", s, "old")
	cachetest.Get(t, b, "k", s, "old")
	do(t, server, "SAVE")

	s.Value.Store("new")
	must(t, a.Invalidate(t.Context(), "k"))
	server.Stop()
	must(t, server.Start())

	c := open(t, server.URL(), "p:")
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		for _, instance := range []cache.Cache{a, b, c} {
			cachetest.Get(t, instance, "k", s, "new")
		}
	}

	s.Fills.Store(0)
	cachetest.Get(t, open(t, server.URL(), "p:"), "k", s, "new")
	if n := s.Fills.Load(); n != 0 {
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

	c, s := open(t, server.URL(), "p:"), cachetest.NewSource("v")
	cachetest.Get(t, c, "k", s, "v")
	must(t, server.Start())

	cachetest.Eventually(t, "entries are stored", func() bool {
		cachetest.Get(t, c, "k", s, "v")
		return c.Stats(t.Context()).Size == 1
	})
}

// TestServerWithoutMemory uses a server that refuses to store values. Reads must not
// overload the source.
func TestServerWithoutMemory(t *testing.T) {
	t.Parallel()
	c, s := open(t, valkeyserver.Start(t, "--maxmemory", "1").URL(), "p:"), cachetest.NewSource("v")

	began := time.Now()
	for range 100 {
		cachetest.Get(t, c, "k", s, "v")
	}

	if n := s.Fills.Load(); time.Since(began) < time.Second && n > 2 {
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

	s := cachetest.NewSource("v")
	cachetest.Get(t, c, "content:locale:en", s, "v")
	if stats := c.Stats(t.Context()); stats.Size != 1 || !stats.Available {
		t.Errorf("statistics: %+v", stats)
	}

	if err := c.Invalidate(t.Context(), "content:locale:en"); err != nil {
		t.Error(err)
	}
	cachetest.Get(t, c, "content:locale:en", s, "v")

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
