package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"siteapi/resolvers/content"
	"siteapi/schema"
)

func (d Drivers) edgeCommands() *cobra.Command {
	return group("edge", "the CDN in front, and renderers of the site",
		d.command("purge",
			"have the CDN drop all content, and notify the renderers, now; exit code 2: one failed",
			[]string{"ENVIRONMENT", "CDN_*", "REVALIDATE_*"}, purgeEdge,
			"siteapi edge purge"))
}

// purgeEdge notifies the CDN and the renderers at once, whatever waits in the database.
func purgeEdge(ctx context.Context, c *call) error {
	receivers, err := c.drivers.OpenEdge(c.settings)
	if err != nil {
		return err
	}
	if len(receivers) == 0 {
		return errors.New("there is nothing to notify: set CDN_PURGE_URL or REVALIDATE_URLS first")
	}

	for _, r := range receivers {
		if failure := r.Notify(ctx, content.Keys(schema.Locales())); failure != nil {
			c.say("%s: %v", r.Name, failure)
			err = finding("not all were notified")
			continue
		}
		c.say("%s: notified", r.Name)
	}
	return err
}
