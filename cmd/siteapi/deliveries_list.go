package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/queue"
)

// errorShown is how much of an error a table shows, in characters.
const errorShown = 100

// listDeliveries is `siteapi deliveries list`.
func (o operator) listDeliveries(ctx context.Context, c *cli.Command, d *database) error {
	if err := only(c, 0); err != nil {
		return err
	}
	f := queue.Filter{SubmissionID: c.String("submission")}
	def := undelivered()
	if f.SubmissionID != "" {
		def = nil
	}
	var err error
	if f.States, err = stateFlag(c, def); err != nil {
		return err
	}
	if f.Target, err = targetFlag(c); err != nil {
		return err
	}
	limit := c.Int("limit")
	switch {
	case limit < 0:
		return errors.New("--limit: must not be negative")
	case c.Bool("json") && !c.IsSet("limit"):
		limit = 0 // no program expects to be told a part
	}
	if limit > 0 {
		f.Limit = limit + 1 // one more, to know that there are more
	}
	list, err := d.queue.List(ctx, f)
	if err != nil {
		return err
	}
	more := limit > 0 && len(list) > limit
	if more {
		list = list[:limit]
	}
	if c.Bool("json") {
		return o.printJSON(newDeliveryViews(list))
	}
	lines, err := counts(ctx, d.queue)
	if err != nil {
		return err
	}
	o.table(list, time.Now())
	if more {
		lines = append(lines, fmt.Sprintf("(the %d oldest are listed: --limit 0 lists all)", limit))
	}
	for _, line := range lines {
		_, _ = fmt.Fprintln(o.out, line)
	}
	return nil
}

// table prints deliveries, a line each.
func (o operator) table(list []queue.Delivery, now time.Time) {
	if len(list) == 0 {
		_, _ = fmt.Fprintln(o.out, "no deliveries to list")
		return
	}
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tTARGET\tSTATE\tTRIES\tAGE\tNEXT TRY\tSUBMISSION\tWHY")
	for _, d := range list {
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", d.ID, d.Target, d.State, d.Attempts,
			span(now.Sub(d.CreatedAt)), next(d, now), d.SubmissionID, shortened(why(d), errorShown))
	}
	_ = w.Flush()
}

// next says when a delivery is tried next.
func next(d queue.Delivery, now time.Time) string {
	switch {
	case d.State == queue.Running:
		return "now"
	case d.NextAt.IsZero():
		return "-"
	case !d.NextAt.After(now):
		return "due"
	}
	return "in " + span(d.NextAt.Sub(now))
}

// why says what keeps a delivery from having arrived.
func why(d queue.Delivery) string {
	switch {
	case d.State == queue.Delivered:
		return "-"
	case d.Paused != "":
		return d.Paused
	case len(d.Errors) > 0:
		return d.Errors[len(d.Errors)-1].Error
	}
	return "-"
}

// showDeliveries is `siteapi deliveries show`. A delivery holds no personal data, and
// the texts of errors are redacted before they are stored.
func (o operator) showDeliveries(ctx context.Context, c *cli.Command, d *database) error {
	if c.Args().Len() != 1 {
		return errors.New("name one delivery or one submission: siteapi deliveries show <id>")
	}
	name := c.Args().First()
	f := queue.Filter{SubmissionID: name}
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		f = queue.Filter{ID: id}
	}
	list, err := d.queue.List(ctx, f)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("there is no delivery of %q: `siteapi deliveries list --state all` lists them; delivered ones are forgotten after 30 days", name)
	}
	if c.Bool("json") {
		return o.printJSON(newDeliveryViews(list))
	}
	for i, one := range list {
		if i > 0 {
			_, _ = fmt.Fprintln(o.out)
		}
		o.sheet(one, time.Now())
	}
	return nil
}

// sheet prints everything there is about a delivery.
func (o operator) sheet(d queue.Delivery, now time.Time) {
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
	line := func(name, value string) { _, _ = fmt.Fprintf(w, "%s\t%s\n", name, value) }
	line("delivery", strconv.FormatInt(d.ID, 10))
	line("submission", d.SubmissionID)
	line("target", string(d.Target))
	line("state", string(d.State))
	line("tries", strconv.Itoa(d.Attempts))
	line("created", stamp(d.CreatedAt, now))
	if !d.NextAt.IsZero() {
		line("next try", stamp(d.NextAt, now))
	}
	if !d.FinishedAt.IsZero() {
		line("finished", stamp(d.FinishedAt, now))
	}
	if d.Paused != "" {
		line("paused", d.Paused)
	}
	_ = w.Flush()
	if len(d.Errors) == 0 {
		return
	}
	_, _ = fmt.Fprintln(o.out, "failed tries:")
	w = tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
	for _, e := range d.Errors {
		_, _ = fmt.Fprintf(w, "  %d\t%s\t%s\n", e.Number, e.At.Format(time.RFC3339), e.Error)
	}
	_ = w.Flush()
}
