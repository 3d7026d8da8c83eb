package operator

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/crm"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// leadFlags narrow a listing of leads.
func leadFlags(c *cobra.Command) {
	f := c.Flags()
	f.String("search", "", "only leads whose first name, last name, e-mail address or PDF reference\n"+
		"begins with each of these `words` (or --reference)")
	f.String("email", "", "only leads of this `address`, in any letter case")
	enumFlag("state", "only leads in this `state`", schema.AllLeadState)(c)
	periodFlags("leads submitted")(c)
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "reference" {
			name = "search"
		}
		return pflag.NormalizedName(name)
	})
}

// filtered returns the leads that these flags and a filter leave, and whether there are more.
func (c *call) filtered(ctx context.Context, f store.Filter) (list []*schema.Lead, more bool, err error) {
	f.Email, f.Search = c.text("email"), c.text("search")
	if f.Since, f.Until, err = c.period(); err != nil {
		return nil, false, err
	}
	return c.rules.Leads(ctx, f, schema.LeadState(c.text("state")))
}

func listLeads(ctx context.Context, c *call) error {
	list, more, err := c.filtered(ctx, store.Filter{Newest: true, Limit: c.limit()})
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
			printable(l.Contact.FirstName + " " + l.Contact.LastName), printable(l.Contact.Email),
			l.Selections.ProjectType, orEmpty(l.Locale)}
	})
	if more {
		c.say("(the %d newest: --limit 0 lists all)", len(list))
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

// orEmpty returns an optional text, or "".
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
			delivery.Lead = nil // it would recurse forever
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

// decide returns the action that releases or rejects the leads that are named, or all in review.
func decide(done string, do func(a store.Archive, ctx context.Context, id string) (bool, error)) action {
	return func(ctx context.Context, c *call) (err error) {
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
			switch ok, err := do(c.db.Archive, ctx, l.ID); {
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
}

// exportLeads is `siteapi leads export`.
func exportLeads(ctx context.Context, c *call) error {
	if _, _, err := c.period(); err != nil {
		return err
	}
	n := 0
	export := func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		encoder := json.NewEncoder(buffered)
		encoder.SetEscapeHTML(false)
		write := func(l *schema.Lead) error { return encoder.Encode(l) }
		if c.text("format") != "ndjson" {
			write = csvWriter(buffered)
		}
		f := store.Filter{Limit: 500} // held in memory at a time
		for more := true; more; {
			var page []*schema.Lead
			var err error
			if page, more, err = c.filtered(ctx, f); err != nil {
				return err
			}
			for _, l := range page {
				if err := write(l); err != nil {
					return err
				}
				f.After = &store.Position{SubmittedAt: l.SubmittedAt, ID: l.ID}
			}
			n += len(page)
		}
		return buffered.Flush()
	}
	path := c.text("output")
	if path == "" {
		return export(c.out)
	}
	if err := writeFile(path, c.on("overwrite"), func(f *os.File) error { return export(f) }); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	c.say("%d leads written to %s", n, path)
	return nil
}

// csvWriter writes leads as RFC 4180 says: commas, CRLF, UTF-8. Its writer has to keep its errors.
func csvWriter(w io.Writer) func(*schema.Lead) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	row := func(cells ...string) error {
		for i, cell := range cells {
			cells[i] = inert(cell)
		}
		_ = out.Write(cells)
		out.Flush()
		return out.Error()
	}
	_, _ = io.WriteString(w, "\ufeff") // without it Excel can't read letters such as ș
	_ = row("submitted_at", "submission_id", "reference", "first_name", "last_name", "email", "phone", "company",
		"locale", "project_type", "features", "complexity", "timeline", "estimate_min", "estimate_max", "currency",
		"session_id", "pdf", "state", "signals")
	return func(l *schema.Lead) error {
		signals := make([]string, len(l.Signals))
		for i, s := range l.Signals {
			signals[i] = string(s)
		}
		return row(l.SubmittedAt.UTC().Format("2006-01-02T15:04:05.000Z"), l.ID, l.Reference,
			l.Contact.FirstName, l.Contact.LastName, l.Contact.Email, orEmpty(l.Contact.Phone), orEmpty(l.Contact.Company),
			orEmpty(l.Locale), l.Selections.ProjectType, strings.Join(l.Selections.Features, ";"), orEmpty(l.Selections.Complexity),
			orEmpty(l.Selections.Timeline), amount(l.Estimate.Min), amount(l.Estimate.Max), l.Estimate.Currency,
			l.SessionID, l.PDFURL, word(l.State), strings.Join(signals, ";"))
	}
}

// formula finds what a spreadsheet could take for the beginning of a formula: at the beginning of a cell, and after what
// separates cells where another separator than the comma is set. East Asian versions take the wide forms as well.
var formula = regexp.MustCompile("(^|[,;|\t\r\n])([ \u00a0\"]*)([-=+@\uff1d\uff0b\uff0d\uff20])")

// inert writes ' before each of those.
func inert(cell string) string { return formula.ReplaceAllString(cell, "$1$2'$3") }

func printFunnel(ctx context.Context, c *call) error {
	var locale *schema.Locale
	if l := schema.Locale(c.text("locale")); l != "" {
		locale = &l
	}
	since, until, err := c.period()
	if err != nil {
		return err
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
