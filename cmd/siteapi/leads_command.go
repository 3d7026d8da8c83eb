package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/store"
)

// leadsCommand is for whoever looks after the leads of a service. What it prints is
// personal data: these are the only commands that do.
func leadsCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	asJSON := &cli.BoolFlag{Name: "json", Usage: "for other programs"}
	narrowing := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{
			&cli.StringFlag{Name: "since", Usage: "only those submitted since then: 36h, 30d, 2026-01-31 or 2026-01-31T09:30:00Z"},
			&cli.StringFlag{Name: "until", Usage: "only those submitted before then, in the same forms"},
			&cli.StringFlag{Name: "email", Usage: "only those of one address, letter case ignored"},
			&cli.BoolFlag{Name: "held", Usage: "only those held for review"},
		}, more...)
	}
	return &cli.Command{
		Name: "leads", Usage: "look after stored leads: list, export, release, erase", Action: group,
		Description: "Leads are personal data: mind where the output goes. These commands work beside a running service and\n" +
			"need its settings (DATA_DIR or DATABASE_URL, and so on).\n\n   siteapi leads list --since 7d",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list leads, newest first",
				Description: "   siteapi leads list --since 7d\n   siteapi leads list --held",
				Flags: narrowing(asJSON,
					&cli.IntFlag{Name: "limit", Usage: "how many at most, 0: all; with --json all unless it is given", Value: 50}),
				Action: o.withDatabase(o.listLeads),
			},
			{
				Name: "show", Usage: "show a lead, or all of an address, with its deliveries", ArgsUsage: "<submission or e-mail address>",
				Description: "   siteapi leads show ana@example.com",
				Flags:       []cli.Flag{asJSON},
				Action:      o.withDatabase(o.showLeads),
			},
			{
				Name: "export", Usage: "write leads as CSV or NDJSON, oldest first",
				Description: "Cells of a CSV file that a spreadsheet could take for a formula begin with ', which spreadsheets don't show.\n" +
					"With --email it is what a person who asks for their data gets.\n\n" +
					"   siteapi leads export --since 30d --bom --output leads.csv\n   siteapi leads export --format ndjson | jq .contact.email",
				Flags: narrowing(
					&cli.StringFlag{Name: "format", Usage: "csv or ndjson", Value: formatCSV},
					&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "file to write, readable by you only; left out: standard output"},
					&cli.BoolFlag{Name: "overwrite", Usage: "replace the file if it is there"},
					&cli.BoolFlag{Name: "bom", Usage: "begin CSV with a byte order mark, which Excel needs to read letters such as ș"},
				),
				Action: o.withDatabase(o.exportLeads),
			},
			leadsRelease(o),
			leadsErase(o),
		},
	}
}

// leadFilter reads the flags that narrow a listing.
func leadFilter(c *cli.Command, now time.Time) (f store.Filter, err error) {
	f = store.Filter{Email: c.String("email"), InReview: c.Bool("held")}
	if f.Since, err = momentFlag(c, "since", now); err != nil {
		return f, err
	}
	if f.Until, err = momentFlag(c, "until", now); err != nil {
		return f, err
	}
	return f, inOrder(f.Since, f.Until)
}

// inOrder refuses a time that ends before it begins, which nothing can lie in.
func inOrder(since, until time.Time) error {
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return errors.New("--until: must be later than --since")
	}
	return nil
}

// momentFlag reads a point in time: how long ago, or when. Left out: zero.
func momentFlag(c *cli.Command, name string, now time.Time) (time.Time, error) {
	text := c.String(name)
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := config.Duration(text); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s: must be a duration such as 36h or 30d, a day such as 2026-01-31, or a time such as 2026-01-31T09:30:00Z", name)
}

// limitFlag reads --limit. With --json there is none unless it is given: no program
// expects to be told a part.
func limitFlag(c *cli.Command) (int, error) {
	limit := c.Int("limit")
	switch {
	case limit < 0:
		return 0, errors.New("--limit: must not be negative")
	case c.Bool("json") && !c.IsSet("limit"):
		return 0, nil
	}
	return limit, nil
}

// orDash is for cells of a table that would be empty.
func orDash(text string) string { return cmp.Or(text, "-") }
