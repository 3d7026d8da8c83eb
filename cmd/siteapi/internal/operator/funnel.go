package operator

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/store"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

func (d Drivers) funnelCommand() *cobra.Command {
	return d.onDatabase("funnel", "report how far visitors get in the calculator, and what they choose",
		&printFunnel{},
		"siteapi funnel --since 30d")
}

type printFunnel struct {
	period   period
	locale   schema.Locale
	source   *string
	campaign *string
	touch    schema.FunnelTouch
	result   result
}

func (cmd *printFunnel) flags(f *pflag.FlagSet) {
	cmd.period.flags(f, "sessions last seen")
	enumVar(f, &cmd.locale, "locale", "only sessions whose lead is in this `language`", schema.AllLocale)
	optionalVar(f, &cmd.source, "source", "only visitors from this `source`, or from none with \"\"")
	optionalVar(f, &cmd.campaign, "campaign", "only visitors of this `campaign`, or of none with \"\"")
	enumVar(f, &cmd.touch, "touch", "which `touch` says where a visitor came from", schema.AllFunnelTouch)
	cmd.result.flags(f)
}

// optionalVar takes a text without the white space around it, which may be empty.
func optionalVar(f *pflag.FlagSet, value **string, name, usage string) {
	f.Func(name, usage, func(given string) error {
		text := strings.TrimSpace(given)
		*value = &text
		return nil
	})
}

func (cmd *printFunnel) run(ctx context.Context, c *call) error {
	if err := cmd.period.valid(); err != nil {
		return err
	}

	filter := store.FunnelFilter{
		Since:      cmd.period.since,
		Until:      cmd.period.until,
		Locale:     string(cmd.locale),
		Source:     cmd.source,
		Campaign:   cmd.campaign,
		FirstTouch: cmd.touch == schema.FunnelTouchFirst,
	}
	counted, err := c.rules.Funnel(ctx, filter)
	if err != nil {
		return err
	}

	f := operators.NewFunnel(counted)
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

		header = table.Row{"SOURCE", "CAMPAIGN", "SESSIONS", "ESTIMATES", "SUBMISSIONS", "RANGES FROM", "WON"}
		printTable(c, "sources", f.Sources, header, func(s *schema.FunnelSource) table.Row {
			return table.Row{s.Source, s.Campaign, s.Sessions, s.Estimates, s.Submissions, sumText(s.Sums), sumText(s.Won)}
		})
	})
}

// sumText returns amounts on one line, such as "1200 EUR, 500 RON".
func sumText(sums []*schema.FunnelSum) string {
	texts := make([]string, len(sums))
	for i, s := range sums {
		texts[i] = strconv.FormatFloat(s.Amount, 'f', -1, 64) + " " + s.Currency
	}
	return strings.Join(texts, ", ")
}
