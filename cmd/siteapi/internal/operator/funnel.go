package operator

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"siteapi/schema"
)

// choicesShown is how many values of a field are printed.
const choicesShown = 10

// funnel is `siteapi funnel`.
func (d Deps) funnel() *cli.Command {
	return &cli.Command{
		Name: "funnel", Usage: "report how far visitors get in the calculator, and what they choose",
		Description: "Counts sessions by the last tracked state: what a visitor chose and took back is not seen. A session counts for a\n" +
			"step if its state shows that step or a later one. Sessions are forgotten after TRACK_RETENTION. JSON has the weeks too.\n\n" +
			"   siteapi funnel --since 30d\n   siteapi funnel --since 2026-01-01 --until 2026-02-01 --json",
		Flags: []cli.Flag{
			sinceFlag("sessions last seen"), untilFlag("sessions last seen"), jsonFlag(),
			&cli.StringFlag{Name: "locale", Usage: "only sessions whose lead is in this language"},
		},
		Action: d.databaseAction(printFunnel),
	}
}

func printFunnel(ctx context.Context, c *cli.Command, db *Database) error {
	since, until, err := period(c)
	if err != nil {
		return err
	}
	var locale *schema.Locale
	if l, err := enumFlag(c, "locale", schema.AllLocale); err != nil {
		return err
	} else if l != "" {
		locale = &l
	}
	f, err := db.rules().Funnel(ctx, since, until, locale)
	out := c.Root().Writer
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return printJSON(out, f)
	}
	t := newTable(out, "STEP", "SESSIONS", "OF THE STEP BEFORE")
	for _, s := range f.Steps {
		t.AppendRow([]any{word(s.Name), s.Count, percent(s.Conversion)})
	}
	t.Render()
	_, err = fmt.Fprintf(out, "%d submissions, %d of them without a tracked session; %d more in review\n\n", f.Submissions, f.Untracked, f.InReview)
	t = newTable(out, "FIELD", "CHOICE", "SESSIONS", "SUBMITTED")
	shown := map[string]int{}
	for _, choice := range f.Choices {
		if shown[choice.Field]++; shown[choice.Field] <= choicesShown {
			t.AppendRow([]any{choice.Field, choice.Value, choice.Count, choice.Submitted})
		}
	}
	t.Render()
	return err
}

func percent(share *float64) string {
	if share == nil {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100**share)
}
