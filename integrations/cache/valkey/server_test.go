package valkey_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cache/valkey"
)

// ask sends a command that must succeed.
func ask(t *testing.T, s *valkeyserver.Server, args ...string) string {
	t.Helper()
	reply, err := s.Do(args...)
	if err != nil || strings.HasPrefix(reply, "-") {
		t.Fatalf("%v: %s %v", args, reply, err)
	}
	return reply
}

// TestNeighbours: the server belongs to others as well.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	ask(t, server, "MSET", "content:locale:en", "theirs", "siteapi:mine?", "theirs", "siteapi2:e:{0000}x", "theirs", "siteapi:r:192.0.2.1", "1")
	c := open(t, valkey.Options{URL: server.URL(), Timeout: patient})
	other := open(t, valkey.Options{URL: server.URL(), Prefix: "siteapi:e:", Timeout: patient}) // an awkward neighbour
	s := newContent("v")
	read(t, c, "content:locale:en", s.fill, "v")
	read(t, other, "content:locale:en", s.fill, "v")
	if n := c.Stats(t.Context()).Size; n != 1 {
		t.Errorf("size %d, want 1", n)
	}
	if n, err := c.Clear(t.Context(), cache.All()); n != 1 || err != nil {
		t.Errorf("cleared %d, %v; want 1", n, err)
	}
	if reply := ask(t, server, "DBSIZE"); reply != ":5\r\n" {
		t.Errorf("%q keys left, want the 4 of others and 1 of the neighbour", reply)
	}
}

// TestNothingIsLeftBehind looks at the server while and after a key is filled.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	c := open(t, valkey.Options{URL: server.URL(), Prefix: "p:", Timeout: patient})
	began, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context(), "k", cache.Lifetime{Fresh: time.Hour, Stale: time.Hour}, func(context.Context) ([]byte, error) {
			close(began)
			<-release
			return []byte("v"), nil
		})
		done <- err
	}()
	<-began
	lease := valkey.LeaseName("p:", "k")
	if reply := ask(t, server, "KEYS", "*"); !strings.Contains(reply, lease) || !strings.HasPrefix(reply, "*1") {
		t.Errorf("while it fills: %q, want the lease alone", reply)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if reply := ask(t, server, "KEYS", "*"); !strings.Contains(reply, valkey.EntryName("p:", "k")) || !strings.HasPrefix(reply, "*1") {
		t.Errorf("after the fill: %q, want the entry alone", reply)
	}
	var ms int
	if _, err := fmt.Sscanf(ask(t, server, "PTTL", valkey.EntryName("p:", "k")), ":%d", &ms); err != nil || ms < 7_100_000 || ms > 7_200_000 {
		t.Errorf("%d ms to live, want about two hours (%v)", ms, err)
	}
}

// TestLeaseOfADeadInstance: whoever held it can't give it back.
func TestLeaseOfADeadInstance(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	c := open(t, valkey.Options{URL: server.URL(), Timeout: patient})
	ask(t, server, "SET", valkey.LeaseName(valkey.DefaultPrefix, "k"), "someone", "PX", "300")
	took := read(t, c, "k", newContent("v").fill, "v")
	if took < 200*time.Millisecond || took > 2*time.Second {
		t.Errorf("it took %v, want what was left of the lease", took)
	}
}

// TestLeaseLasts: a fill that takes longer than the lease keeps it.
func TestLeaseLasts(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	o := valkey.Options{URL: server.URL(), Lease: 600 * time.Millisecond, Timeout: patient}
	a, b, s := open(t, o), open(t, o), newContent("v")
	slow := func(ctx context.Context) ([]byte, error) {
		value, err := s.fill(ctx)
		time.Sleep(1500 * time.Millisecond)
		return value, err
	}
	done := make(chan error, 1)
	go func() {
		_, err := a.Get(t.Context(), "k", cache.Lifetime{Fresh: time.Hour}, slow)
		done <- err
	}()
	time.Sleep(50 * time.Millisecond)
	read(t, b, "k", slow, "v")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := s.fills.Load(); n != 1 {
		t.Errorf("%d fills, want 1", n)
	}
}

// TestLostLease: an instance that slept through its lease doesn't store.
func TestLostLease(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	c := open(t, valkey.Options{URL: server.URL(), Timeout: patient})
	s := newContent("old")
	read(t, c, "k", func(ctx context.Context) ([]byte, error) {
		ask(t, server, "SET", valkey.LeaseName(valkey.DefaultPrefix, "k"), "someone", "PX", "10")
		return s.fill(ctx)
	}, "old")
	if _, ok := c.Peek(t.Context(), "k"); ok {
		t.Error("it was kept")
	}
	s.set("new")
	read(t, c, "k", s.fill, "new")
}

// TestChangesByHand: an operator's commands reach the copies too.
func TestChangesByHand(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	c := open(t, valkey.Options{URL: server.URL(), Timeout: patient})
	for _, command := range [][]string{
		{"FLUSHALL"}, {"DEL", valkey.EntryName(valkey.DefaultPrefix, "k")}, {"PEXPIRE", valkey.EntryName(valkey.DefaultPrefix, "k"), "1"},
		{"CLIENT", "KILL", "TYPE", "normal"},
	} {
		read(t, c, "k", newContent("v").fill, "v")
		if _, ok := c.Peek(t.Context(), "k"); !ok {
			t.Fatal("no copy before ", command)
		}
		ask(t, server, command...)
		soon(t, time.Second, fmt.Sprint("the copy goes with ", command), func() bool {
			_, ok := c.Peek(t.Context(), "k")
			return !ok
		})
		if command[0] == "PEXPIRE" { // it is told at once, and lives on for a millisecond
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// TestGarbage: what isn't an entry is filled over, not served.
func TestGarbage(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	c := open(t, valkey.Options{URL: server.URL(), Timeout: patient})
	ask(t, server, "SET", valkey.EntryName(valkey.DefaultPrefix, "text"), "x")
	ask(t, server, "HSET", valkey.EntryName(valkey.DefaultPrefix, "half"), "v", "x", "s", "0")
	for _, key := range []string{"text", "half"} {
		read(t, c, key, newContent("v").fill, "v")
		if err := c.Invalidate(t.Context(), key); err != nil {
			t.Error(err)
		}
		read(t, c, key, newContent("new").fill, "new")
		read(t, c, key, newContent("filled once more").fill, "new") // it was stored
	}
}
