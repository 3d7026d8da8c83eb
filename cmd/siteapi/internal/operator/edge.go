package operator

import (
	"context"
	"errors"
	"slices"

	"siteapi/resolvers/content"
	"siteapi/schema"
)

// purgeEdge tells the CDN and the renderers at once, whatever waits in the database.
func purgeEdge(ctx context.Context, c *call) error {
	receivers, err := c.OpenEdge(c.settings)
	if err != nil {
		return err
	}
	if len(receivers) == 0 {
		return errors.New("there is nothing to tell: set CDN_PURGE_URL or REVALIDATE_URLS first")
	}

	keys, all := c.args, content.Keys(schema.Locales())
	if c.on("all") {
		keys = all
	}
	for _, key := range keys {
		if !slices.Contains(all, key) {
			return errors.New("there is no such key: the keys are " + words(all))
		}
	}

	failed := 0
	for _, r := range receivers {
		if err := r.Tell(ctx, keys); err != nil {
			failed++
			c.say("%s: %v", r.Name, err)
			continue
		}
		c.say("%s: told of %s", r.Name, words(keys))
	}
	if failed > 0 {
		return finding("a receiver was not told")
	}
	return nil
}
