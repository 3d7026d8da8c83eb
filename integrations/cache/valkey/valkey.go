// Package valkey stores the cache in a Valkey or Redis server shared by all instances of
// the service. The client keeps a copy of each entry that it reads until the server
// pushes an invalidation. A hot read therefore needs no round trip, and an invalidation
// reaches all instances within milliseconds.
//
// A missing key is filled by one instance, which first stores a claim under the key. It
// can store the value only while its claim exists; an invalidation removes claims as well
// as entries. An expired entry is refreshed by each instance that reads it, and replaced
// by the first one to finish.
//
// While the server is unavailable, each instance fills independently and uses the value
// for [OfflineFresh]; Invalidate and Clear return [cache.ErrUnavailable].
//
// After a crash, a server may restore entries that had been removed, and a replica that
// replaces a failed primary may still have them. Key names therefore include the server's
// run id: entries of another run are never read, and expire.
//
// Known limits: an instance detects a lost connection within a second, and may serve its
// copies until then. Counting and clearing scan all keys of the database.
package valkey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
	"golang.org/x/sync/singleflight"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/valkeyconn"
)

// OfflineFresh bounds how long an instance uses a value that it filled while the server
// was unavailable.
const OfflineFresh = time.Second

// Cache is a cache shared by all clients of a server. Create it with New.
type Cache struct {
	conn    *valkeyconn.Conn
	prefix  string        // prefix of all key names on the server
	offline *memory.Cache // used while the server is unavailable
	loads   singleflight.Group
	counted count
}

// New returns a cache whose keys on the server begin with prefix.
func New(conn *valkeyconn.Conn, prefix string) *Cache {
	return &Cache{conn: conn, prefix: prefix, offline: memory.New()}
}

// name returns the name of a key on the server.
func (c *Cache) name(client *valkeyconn.Client, key string) string {
	return c.prefix + "entry:" + client.Run + ":" + key
}

// client returns the client, or [cache.ErrUnavailable] while the server is unavailable.
func (c *Cache) client() (*valkeyconn.Client, error) {
	client, err := c.conn.Client()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrUnavailable, err)
	}
	return client, nil
}

// failed reports the error of a command, if any, to the connection and translates it.
func (c *Cache) failed(err error) error {
	if err == nil || errors.Is(err, cache.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", cache.ErrUnavailable, c.conn.Failed(err))
}

// Get implements [cache.Cache]. It never returns [cache.ErrUnavailable].
func (c *Cache) Get(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	r, found, err := c.read(key)
	switch {
	case err != nil:
		return c.getOffline(ctx, key, fill)
	case !found:
		return c.load(ctx, key, fill)
	case !r.fresh():
		c.loads.DoChan("refresh of "+key, func() (any, error) {
			entry, err := c.store(ctx, key, fill, r.head())
			if err != nil {
				time.Sleep(cache.RetryPause)
			}
			return entry, err
		})
	}

	return r.Entry, nil
}

// getOffline is Get with the cache of this instance, which keeps a value for at most
// [OfflineFresh].
func (c *Cache) getOffline(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	return c.offline.Get(ctx, key, func(ctx context.Context) ([]byte, cache.Lifetime, error) {
		value, life, err := fill(ctx)
		if life.Fresh <= 0 || life.Fresh > OfflineFresh {
			life.Fresh = OfflineFresh
		}
		return value, cache.Lifetime{Fresh: life.Fresh}, err
	})
}

// Peek implements [cache.Cache].
func (c *Cache) Peek(ctx context.Context, key string) (cache.Entry, bool) {
	r, found, err := c.read(key)
	if err != nil {
		return c.offline.Peek(ctx, key)
	}
	if !found || !r.fresh() {
		return cache.Entry{}, false
	}
	return r.Entry, true
}

// copiesLife bounds the lifetime of the client's copies. The server usually invalidates
// them earlier.
const copiesLife = time.Hour

// read returns the record under key, if any, preferably from the client's copy.
func (c *Cache) read(key string) (r record, found bool, err error) {
	client, err := c.client()
	if err != nil {
		return record{}, false, err
	}

	// Other requests may wait for the same reply, so the first request must not cancel
	// it.
	reply, err := client.
		DoCache(context.Background(), client.B().Get().Key(c.name(client, key)).Cache(), copiesLife).
		ToMessage()
	if valkey.IsValkeyNil(err) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, c.failed(err)
	}
	return decode(&reply)
}

// Invalidate implements [cache.Cache].
func (c *Cache) Invalidate(ctx context.Context, keys ...string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	var names []string
	for _, key := range keys {
		names = append(names, c.name(client, key))
	}

	err = c.remove(client, names)
	for _, key := range keys {
		c.loads.Forget(key) // later reads must not join a running fill
	}
	return errors.Join(err, c.offline.Invalidate(ctx, keys...))
}

// remove removes entries and claims.
func (c *Cache) remove(client *valkeyconn.Client, names []string) error {
	for batch := range slices.Chunk(names, 1000) {
		// The server pushes invalidations after the reply to UNLINK. Once the reply to PING
		// has arrived, all pushes have arrived.
		replies := client.DoMulti(context.Background(),
			client.B().Unlink().Key(batch...).Build(), client.B().Ping().Build())
		if err := errors.Join(replies[0].Error(), replies[1].Error()); err != nil {
			return c.failed(err)
		}
	}
	return nil
}

// Clear implements [cache.Cache]. Entries stored while it runs may remain. It also
// removes entries of other runs of the server, but does not count them.
func (c *Cache) Clear(ctx context.Context, pattern cache.Pattern) (cleared int, err error) {
	client, err := c.client()
	if err != nil {
		return 0, err
	}
	entries := c.prefix + "entry:"
	names, err := scan(ctx, client, entries)
	if err != nil {
		return 0, c.failed(err)
	}

	names = slices.DeleteFunc(names, func(name string) bool {
		_, key, _ := strings.Cut(strings.TrimPrefix(name, entries), ":")
		return !pattern.Match(key)
	})
	err = c.remove(client, names)
	for _, name := range names {
		if key, isCurrent := strings.CutPrefix(name, c.name(client, "")); isCurrent {
			c.loads.Forget(key)
			cleared++
		}
	}

	_, _ = c.offline.Clear(ctx, pattern) // never fails
	return cleared, err
}

// scan returns the names that begin with a prefix, each once. After an error it returns
// the names found so far.
func scan(ctx context.Context, client *valkeyconn.Client, prefix string) ([]string, error) {
	found := valkey.NewScanner(func(cursor uint64) (valkey.ScanEntry, error) {
		step := client.B().Scan().Cursor(cursor).Match(cache.Escape(prefix) + "*").Count(1000).Build()
		return client.Do(ctx, step).AsScanEntry()
	})
	names := slices.Compact(slices.Sorted(found.Iter()))
	return names, found.Err()
}

// Close implements [cache.Cache]. It also closes the connection.
func (c *Cache) Close() error {
	c.conn.Close()
	return c.offline.Close()
}
