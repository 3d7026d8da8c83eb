package valkey

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache"
)

// pollPause is the time between two reads while another instance fills the key.
const pollPause = 25 * time.Millisecond

// leaseLife is how long a lease outlives an instance that crashed during a fill.
const leaseLife = cache.FillTimeout + time.Second

// In each script the first key is an entry and the second its lease.
var (
	// takeScript returns the entry if there is one. Otherwise it tries to take the lease
	// and returns 1 if it did, 0 if not. ARGV: token, life of the lease in ms, and the
	// beginning of the expired entry that is to be replaced, empty if there is none.
	takeScript = valkey.NewLuaScript(`
local entry = redis.call('GET', KEYS[1])
if entry and (ARGV[3] == '' or string.sub(entry, 1, #ARGV[3]) ~= ARGV[3]) then return entry end
return redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0`)

	// storeScript stores an entry and gives the lease back, if the lease still holds the
	// token. ARGV: token, entry, life in ms.
	storeScript = valkey.NewLuaScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[2])
return 1`)

	// releaseScript gives the lease back. ARGV: token.
	releaseScript = valkey.NewLuaScript(`
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
return 0`)
)

// load fills a missing entry once for all concurrent callers of this instance.
func (c *Cache) load(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	for {
		first := false
		loaded := c.loads.DoChan(key, func() (any, error) {
			first = true
			return c.fill(ctx, key, fill, "")
		})

		select {
		case result := <-loaded:
			// A value that was not stored may be older than the reads that joined the
			// fill later: they load again.
			entry, _ := result.Val.(cache.Entry)
			if result.Err != nil || !entry.Overtaken || first {
				return entry, result.Err
			}
		case <-ctx.Done():
			return cache.Entry{}, context.Cause(ctx)
		}
	}
}

// fill takes the lease of key, fills and stores. While another instance holds the lease,
// it waits for the value; the refresh of an expired entry returns at once instead.
func (c *Cache) fill(ctx context.Context, key string, fill cache.Fill, expired string) (cache.Entry, error) {
	token := rand.Text()
	for {
		reply, err := c.run("taking a lease", takeScript, key, token, milliseconds(leaseLife), expired)
		if err != nil { // the server is away or has no memory left
			return c.getAlone(ctx, key, fill)
		}

		if reply.IsString() {
			r, err := decode(&reply)
			return r.Entry, err
		}
		if leased, _ := reply.AsBool(); leased {
			return c.fillLeased(ctx, key, token, fill)
		}

		if expired != "" {
			return cache.Entry{}, nil
		}
		time.Sleep(pollPause)
	}
}

// fillLeased fills under a lease and stores the value unless the lease is lost.
func (c *Cache) fillLeased(ctx context.Context, key, token string, fill cache.Fill) (cache.Entry, error) {
	entry, life, err := cache.Run(ctx, fill)
	if err != nil {
		// If the lease cannot be given back, it expires by itself.
		_, _ = c.run("giving a lease back", releaseScript, key, token)
		return cache.Entry{}, err
	}

	text := encode(record{entry, entry.StoredAt.Add(life.Fresh)})
	reply, err := c.run("storing in the cache", storeScript, key,
		token, text, milliseconds(life.Fresh+life.Stale))
	stored, _ := reply.AsBool()
	entry.Overtaken = err != nil || !stored
	return entry, nil //nolint:nilerr // the value is good, it is only not kept
}

// run runs a script for key.
func (c *Cache) run(op string, script *valkey.Lua, key string, args ...string) (valkey.ValkeyMessage, error) {
	client, away := c.conn.Client()
	if away != nil {
		return valkey.ValkeyMessage{}, fmt.Errorf("%s: %w: %w", op, cache.ErrUnavailable, away)
	}

	reply, err := script.
		Exec(context.Background(), client, []string{c.entryName(key), c.leaseName(key)}, args).
		ToMessage()
	return reply, c.failed(op, err)
}

// milliseconds formats a duration for the server, which refuses 0.
func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
