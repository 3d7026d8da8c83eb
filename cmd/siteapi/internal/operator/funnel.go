package operator

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"siteapi/schema"
)

func printFunnel(ctx context.Context, c *call) error {
	since, until, err := c.period()
	if err != nil {
		return err
	}
	var locale *schema.Locale
	if l := schema.Locale(c.text("locale")); l != "" {
		locale = &l
	}
	f, err := c.rules.Funnel(ctx, since, until, locale)
	switch {
	case err != nil:
		return err
	case c.on("json"):
		return printJSON(c.out, f)
	}
	printTable(c.out, table.Row{"STEP", "SESSIONS", "OF THE STEP BEFORE"}, f.Steps, func(s *schema.FunnelStep) table.Row {
		share := ""
		if s.Conversion != nil {
			share = fmt.Sprintf("%.1f %%", 100**s.Conversion)
		}
		return table.Row{word(s.Name), s.Count, share}
	})
	c.say("%d submissions, %d of them without a tracked session; %d more in review\n", f.Submissions, f.Untracked, f.InReview)
	printTable(c.out, table.Row{"FIELD", "CHOICE", "SESSIONS", "SUBMITTED"}, f.Choices, func(c *schema.FunnelChoice) table.Row {
		return table.Row{c.Field, c.Value, c.Count, c.Submitted}
	})
	return nil
}
