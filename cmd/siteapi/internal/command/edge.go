package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"siteapi/resolvers/content"
	"siteapi/schema"
)

func (d commands) edgeCommands() *cobra.Command {
	return group("edge", "purge the CDN, and notify the renderers of the site",
		d.command("purge",
			"purge all content from the CDN and notify the renderers now; exit code 2 if one failed",
			[]string{"ENVIRONMENT", "CDN_*", "REVALIDATE_*"}, purgeEdge,
			"siteapi edge purge"))
}

// purgeEdge notifies the CDN and the renderers at once, independently of the queue.
func purgeEdge(ctx context.Context, c *call) error {
	receivers, err := c.open.Receivers()
	if err != nil {
		return err
	}
	if len(receivers) == 0 {
		return errors.New("no CDN and no renderer is configured: set CDN_PURGE_URL or REVALIDATE_URLS first")
	}

	for _, r := range receivers {
		if failure := r.Notify(ctx, content.Keys(schema.Locales())); failure != nil {
			c.printLine("%s: %v", r.Name, failure)
			err = finding("some receivers were not notified")
			continue
		}
		c.printLine("%s: notified", r.Name)
	}
	return err
}
