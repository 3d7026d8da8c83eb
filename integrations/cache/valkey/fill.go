package valkey

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache"
)

// pollPause is the time between two reads while another instance fills the key.
const pollPause = 25 * time.Millisecond

// claimLife is how long a claim outlives an instance that crashed during a fill.
const claimLife = cache.FillTimeout + time.Second

// replace stores an entry, or removes what is there if the entry is empty. It does so only if
// what is there has the expected beginning. ARGV: that, the entry, and its life in ms.
var replace = valkey.NewLuaScript(`
local stored = redis.call('GET', KEYS[1])
if not stored or string.sub(stored, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`)

// load fills a missing entry once for all concurrent callers of this instance.
func (c *Cache) load(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	for {
		first := false
		loaded := c.loads.DoChan(key, func() (any, error) {
			first = true
			return c.fill(ctx, key, fill)
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

// fill claims a key, fills and stores. While another instance has the claim, it waits for the
// value.
func (c *Cache) fill(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	claim := record{Entry: cache.Entry{Revision: rand.Text()}}.head()
	for ; ; time.Sleep(pollPause) {
		client, err := c.client()
		if err != nil {
			return c.getAlone(ctx, key, fill)
		}

		set := client.B().Set().Key(c.name(client, key)).Value(claim).Nx().Px(claimLife).Build()
		err = client.Do(context.Background(), set).Error()
		switch {
		case err == nil:
			entry, err := c.store(ctx, key, fill, claim)
			if err != nil {
				// If the claim cannot be removed, it expires by itself.
				_, _ = c.replace(key, claim, "", claimLife)
			}
			return entry, err
		case !valkey.IsValkeyNil(err): // the server is away or has no memory left
			_ = c.failed(err)
			return c.getAlone(ctx, key, fill)
		}

		if r, found, _ := c.read(key); found {
			return r.Entry, nil
		}
	}
}

// store fills, and stores the value if what is there still has the expected beginning.
func (c *Cache) store(ctx context.Context, key string, fill cache.Fill, expected string) (cache.Entry, error) {
	entry, life, err := cache.Run(ctx, fill)
	if err != nil {
		return cache.Entry{}, err
	}

	text := record{entry, time.Now().Add(life.Fresh)}.head() + string(entry.Value)
	stored, err := c.replace(key, expected, text, life.Fresh+life.Stale)
	entry.Overtaken = err != nil || !stored
	return entry, nil //nolint:nilerr // the value is good, it is only not kept
}

// replace runs the script of that name.
func (c *Cache) replace(key, expected, entry string, life time.Duration) (bool, error) {
	client, err := c.client()
	if err != nil {
		return false, err
	}
	milliseconds := strconv.FormatInt(max(life.Milliseconds(), 1), 10) // the server refuses 0
	done, err := replace.
		Exec(context.Background(), client, []string{c.name(client, key)}, []string{expected, entry, milliseconds}).
		AsBool()
	return done, c.failed(err)
}
