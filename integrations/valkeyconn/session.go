package valkeyconn

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"
)

const (
	maxCopies = 64 << 20 // bytes of values that are kept here
	overhead  = 160      // bytes of a copy beside its name and value
)

// session lasts from the moment at which the server is reached until it is away. Its copies
// of values end with it: what changed while the server was away was not pushed.
type session struct {
	pool   *redis.Pool // for commands
	pushes redis.Conn  // on which the server reports changes
	copies *otter.Cache[string, []byte]
	reads  singleflight.Group

	mu      sync.Mutex // held while copies are stored or removed
	changes int        // counts removals, so that a read under way stores no old value
}

// connect starts a session: the server is asked to report each change of a name with the
// prefix, made on any connection.
func (c *Conn) connect(ctx context.Context) (*session, error) {
	pushes, err := redis.DialURLContext(ctx, c.url, c.options...)
	if err != nil {
		return nil, err
	}
	id, err := redis.Int64(pushes.Do("CLIENT", "ID"))
	if err == nil {
		_, err = pushes.Do("CLIENT", "TRACKING", "ON", "REDIRECT", id, "BCAST", "PREFIX", c.copied)
	}
	if err == nil {
		_, err = pushes.Do("SUBSCRIBE", "__redis__:invalidate")
	}
	if err != nil {
		_ = pushes.Close()
		return nil, err
	}
	return &session{
		pushes: pushes,
		pool: &redis.Pool{MaxIdle: maxIdle, IdleTimeout: idleLife, Dial: func() (redis.Conn, error) {
			return redis.DialURL(c.url, c.options...)
		}},
		copies: otter.Must(&otter.Options[string, []byte]{
			MaximumWeight: maxCopies,
			Weigher: func(name string, value []byte) uint32 {
				return uint32(min(len(name)+len(value)+overhead, math.MaxUint32))
			},
		}),
	}, nil
}

func (s *session) close() {
	_ = s.pushes.Close()
	_ = s.pool.Close()
}

// follow removes the copies of what the server reports as changed, until the connection
// ends or the server answers no ping.
func (s *session) follow() error {
	done := make(chan struct{})
	var pinging sync.WaitGroup
	pinging.Go(func() {
		for ticker := time.NewTicker(heartbeat); ; {
			select {
			case <-done:
				ticker.Stop()
				return
			case <-ticker.C:
			}
			// An error of the connection ends the receiving, too.
			_ = s.pushes.Send("PING")
			_ = s.pushes.Flush()
		}
	})
	defer pinging.Wait()
	defer close(done)
	for {
		reply, err := redis.Values(redis.ReceiveWithTimeout(s.pushes, heartbeat+timeout))
		if err != nil {
			return fmt.Errorf("waiting for the server: %w", err)
		}
		if len(reply) < 3 { // a pong
			continue
		}
		if names, err := redis.Strings(reply[2], nil); err == nil {
			s.drop(names...)
		} else { // the whole database was emptied
			s.drop()
		}
	}
}

// drop removes copies, all if none is named.
func (s *session) drop(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	if len(names) == 0 {
		s.copies.InvalidateAll()
	}
	for _, name := range names {
		s.reads.Forget(name) // its value must not answer later reads
		s.copies.Invalidate(name)
	}
}

// Get returns the value under a name, from a copy if there is one; [redis.ErrNil] if there is no
// value. The caller must not change it.
func (c *Conn) Get(name string) ([]byte, error) {
	s := c.session.Load()
	if s == nil {
		return nil, ErrAway
	}
	if value, ok := s.copies.GetIfPresent(name); ok {
		return value, nil
	}
	read, err, _ := s.reads.Do(name, func() (any, error) {
		s.mu.Lock()
		changes := s.changes
		s.mu.Unlock()
		value, err := redis.Bytes(c.Do("GET", name))
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil && s.changes == changes {
			s.copies.Set(name, value)
		}
		return value, err
	})
	value, _ := read.([]byte)
	return value, err
}

// Unlink removes names and their copies, and returns how many there were.
func (c *Conn) Unlink(names ...string) (int, error) {
	if len(names) == 0 {
		return 0, nil
	}
	removed, err := redis.Int(c.Do("UNLINK", redis.Args{}.AddFlat(names)...))
	if s := c.session.Load(); s != nil {
		s.drop(names...)
	}
	return removed, err
}
