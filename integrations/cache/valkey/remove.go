package valkey

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache"
)

const (
	// scanCount is how many keys the server looks at in one step of a scan: few enough
	// that others don't notice.
	scanCount = 250
	// batch is how many entries are removed with one message.
	batch = 50
)

// Invalidate implements [cache.Cache].
func (c *Cache) Invalidate(ctx context.Context, keys ...string) error {
	var err error
	for some := range slices.Chunk(keys, batch) {
		if _, err = c.remove(ctx, "invalidating", some); err != nil {
			break
		}
	}
	// After the server: who read it before that has to go as well. It is done whether or
	// not the server could be reached, since here at least the content is known to be old.
	c.counter.changed()
	c.shelf.Drop(keys...)
	for _, key := range keys {
		c.bells.ring(key)
	}
	return err
}

// remove removes entries and leases at the server and returns the number of entries.
func (c *Cache) remove(ctx context.Context, op string, keys []string) (int, error) {
	removed := 0
	// Removing twice does no harm, and the first command after the server came back often
	// finds a connection that broke unnoticed.
	err := c.twice(ctx, op, func(ctx context.Context, client valkey.Client) error {
		calls := make([]valkey.LuaExec, len(keys))
		for i, key := range keys {
			calls[i].Keys = c.names.of(key)
		}
		return sum(&removed, c.scripts.remove.ExecMulti(ctx, client, calls...))
	})
	return removed, err
}

// twice does something with the server, and once more if that failed. It tries even
// while the server seems to be away: what is asked for must not be put off.
func (c *Cache) twice(ctx context.Context, op string, do func(context.Context, valkey.Client) error) error {
	var err error
	for range 2 {
		client, _ := c.link.Client()
		if client == nil {
			c.link.Check()
			return fmt.Errorf("%s: %w", op, cache.ErrUnavailable)
		}
		bounded, cancel := context.WithTimeout(ctx, 2*c.opts.Timeout)
		err = do(bounded, client)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", op, context.Cause(ctx))
		}
		time.Sleep(time.Millisecond)
	}
	return c.link.Failed(op, err)
}

// Clear implements [cache.Cache]. Entries that come while it runs may stay.
//
// It looks for leases first and for entries then: a fill that began before it either
// loses its lease, or has stored its entry by the time entries are looked for. A scan
// returns all that is there from its beginning to its end, so neither slips through.
func (c *Cache) Clear(ctx context.Context, pattern cache.Pattern) (int, error) {
	cleared := 0
	err := c.scan(ctx, "clearing", c.names.leases(), pattern, func(keys []string) error {
		n, err := c.remove(ctx, "clearing", keys)
		cleared += n
		return err
	})
	if err == nil {
		err = c.scan(ctx, "clearing", c.names.entries(), pattern, func(keys []string) error {
			n, err := c.unlink(ctx, keys)
			cleared += n
			return err
		})
	}
	// After the server, like Invalidate.
	c.counter.changed()
	c.shelf.DropMatching(pattern.Match)
	c.bells.ringAll()
	return cleared, err
}

// unlink removes entries and returns their number.
func (c *Cache) unlink(ctx context.Context, keys []string) (int, error) {
	removed := 0
	err := c.twice(ctx, "clearing", func(ctx context.Context, client valkey.Client) error {
		// A command for each, since a cluster keeps them in different slots.
		commands := make(valkey.Commands, len(keys))
		for i, key := range keys {
			commands[i] = client.B().Unlink().Key(c.names.of(key)[0]).Build()
		}
		return sum(&removed, client.DoMulti(ctx, commands...))
	})
	return removed, err
}

// sum adds up answers that are numbers. It returns the last error among them.
func sum(total *int, results []valkey.ValkeyResult) error {
	var failed error
	for _, result := range results {
		n, err := result.AsInt64()
		if err != nil {
			failed = err
		}
		*total += int(n)
	}
	return failed
}

// scan calls found with the keys under one beginning that match, a batch at a time, on
// every primary.
// The server answers other clients between any two steps.
func (c *Cache) scan(ctx context.Context, op, beginning string, pattern cache.Pattern, found func(keys []string) error) error {
	glob := c.names.glob(beginning, pattern)
	primaries, err := c.primaries(ctx, op)
	if err != nil {
		return err
	}
	for _, node := range primaries {
		for cursor := uint64(0); ; {
			var step valkey.ScanEntry
			err := c.twice(ctx, op, func(ctx context.Context, _ valkey.Client) (err error) {
				step, err = node.Do(ctx, node.B().Scan().Cursor(cursor).Match(glob).Count(scanCount).Build()).AsScanEntry()
				return err
			})
			if err != nil {
				return err
			}
			keys := make([]string, 0, len(step.Elements))
			for _, name := range step.Elements {
				if key, ok := c.names.key(name); ok && strings.HasPrefix(name, beginning) && pattern.Match(key) {
					keys = append(keys, key)
				}
			}
			for some := range slices.Chunk(keys, batch) {
				if err := found(some); err != nil {
					return err
				}
			}
			if cursor = step.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}

// primaries returns the nodes that hold data of their own.
func (c *Cache) primaries(ctx context.Context, op string) ([]valkey.Client, error) {
	var nodes []valkey.Client
	err := c.twice(ctx, op, func(ctx context.Context, client valkey.Client) error {
		nodes = nodes[:0]
		if client.Mode() != valkey.ClientModeCluster {
			for _, node := range client.Nodes() {
				nodes = append(nodes, node)
			}
			return nil
		}
		for addr, node := range client.Nodes() {
			role, err := node.Do(ctx, node.B().Role().Build()).ToArray()
			if err != nil {
				return fmt.Errorf("asking %s for its role: %w", addr, err)
			}
			if name, _ := role[0].ToString(); name == "master" {
				nodes = append(nodes, node)
			}
		}
		return nil
	})
	return nodes, err
}
