package valkey_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/cache/valkey"
)

// content is a source that counts and can be changed.
type content struct {
	fills atomic.Int32
	value atomic.Pointer[string]
}

func newContent(value string) *content {
	c := &content{}
	c.set(value)
	return c
}

func (c *content) set(value string) { c.value.Store(&value) }

func (c *content) fill(context.Context) ([]byte, error) {
	c.fills.Add(1)
	return []byte(*c.value.Load()), nil
}

// read gets key and reports what it took.
func read(t *testing.T, c cache.Cache, key string, fill cache.Fill, want string) time.Duration {
	t.Helper()
	begin := time.Now()
	e, err := c.Get(t.Context(), key, cache.Lifetime{Fresh: time.Hour}, fill)
	if err != nil || string(e.Value) != want {
		t.Fatalf("Get(%q) = %q, %v; want %q", key, e.Value, err, want)
	}
	return time.Since(begin)
}

// soon waits until ok returns true.
func soon(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// available returns a condition about the statistics.
func available(t *testing.T, c cache.Cache, want bool) func() bool {
	return func() bool { return c.Stats(t.Context()).Available == want }
}

// wantAway checks what an instance does that can't reach its server.
func wantAway(t *testing.T, c cache.Cache) {
	t.Helper()
	begin := time.Now()
	if s := c.Stats(t.Context()); s.Available || s.Type != "valkey" || s.Size != 0 {
		t.Errorf("statistics while away: %+v", s)
	}
	if took := time.Since(begin); took > 400*time.Millisecond {
		t.Errorf("statistics took %v while away", took)
	}
	if err := c.Invalidate(t.Context(), "k"); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("Invalidate while away: %v", err)
	}
	if _, err := c.Clear(t.Context(), cache.All()); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("Clear while away: %v", err)
	}
}

// leave makes the server unreachable in one of several ways and returns how to undo it.
var leave = map[string]func(t *testing.T, s *valkeyserver.Server) (back func()){
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
}

func TestServerGoesAndComesBack(t *testing.T) {
	t.Parallel()
	for name, goAway := range leave {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := valkeyserver.Start(t)
			var ups, downs atomic.Int32
			a := open(t, valkey.Options{URL: server.URL(), OnState: func(up bool, err error) {
				if up {
					ups.Add(1)
				} else {
					downs.Add(1)
					if err == nil {
						t.Error("told that the server is away, but not why")
					}
				}
			}})
			b := open(t, valkey.Options{URL: server.URL()})
			s := newContent("before")
			read(t, a, "k", s.fill, "before")
			read(t, b, "k", s.fill, "before")

			back := goAway(t, server)
			soon(t, 2*time.Second, "both see it away", func() bool {
				return available(t, a, false)() && available(t, b, false)()
			})
			wantAway(t, a)
			soon(t, 2*time.Second, "it is told", func() bool { return downs.Load() > 0 })

			// Reads go on from the source, one fill for a while.
			s.set("during")
			s.fills.Store(0)
			soon(t, 2*AwayLimit, "the source is read", func() bool {
				e, err := a.Get(t.Context(), "k", cache.Lifetime{Fresh: time.Hour}, s.fill)
				return err == nil && string(e.Value) == "during"
			})
			for range 1000 {
				if took := read(t, a, "k", s.fill, "during"); took > 200*time.Millisecond {
					t.Errorf("a read took %v while the server is away", took)
				}
			}
			if n := s.fills.Load(); n > 3 {
				t.Errorf("%d fills for a thousand reads while away", n)
			}

			// What changes meanwhile is seen as soon as the server is back.
			s.set("after")
			back()
			soon(t, 5*time.Second, "both see it back", func() bool {
				return available(t, a, true)() && available(t, b, true)()
			})
			if err := a.Invalidate(t.Context(), "k"); err != nil {
				t.Fatalf("Invalidate after it is back: %v", err)
			}
			read(t, a, "k", s.fill, "after")
			soon(t, time.Second, "the other sees it too", func() bool {
				e, err := b.Get(t.Context(), "k", cache.Lifetime{Fresh: time.Hour}, s.fill)
				return err == nil && string(e.Value) == "after"
			})
			soon(t, time.Second, "it is told", func() bool { return ups.Load() >= 2 })
			soon(t, time.Second, "it is stored again", func() bool {
				read(t, a, "k", s.fill, "after")
				return a.Stats(t.Context()).Size == 1
			})
		})
	}
}

// AwayLimit is AwayFresh, with a little for a slow machine.
const AwayLimit = valkey.AwayFresh + time.Second

// TestNothingStaleAfterTheServerIsBack: an instance lost sight of the server, which
// changed meanwhile; what the instance knew or filled must not be served after.
func TestNothingStaleAfterTheServerIsBack(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	c := open(t, valkey.Options{URL: server.URL()})
	s := newContent("old")
	read(t, c, "copied", s.fill, "old")
	server.Stop()
	soon(t, 2*time.Second, "away", available(t, c, false))
	read(t, c, "filled while away", s.fill, "old")
	began, release := make(chan struct{}), make(chan struct{})
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context(), "under way", cache.Lifetime{Fresh: time.Hour}, func(context.Context) ([]byte, error) {
			close(began)
			<-release
			return []byte("old"), nil
		})
		waiting <- err
	}()
	<-began
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	soon(t, 5*time.Second, "back", available(t, c, true))
	soon(t, time.Second, "connected", func() bool { return c.Invalidate(t.Context(), "unrelated") == nil })
	close(release)
	if err := <-waiting; err != nil {
		t.Fatal(err)
	}
	s.set("new")
	// Stats sees the server an instant before the heartbeat does; what was kept while it
	// was away goes with the heartbeat.
	time.Sleep(200 * time.Millisecond)
	for _, key := range []string{"copied", "filled while away", "under way"} {
		read(t, c, key, s.fill, "new")
	}
}

func TestStartWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t)
	server.Stop()
	begin := time.Now()
	c := open(t, valkey.Options{URL: server.URL()})
	if took := time.Since(begin); took > time.Second {
		t.Errorf("the start took %v", took)
	}
	s := newContent("v")
	wantAway(t, c)
	read(t, c, "k", s.fill, "v")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	soon(t, 5*time.Second, "connected", available(t, c, true))
	soon(t, time.Second, "stored", func() bool {
		read(t, c, "k", s.fill, "v")
		return c.Stats(t.Context()).Size == 1
	})
}

// A server without memory refuses to store; reads must not hammer the source.
func TestServerWithoutMemory(t *testing.T) {
	t.Parallel()
	server := valkeyserver.Start(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	c := open(t, valkey.Options{URL: server.URL()})
	s := newContent("v")
	for range 100 {
		read(t, c, "k", s.fill, "v")
	}
	if n := s.fills.Load(); n > 3 {
		t.Errorf("%d fills for a hundred reads", n)
	}
	if stats := c.Stats(t.Context()); !stats.Available {
		t.Errorf("statistics: %+v", stats)
	}
	if err := c.Invalidate(t.Context(), "k"); err != nil {
		t.Errorf("Invalidate: %v", err)
	}
}
