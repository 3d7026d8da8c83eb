package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/crm"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// leads is `siteapi leads`. These are the only commands that print personal data.
func (d Deps) leads() *cobra.Command {
	all := boolFlag("all", "all that are in review")
	return group("leads", "list, show, export, release, reject and erase leads", "  siteapi leads list --since 7d",
		d.databaseCommand(&cobra.Command{
			Use: "list", Short: "list leads, newest first",
			Example: "  siteapi leads list --search 'ana pop'\n  siteapi leads list --state in-review",
		}, listLeads, leadFlags, jsonFlag(), limitFlag(50)),
		d.databaseCommand(&cobra.Command{
			Use: "show <id, PDF reference or e-mail address>", Short: "show a lead, or all of an address, with its deliveries",
			Example: "  siteapi leads show LR4LB5AK\n  siteapi leads show ana@example.com", Args: cobra.ArbitraryArgs,
		}, showLeads, jsonFlag()),
		d.databaseCommand(&cobra.Command{
			Use: "export", Short: "write leads as CSV or NDJSON, oldest first",
			Long: "Cells of a CSV file that a spreadsheet could take for a formula begin with ', which spreadsheets don't show.\n" +
				"With --email it is what a person who asks for their data gets.",
			Example: "  siteapi leads export --since 30d --output leads.csv\n  siteapi leads export --format ndjson | jq .contact.email",
		}, exportLeads, leadFlags, func(f *pflag.FlagSet) { f.String("format", "csv", "csv or ndjson") },
			outputFlags("`file` to write, readable by you only; left out: standard output")),
		d.databaseCommand(&cobra.Command{
			Use: "release <id or PDF reference> … | --all", Short: "deliver leads that are in review or were rejected",
			Example: "  siteapi leads list --state in-review\n  siteapi leads release LR4LB5AK", Args: cobra.ArbitraryArgs,
		}, func(ctx context.Context, c *call) error {
			return c.decide(ctx, "released: the running service delivers them now", c.db.Archive.Release)
		}, all),
		d.databaseCommand(&cobra.Command{
			Use: "reject <id or PDF reference> … | --all", Short: "reject leads that are in review: they are never delivered",
			Long:    "SUBMISSION_RETENTION forgets them. `siteapi leads release` undoes it.",
			Example: "  siteapi leads reject LR4LB5AK", Args: cobra.ArbitraryArgs,
		}, func(ctx context.Context, c *call) error { return c.decide(ctx, "rejected", c.db.Archive.Reject) }, all),
		d.erase(),
	)
}

// leadFlags narrow a listing of leads.
func leadFlags(f *pflag.FlagSet) {
	f.String("search", "", "only leads whose first name, last name, e-mail address or PDF reference begins with each of these `words` (or --reference)")
	f.String("state", "", "only leads in this one: "+words(schema.AllLeadState))
	f.String("email", "", "only leads of this `address`, in any letter case")
	sinceFlag("leads submitted")(f)
	untilFlag("leads submitted")(f)
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "reference" {
			name = "search"
		}
		return pflag.NormalizedName(name)
	})
}

// leadFilter reads them.
func (c *call) leadFilter() (f store.Filter, state schema.LeadState, err error) {
	f = store.Filter{Email: c.text("email"), Search: c.text("search")}
	if f.Since, f.Until, err = c.period(); err != nil {
		return f, "", err
	}
	state, err = parse("state", c.text("state"), schema.AllLeadState)
	return f, state, err
}

func listLeads(ctx context.Context, c *call) error {
	f, state, err := c.leadFilter()
	if err != nil {
		return err
	}
	f.Newest = true
	if f.Limit, err = c.limit(); err != nil {
		return err
	}
	list, more, err := c.rules.Leads(ctx, f, state)
	switch {
	case err != nil:
		return err
	case c.on("json"):
		return printJSON(c.out, list)
	case len(list) == 0:
		c.say("no leads")
		return nil
	}
	header := table.Row{"REFERENCE", "SUBMITTED", "STATE", "ESTIMATE", "NAME", "E-MAIL", "PROJECT", "LOCALE"}
	printTable(c.out, header, list, func(l *schema.Lead) table.Row {
		return table.Row{l.Reference, l.SubmittedAt.Format(time.DateTime), word(l.State), estimate(l.Estimate),
			printable(l.Contact.FirstName + " " + l.Contact.LastName), printable(l.Contact.Email), l.Selections.ProjectType, orEmpty(l.Locale)}
	})
	if more {
		c.say("(the %d newest: --limit 0 lists all)", f.Limit)
	}
	return nil
}

func estimate(e *schema.LeadEstimate) string {
	if e.Min == e.Max {
		return amount(e.Max) + " " + e.Currency
	}
	return amount(e.Min) + "-" + amount(e.Max) + " " + e.Currency
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// orEmpty returns an optional text, empty where there is none.
func orEmpty[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// findLeads finds a lead by its id or its PDF's reference, or all of an e-mail address, with their deliveries.
func (c *call) findLeads(ctx context.Context, name string) (found []*schema.Lead, err error) {
	if crm.Addressable(name) {
		if found, _, err = c.rules.Leads(ctx, store.Filter{Email: crm.Address(name)}, ""); err == nil {
			err = c.rules.AddDeliveries(ctx, found...)
		}
	} else {
		found = make([]*schema.Lead, 1)
		found[0], err = c.rules.Find(ctx, name)
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && len(found) == 0 {
		return nil, errors.New("there is no such lead: `siteapi leads list` lists them") // the name may be an address
	}
	return found, err
}

func showLeads(ctx context.Context, c *call) error {
	if len(c.args) != 1 {
		return errors.New("name one lead: siteapi leads show <id, PDF reference or e-mail address>")
	}
	found, err := c.findLeads(ctx, c.args[0])
	if err != nil {
		return err
	}
	for _, l := range found {
		for _, delivery := range l.Deliveries {
			delivery.Lead = nil // it would be printed for ever
		}
	}
	if c.on("json") {
		return printJSON(c.out, found)
	}
	for _, l := range found {
		if err := printFields(c.out, l); err != nil {
			return err
		}
		if l.State == schema.LeadStateInReview {
			c.say("`siteapi leads release %s` delivers it, `siteapi leads reject %s` does not", l.Reference, l.Reference)
		}
		c.say("")
	}
	return nil
}

// decide releases or rejects the leads that are named, or all in review.
func (c *call) decide(ctx context.Context, done string, do func(ctx context.Context, id string) (bool, error)) (err error) {
	var list []*schema.Lead
	switch {
	case c.on("all") == (len(c.args) > 0):
		return errors.New("name leads, or say --all: `siteapi leads list --state in-review` lists them")
	case c.on("all"):
		if list, _, err = c.rules.Leads(ctx, store.Filter{}, schema.LeadStateInReview); err != nil {
			return err
		}
	}
	for _, name := range c.args {
		found, err := c.findLeads(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, found...)
	}
	n := 0
	for _, l := range list {
		switch ok, err := do(ctx, l.ID); {
		case err != nil:
			return fmt.Errorf("%s: %w", l.ID, err)
		case ok:
			n++
		default:
			c.say("%s is not in review: it is %s", l.Reference, word(l.State))
		}
	}
	c.say("%d leads %s", n, done)
	return nil
}
