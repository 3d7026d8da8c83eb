// Package valkey keeps the cache in a Valkey or Redis server that all instances of the
// service share. The client keeps a copy of each entry it reads until the server pushes
// that it changed, so a hot read costs no round trip and an invalidation anywhere is seen
// everywhere within milliseconds.
//
// One instance fills a missing key: the one whose claim stands in the place of the entry. It
// may store only while the claim is there, and an invalidation removes that like an entry. An
// entry that is no longer fresh is refreshed by each instance, and replaced by the first.
//
// While the server is away each instance fills for itself and keeps the value for
// [AwayFresh]; Invalidate and Clear return [cache.ErrUnavailable].
//
// A server that crashed may come back with entries that were removed, and so may the
// replica of a primary that died. So the names of keys have the run of the server: what
// another run left is not read, and expires.
//
// Known limits: instances that lost sight of the server notice within a second, and may
// answer from their copies until then. Counting and clearing walk over all keys of the
// database.
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

// AwayFresh bounds how long an instance uses a value that it filled while
// the server was away.
const AwayFresh = time.Second

// Cache is a cache shared through a server. Create it with New.
type Cache struct {
	conn    *valkeyconn.Conn
	prefix  string        // the beginning of all key names at the server
	alone   *memory.Cache // used while the server is away
	loads   singleflight.Group
	counted count
}

// New returns a cache whose keys at the server begin with prefix.
func New(conn *valkeyconn.Conn, prefix string) *Cache {
	return &Cache{conn: conn, prefix: prefix, alone: memory.New()}
}

// name returns the name of a key at the server.
func (c *Cache) name(client *valkeyconn.Client, key string) string {
	return c.prefix + "entry:" + client.Run + ":" + key
}

// client returns the client unless the server is away.
func (c *Cache) client() (*valkeyconn.Client, error) {
	client, away := c.conn.Client()
	if away != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrUnavailable, away)
	}
	return client, nil
}

// failed translates the error of a command, if there is one.
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
		return c.getAlone(ctx, key, fill)
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

// getAlone fills for this instance only.
func (c *Cache) getAlone(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	return c.alone.Get(ctx, key, func(ctx context.Context) ([]byte, cache.Lifetime, error) {
		value, life, err := fill(ctx)
		if life.Fresh <= 0 || life.Fresh > AwayFresh {
			life.Fresh = AwayFresh
		}
		return value, cache.Lifetime{Fresh: life.Fresh}, err
	})
}

// Peek implements [cache.Cache].
func (c *Cache) Peek(ctx context.Context, key string) (cache.Entry, bool) {
	r, found, err := c.read(key)
	if err != nil {
		return c.alone.Peek(ctx, key)
	}
	if !found || !r.fresh() {
		return cache.Entry{}, false
	}
	return r.Entry, true
}

// copiesLife bounds the life of the client's copies. The server usually
// invalidates them earlier.
const copiesLife = time.Hour

// read returns the record under key if there is one, preferably from the client's copy.
func (c *Cache) read(key string) (r record, found bool, err error) {
	client, err := c.client()
	if err != nil {
		return record{}, false, err
	}

	// Other requests may wait for the same reply, so it must not end with the first one.
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

	_, err = c.remove(client, names)
	for _, key := range keys {
		c.loads.Forget(key) // a fill under way must not answer later reads
	}
	return errors.Join(err, c.alone.Invalidate(ctx, keys...))
}

// remove removes entries and claims, and returns their number.
func (c *Cache) remove(client *valkeyconn.Client, names []string) (int, error) {
	if len(names) == 0 {
		return 0, nil
	}

	// The server pushes our own changes after their replies. The reply to the ping comes
	// last, when all pushes have arrived.
	replies := client.DoMulti(context.Background(),
		client.B().Unlink().Key(names...).Build(), client.B().Ping().Build())
	removed, err := replies[0].AsInt64()
	return int(removed), c.failed(errors.Join(err, replies[1].Error()))
}

// Clear implements [cache.Cache]. Entries stored while it runs may stay. What another run of
// the server left is removed, too, and not counted.
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

	matching := slices.DeleteFunc(names, func(name string) bool {
		_, key, _ := strings.Cut(strings.TrimPrefix(name, entries), ":")
		return !pattern.Match(key)
	})
	former := slices.DeleteFunc(slices.Clone(matching), func(name string) bool {
		return strings.HasPrefix(name, c.name(client, ""))
	})
	for batch := range slices.Chunk(former, 1000) {
		if _, err := c.remove(client, batch); err != nil {
			return 0, err
		}
	}
	for batch := range slices.Chunk(matching, 1000) {
		n, err := c.remove(client, batch) // What is gone already does not count.
		cleared += n
		if err != nil {
			return cleared, err
		}
	}
	for _, name := range matching {
		c.loads.Forget(strings.TrimPrefix(name, c.name(client, "")))
	}
	_, err = c.alone.Clear(ctx, pattern)
	return cleared, err
}

// scan returns the names that begin with a prefix, each once. After an error it returns those
// that it has found so far.
func scan(ctx context.Context, client *valkeyconn.Client, prefix string) ([]string, error) {
	found := valkey.NewScanner(func(cursor uint64) (valkey.ScanEntry, error) {
		step := client.B().Scan().Cursor(cursor).Match(cache.Escape(prefix) + "*").Count(1000).Build()
		return client.Do(ctx, step).AsScanEntry()
	})
	names := slices.Compact(slices.Sorted(found.Iter()))
	return names, found.Err()
}

// Close implements [cache.Cache]. It closes the connection, too.
func (c *Cache) Close() error {
	c.conn.Close()
	return c.alone.Close()
}
