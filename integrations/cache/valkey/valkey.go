// Package valkey keeps the cache in a Valkey or Redis server that all instances of the
// service share. The client keeps a copy of each entry it reads until the server pushes
// that it changed, so a hot read costs no round trip and an invalidation anywhere is seen
// everywhere within milliseconds.
//
// One instance fills a missing key: the one that holds the key's lease. It may store only
// while the lease holds its token, and an invalidation removes the lease.
//
// While the server is away each instance fills for itself and keeps the value for
// [AwayFresh]; Invalidate and Clear return [cache.ErrUnavailable].
//
// A server that crashed may come back with entries that were removed, and so may the
// replica of a primary that died. So a connection is used only after [DropRestored].
//
// Known limits: instances that lost sight of the server notice within a second, and may
// answer from their copies until then. Counting, clearing and the first connection after a
// start of the server walk over all keys of the database.
package valkey

import (
	"context"
	"errors"
	"fmt"
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
	conn      *valkeyconn.Conn
	prefix    string        // the beginning of all key names at the server
	alone     *memory.Cache // used while the server is away
	loads     singleflight.Group
	refreshes cache.Refreshes
	counted   count
}

// New returns a cache whose keys at the server begin with prefix.
func New(conn *valkeyconn.Conn, prefix string) *Cache {
	return &Cache{conn: conn, prefix: prefix, alone: memory.New()}
}

// entryName and leaseName return the names of the keys at the server.
func (c *Cache) entryName(key string) string { return c.prefix + "entry:" + key }
func (c *Cache) leaseName(key string) string { return c.prefix + "lease:" + key }

// Get implements [cache.Cache]. It never returns [cache.ErrUnavailable].
func (c *Cache) Get(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	r, found, err := c.read(key)
	switch {
	case err != nil:
		return c.getAlone(ctx, key, fill)
	case !found:
		return c.load(ctx, key, fill)
	case !r.fresh():
		c.refreshes.Start(key, func() error {
			_, err := c.fill(ctx, key, fill, r.times())
			return err
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

// read returns the record under key if there is one, preferably from the client's copy.
func (c *Cache) read(key string) (r record, found bool, err error) {
	client, away := c.conn.Client()
	if away != nil {
		return record{}, false, away
	}

	// Other requests may wait for the same reply, so it must not end with the first one.
	reply, err := client.
		DoCache(context.Background(), client.B().Get().Key(c.entryName(key)).Cache(), copiesLife).
		ToMessage()
	if valkey.IsValkeyNil(err) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, c.failed("reading the cache", err)
	}

	r, err = decode(&reply)
	return r, err == nil, err
}

// copiesLife bounds the life of the client's copies. The server usually
// invalidates them earlier.
const copiesLife = time.Hour

// failed translates the error of a command, if there is one.
func (c *Cache) failed(op string, err error) error {
	if err == nil || errors.Is(err, cache.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%s: %w: %w", op, cache.ErrUnavailable, c.conn.Failed(err))
}

// Invalidate implements [cache.Cache].
func (c *Cache) Invalidate(ctx context.Context, keys ...string) error {
	_, err := c.remove("invalidating", keys)
	return errors.Join(err, c.alone.Invalidate(ctx, keys...))
}

// remove removes leases and entries and returns the number of entries. The lease
// goes first: a fill under way either finds it gone, or has stored the entry
// that is removed next.
func (c *Cache) remove(op string, keys []string) (int, error) {
	client, away := c.conn.Client()
	if away != nil {
		return 0, fmt.Errorf("%s: %w: %w", op, cache.ErrUnavailable, away)
	}

	commands := make(valkey.Commands, 0, 2*len(keys)+1)
	for _, key := range keys {
		commands = append(commands,
			client.B().Unlink().Key(c.leaseName(key)).Build(),
			client.B().Unlink().Key(c.entryName(key)).Build())
	}

	// The server pushes our own changes after their replies. The reply to the ping comes
	// last, when all pushes have arrived.
	commands = append(commands, client.B().Ping().Build())

	removed := 0
	for i, reply := range client.DoMulti(context.Background(), commands...) {
		if err := reply.Error(); err != nil {
			return removed, c.failed(op, err)
		}
		if n, err := reply.AsInt64(); err == nil && i%2 == 1 {
			removed += int(n)
		}
	}

	// The value of a fill under way is not stored, and must not answer
	// later reads either.
	for _, key := range keys {
		c.loads.Forget(key)
	}

	return removed, nil
}

// Clear implements [cache.Cache]. Entries stored while it runs may stay.
func (c *Cache) Clear(ctx context.Context, pattern cache.Pattern) (int, error) {
	cleared := 0

	// Leases are removed first, so that no earlier fill stores its value after the scan.
	for _, name := range []func(string) string{c.leaseName, c.entryName} {
		err := c.walk(ctx, "clearing", name(""), func(keys []string) error {
			matching := keys[:0]
			for _, key := range keys {
				if pattern.Match(key) {
					matching = append(matching, key)
				}
			}

			n, err := c.remove("clearing", matching)
			cleared += n
			return err
		})
		if err != nil {
			return cleared, err
		}
	}

	_, err := c.alone.Clear(ctx, pattern)
	return cleared, err
}

// walk calls found with the keys whose names begin with a prefix, in batches.
func (c *Cache) walk(ctx context.Context, op, prefix string, found func(keys []string) error) error {
	client, away := c.conn.Client()
	if away != nil {
		return fmt.Errorf("%s: %w: %w", op, cache.ErrUnavailable, away)
	}
	return c.failed(op, scan(ctx, client, prefix, found))
}

// Close implements [cache.Cache]. It closes the connection, too.
func (c *Cache) Close() error {
	c.conn.Close()
	return c.alone.Close()
}
