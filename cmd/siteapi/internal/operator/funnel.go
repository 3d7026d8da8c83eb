package operator

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/schema"
)

func (d Deps) funnelCommand() *cobra.Command {
	return d.onDatabase("funnel", "report how far visitors get in the calculator, and what they choose",
		&printFunnel{},
		"siteapi funnel --since 30d")
}

type printFunnel struct {
	period period
	locale schema.Locale
	result result
}

func (cmd *printFunnel) flags(f *pflag.FlagSet) {
	cmd.period.flags(f, "sessions last seen")
	enumVar(f, &cmd.locale, "locale", "only sessions whose lead is in this `language`", schema.AllLocale)
	cmd.result.flags(f)
}

func (cmd *printFunnel) run(ctx context.Context, c *call) error {
	if err := cmd.period.valid(); err != nil {
		return err
	}

	var locale *schema.Locale
	if cmd.locale != "" {
		locale = &cmd.locale
	}

	f, err := c.rules.Funnel(ctx, cmd.period.since, cmd.period.until, locale)
	if err != nil {
		return err
	}

	return cmd.result.print(c, f, func() {
		printTable(c, "steps", f.Steps, table.Row{"STEP", "SESSIONS", "OF THE STEP BEFORE"},
			func(s *schema.FunnelStep) table.Row {
				share := ""
				if s.Conversion != nil {
					share = fmt.Sprintf("%.1f %%", 100**s.Conversion)
				}
				return table.Row{word(s.Name), s.Count, share}
			})

		c.say("%d submissions, %d of them without a tracked session; %d more in review\n",
			f.Submissions, f.Untracked, f.InReview)

		header := table.Row{"FIELD", "CHOICE", "SESSIONS", "SUBMITTED"}
		printTable(c, "choices", f.Choices, header, func(v *schema.FunnelChoice) table.Row {
			return table.Row{v.Field, v.Value, v.Count, v.Submitted}
		})
	})
}
