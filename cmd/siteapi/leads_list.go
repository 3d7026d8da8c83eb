package main

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/quote"
)

// nameShown is how much of a name or an address a table shows, in characters.
const nameShown = 40

// listedLead is a lead in the list for other programs.
type listedLead struct {
	leadView
	State string `json:"state"`
}

// listLeads is `siteapi leads list`.
func (o operator) listLeads(ctx context.Context, c *cli.Command, d *database) error {
	if err := only(c, 0); err != nil {
		return err
	}
	f, err := leadFilter(c, time.Now())
	if err != nil {
		return err
	}
	f.Newest = true
	limit, err := limitFlag(c)
	if err != nil {
		return err
	}
	where, err := whereabouts(ctx, d.queue)
	if err != nil {
		return err
	}
	leads, more := []listedLead{}, false
	for s, err := range d.archive.Submissions(ctx, f) {
		if err != nil {
			return err
		}
		if more = limit > 0 && len(leads) == limit; more {
			break
		}
		leads = append(leads, listedLead{newLeadView(s), where(&s)})
	}
	if c.Bool("json") {
		return o.printJSON(leads)
	}
	if len(leads) == 0 {
		_, err := fmt.Fprintln(o.out, "no leads to list")
		return err
	}
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SUBMITTED\tSUBMISSION\tNAME\tE-MAIL\tPROJECT\tESTIMATE\tLOCALE\tSTATE")
	for _, l := range leads {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.SubmittedAt.Format(time.DateTime), l.ID,
			shortened(fullName(l.Contact), nameShown), shortened(printable(l.Contact.Email), nameShown),
			l.Selections.ProjectType, estimated(l.Estimate), orDash(l.Locale), l.State)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if more {
		_, err = fmt.Fprintf(o.out, "(the %d newest are listed: --limit 0 lists all)\n", limit)
	}
	return err
}

// estimated writes a range of amounts, in whole units as a table needs them.
func estimated(e quote.Estimate) string {
	amount := func(f float64) string { return strconv.FormatFloat(f, 'f', 0, 64) }
	if e.Min == e.Max {
		return amount(e.Min) + " " + e.Currency
	}
	return amount(e.Min) + "-" + amount(e.Max) + " " + e.Currency
}
