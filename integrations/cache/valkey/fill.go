package valkey

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache"
)

// pollPause is the pause between two reads while another instance fills the key.
const pollPause = 25 * time.Millisecond

// claimLife is the lifetime of a claim. It bounds how long the claim of an instance that
// crashed during a fill blocks others.
const claimLife = cache.FillTimeout + time.Second

// replace stores an entry, or removes the stored record if the entry is empty, but only
// if the stored record has the expected prefix. ARGV contains the prefix, the entry and
// its lifetime in milliseconds.
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
			// A value that was not stored may be older than reads that joined the fill
			// later. These reads load it again.
			entry, _ := result.Val.(cache.Entry)
			if result.Err != nil || !entry.Superseded || first {
				return entry, result.Err
			}
		case <-ctx.Done():
			return cache.Entry{}, context.Cause(ctx)
		}
	}
}

// fill claims a key, calls fill and stores the value. While another instance holds the
// claim, it waits for that instance's value.
func (c *Cache) fill(ctx context.Context, key string, fill cache.Fill) (cache.Entry, error) {
	claim := record{Entry: cache.Entry{Revision: rand.Text()}}.head()
	for ; ; time.Sleep(pollPause) {
		client, err := c.client()
		if err != nil {
			return c.getOffline(ctx, key, fill)
		}

		set := client.B().Set().Key(c.name(client, key)).Value(claim).Nx().Px(claimLife).Build()
		err = client.Do(context.Background(), set).Error()
		switch {
		case err == nil:
			entry, err := c.store(ctx, key, fill, claim)
			if err != nil {
				// A claim that cannot be removed expires.
				_, _ = c.replace(key, claim, "", claimLife)
			}
			return entry, err
		case !valkey.IsValkeyNil(err): // the server is unavailable or out of memory
			_ = c.failed(err)
			return c.getOffline(ctx, key, fill)
		}

		if r, found, _ := c.read(key); found {
			return r.Entry, nil
		}
	}
}

// store calls fill and stores the value if the stored record still has the expected
// prefix.
func (c *Cache) store(
	ctx context.Context, key string, fill cache.Fill, expected string,
) (cache.Entry, error) {
	entry, life, err := cache.Run(ctx, fill)
	if err != nil {
		return cache.Entry{}, err
	}

	text := record{entry, time.Now().Add(life.Fresh)}.head() + string(entry.Value)
	stored, err := c.replace(key, expected, text, life.Fresh+life.Stale)
	entry.Superseded = err != nil || !stored
	return entry, nil //nolint:nilerr // the value is valid but not stored
}

// replace runs the replace script.
func (c *Cache) replace(key, expected, entry string, life time.Duration) (bool, error) {
	client, err := c.client()
	if err != nil {
		return false, err
	}
	milliseconds := strconv.FormatInt(max(life.Milliseconds(), 1), 10) // the server refuses 0
	done, err := replace.
		Exec(context.Background(), client, []string{c.name(client, key)},
			[]string{expected, entry, milliseconds}).
		AsBool()
	return done, c.failed(err)
}
