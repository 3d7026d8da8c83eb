package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"
)

// funnelCommand reports how visitors get on with the calculator.
func funnelCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	return &cli.Command{
		Name: "funnel", Usage: "report how far visitors get in the calculator, and what they choose",
		Description: "Counts sessions by the last state that was tracked, so what a visitor chose and took back again is not seen.\n" +
			"A session counts for a step if its state shows that step or a later one. Sessions are forgotten after\n" +
			"TRACK_RETENTION, and with an erasure what the visitor typed; names and addresses are not in the report.\n\n" +
			"   siteapi funnel --since 30d\n   siteapi funnel --since 2026-01-01 --until 2026-02-01 --json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "since", Usage: "only sessions last seen since then: 36h, 30d, 2026-01-31 or 2026-01-31T09:30:00Z"},
			&cli.StringFlag{Name: "until", Usage: "only sessions last seen before then, in the same forms"},
			&cli.IntFlag{Name: "top", Usage: "how many project types and features to name", Value: 10},
			&cli.BoolFlag{Name: "json", Usage: "for other programs"},
		},
		Action: o.withDatabase(o.reportFunnel),
	}
}

func (o operator) reportFunnel(ctx context.Context, c *cli.Command, d *database) error {
	if err := only(c, 0); err != nil {
		return err
	}
	now := time.Now()
	since, err := momentFlag(c, "since", now)
	if err != nil {
		return err
	}
	until, err := momentFlag(c, "until", now)
	if err != nil {
		return err
	}
	if err := inOrder(since, until); err != nil {
		return err
	}
	top := c.Int("top")
	if top < 1 {
		return fmt.Errorf("--top %d: must be at least 1", top)
	}
	f := &funnel{archive: d.archive, since: since, until: until, partSize: funnelPart, choices: funnelChoices}
	r, err := f.report(ctx, top)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return o.printJSON(r)
	}
	return o.printFunnel(r)
}

func (o operator) printFunnel(r funnelReport) error {
	_, _ = fmt.Fprintf(o.out, "%d sessions", r.Sessions)
	for _, edge := range []struct {
		word string
		at   time.Time
	}{{"since", r.Since}, {"until", r.Until}} {
		if !edge.at.IsZero() {
			_, _ = fmt.Fprintf(o.out, " %s %s", edge.word, edge.at.UTC().Format(time.RFC3339))
		}
	}
	_, _ = fmt.Fprintln(o.out)
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "STEP                \tSESSIONS\tOF ALL\tLOST HERE\t")
	for _, s := range r.Steps {
		_, _ = fmt.Fprintf(w, "%-20s\t%d\t%s\t%s\t\n", s.Step, s.Sessions, percent(s.Share), percent(s.DropOff))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(o.out, "conversion %s; %d submissions, of them %d without a tracked session; %d more held for review\n",
		percent(r.Conversion), r.Submissions, r.Untracked, r.Held)
	for _, list := range []struct {
		title   string
		choices []choice
	}{{"PROJECT TYPE", r.ProjectTypes}, {"FEATURE", r.Features}} {
		if len(list.choices) == 0 {
			continue
		}
		w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintf(w, "\n%s\tSESSIONS\tSUBMITTED\tCONVERSION\n", list.title)
		for _, c := range list.choices {
			_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", c.Slug, c.Sessions, c.Submitted, percent(c.Conversion))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
