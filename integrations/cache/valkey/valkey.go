// Package valkey keeps the cache in a Valkey or Redis server (RESP3, so Redis 6 or
// later) that all instances of the service share. Each instance keeps decoded copies
// of what it reads; the server pushes every change, and the copy is dropped. So a hot
// read costs no round trip, and an invalidation anywhere is seen everywhere within
// the time a message takes.
//
// One instance fills a missing key: the one that took the key's lease. It may store
// only while it holds the lease, and an invalidation takes the lease away.
//
// While the server is away, entries are filled by each instance for itself, one fill
// per key at a time, kept for at most [AwayFresh] and dropped when the server is
// back; Invalidate and Clear return [cache.ErrUnavailable], and Stats says so. Get
// never returns it.
//
// The library's own cache-aside helper was weighed and left: it keeps placeholders
// under the keys themselves, where a count would find them, and knows no refresh
// behind an expired value.
//
// Known limits: replication is asynchronous, so an invalidation that was acknowledged
// by a primary which then dies may be lost. An entry whose value can't be stored for
// want of memory is treated as while the server is away. Instances that lost sight of
// the server notice within a second, and may answer from their copies until then. In a
// cluster Clear asks every node for its role, so it is unavailable while one is away.
//
// A user of the server needs the keys under the prefix and the commands +@connection
// +hmget +hset +pttl +pexpire +persist +get +set +del +unlink +eval +evalsha
// +script|load +scan +role +cluster|slots +cluster|shards; rate limits on the same
// server +time as well.
package valkey

import (
	"context"
	"crypto/rand"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/internal/link"
	"siteapi/integrations/cache/internal/shelf"
)

// AwayFresh is how long at most an instance uses what it filled while the server was
// away.
const AwayFresh = time.Second

// DefaultPrefix is what the names of all keys begin with unless Options say otherwise.
const DefaultPrefix = "siteapi:"

// Options of the cache. Zero fields have the stated defaults.
type Options struct {
	// URL is the address: valkey://user:password@host:6379/0, valkeys:// for TLS; redis and
	// rediss mean the same. Parameters: addr (further nodes), master_set,
	// sentinel_username, sentinel_password, db, client_name, ca_file, skip_verify.
	URL string
	// Prefix begins the names of all keys at the server, so that it can be shared. It never
	// shows in keys of this package. Default: DefaultPrefix.
	Prefix string
	// MaxBytes bounds the copies in this process. Default: 64 MiB.
	MaxBytes int64
	// FillTimeout is how long one fill may take. Default: 10 s.
	FillTimeout time.Duration
	// RetryAfter is the pause after a refresh that failed; it doubles with each further
	// failure up to 30 s. Default: 1 s.
	RetryAfter time.Duration
	// Timeout bounds one command; a sign of life must come within half of it. Default:
	// 500 ms.
	Timeout time.Duration
	// Lease is how long the others wait for an instance that died while it filled.
	// Default: 3 s.
	Lease time.Duration
	// OnFill, if set, is told of each fill that ended. It must be fast.
	OnFill func(cache.FillReport)
	// OnState, if set, is told when the server went away, and why, and when it came back.
	OnState func(up bool, err error)
}

// Cache is a cache shared through a server. Create it with Open.
type Cache struct {
	opts    Options
	names   names
	scripts scripts
	shelf   *shelf.Shelf
	link    *link.Link
	bells   bells
	counter counter
	token   func() string // a new random token for a lease
}

var _ cache.Cache = (*Cache)(nil)

// Open returns a cache on the server at o.URL. A server that is away is no error: the
// cache connects when it is there. An address that can't be used, or a server that
// refuses the credentials or can't push changes, is one, fit to show to an operator.
func Open(ctx context.Context, o Options) (*Cache, error) {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if err := checkPrefix(o.Prefix); err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = 500 * time.Millisecond
	}
	if o.Lease <= 0 {
		o.Lease = 3 * time.Second
	}
	s, err := shelf.New(shelf.Options{MaxBytes: o.MaxBytes, FillTimeout: o.FillTimeout, RetryAfter: o.RetryAfter})
	if err != nil {
		return nil, err
	}
	c := &Cache{opts: o, names: names{o.Prefix}, scripts: newScripts(), shelf: s, token: rand.Text}
	c.link, err = link.Open(ctx, link.Options{
		URL: o.URL, Timeout: o.Timeout / 2,
		// Every change under the prefix is pushed, whoever read it. The alternative, being
		// told only of what was read, needs two more commands with each read.
		Tracking: []string{"BCAST", "PREFIX", c.names.entries()},
		OnPush:   c.pushed, OnTurn: c.dropAll, OnState: o.OnState,
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return c, nil
}

// Close implements [cache.Cache]. It ends the fills under way. A Get after it still
// answers, by filling every time.
func (c *Cache) Close() error {
	c.shelf.Close()
	c.link.Close()
	return nil
}

// pushed drops the copies of what changed at the server, nil for everything: so it
// is when a connection was lost, too.
func (c *Cache) pushed(names []string) {
	c.counter.changed()
	if names == nil {
		c.dropAll()
		return
	}
	for _, name := range names {
		if key, ok := c.names.key(name); ok {
			c.shelf.Drop(key)
			c.bells.ring(key)
		}
	}
}

// dropAll drops all copies.
func (c *Cache) dropAll() {
	c.counter.changed()
	c.shelf.DropAll()
	c.bells.ringAll()
}
