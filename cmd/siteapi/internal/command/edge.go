package command

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/resolvers/content"
	"siteapi/schema"
)

func (d Drivers) edgeCommands() *cobra.Command {
	return group("edge", "the CDN in front, and renderers of the site",
		d.command("purge <key> … | --all",
			"have the CDN drop answers, and tell renderers, now; exit code 2: one failed",
			[]string{"ENVIRONMENT", "CDN_*", "REVALIDATE_*"}, &purgeEdge{},
			"siteapi edge purge --all"))
}

// purgeEdge tells the CDN and the renderers at once, whatever waits in the database.
type purgeEdge struct{ all bool }

func (cmd *purgeEdge) flags(f *pflag.FlagSet) {
	f.BoolVar(&cmd.all, "all", false, "everything that is made of content")
}

func (cmd *purgeEdge) run(ctx context.Context, c *call) error {
	receivers, err := c.drivers.OpenEdge(c.settings)
	if err != nil {
		return err
	}
	if len(receivers) == 0 {
		return errors.New("there is nothing to tell: set CDN_PURGE_URL or REVALIDATE_URLS first")
	}

	keys, all := c.args, content.Keys(schema.Locales())
	if cmd.all {
		keys = all
	}
	for _, key := range keys {
		if !slices.Contains(all, key) {
			return errors.New("there is no such key: the keys are " + words(all))
		}
	}

	if len(c.settings.PurgeURLs) == 0 {
		c.say("no CDN is told: CDN_PURGE_URL is not set")
	}
	if len(c.settings.RevalidateURLs) == 0 {
		c.say("no renderer is told: REVALIDATE_URLS is not set")
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
