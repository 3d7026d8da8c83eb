package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

// leadsCommands returns the commands about leads that are no operation documents.
func (d Drivers) leadsCommands() []*cobra.Command {
	return []*cobra.Command{
		d.onDatabase("export",
			"write leads as CSV or NDJSON, oldest first; with --email alone everything about a person",
			&exportLeads{},
			"siteapi leads export --since 30d --output leads.csv",
			"siteapi leads export --email ana@example.com --format ndjson"),

		d.onDatabase("withdraw <id, PDF reference or e-mail address>",
			"withdraw a consent in all leads of a person, and tell the CMS and the CRM", &withdrawConsent{},
			"siteapi leads withdraw LR4LB5AK --purpose marketing",
			"siteapi leads withdraw ana@example.com --purpose marketing"),

		d.command("erase", "erase everything that is stored about an e-mail address, everywhere",
			append(upstreamSettings(), "LISTEN_ADDR", "CACHE_URL", "CACHE_PREFIX"), &eraseLeads{},
			"siteapi leads erase --email ana@example.com",
			"siteapi leads erase --email ana@example.com --yes --receipt receipt.json",
			"siteapi leads erase --email - --yes < address.txt"),
	}
}

// leadFilter narrows a listing of leads.
type leadFilter struct {
	search, email, owner string
	state                lead.State
	status               lead.Status
	period               period
}

func (l *leadFilter) flags(f *pflag.FlagSet) {
	textVar(f, &l.search, "search",
		"only leads in which a word of the name, company or message, the e-mail\n"+
			"address, its domain or the PDF reference begins with each of these\n"+
			"`words`, or the telephone number does")
	textVar(f, &l.email, "email", "only leads of this `address`, in any spelling")
	enumVar(f, &l.state, "state", "only leads in this `state`", lead.States())
	enumVar(f, &l.status, "status", "only leads in this `status` of the operators' work", lead.Statuses())
	textVar(f, &l.owner, "owner", "only leads of the operator with this `address`, in any letter case; none: of none")
	l.period.flags(f, "leads submitted")
}

// leads returns the leads that match the flags and a filter, and whether there are more.
func (l *leadFilter) leads(
	ctx context.Context, c *call, f store.Filter,
) (list []lead.Lead, more bool, err error) {
	if err := l.period.valid(); err != nil {
		return nil, false, err
	}

	l.narrow(&f)
	if list, more, err = c.rules.Leads(ctx, f, l.state); err == nil {
		err = c.rules.AddNotes(ctx, list)
	}
	return list, more, err
}

// narrow adds the flags to a filter.
func (l *leadFilter) narrow(f *store.Filter) {
	f.Email, f.Search, f.Since, f.Until = crm.Address(l.email), l.search, l.period.since, l.period.until
	f.Status = l.status
	if l.owner != "" {
		f.Owner = &l.owner
		if strings.EqualFold(l.owner, "none") {
			f.Owner = new(string)
		}
	}
}

// shown returns leads with their deliveries as the schema has them, without the link from
// each delivery to its lead, with which they could not be printed.
func (c *call) shown(ctx context.Context, list []lead.Lead) ([]*schema.Lead, error) {
	deliveries, err := c.rules.DeliveriesOf(ctx, list)
	shown := make([]*schema.Lead, len(list))
	for i, l := range list {
		shown[i] = operators.NewLead(l, deliveries[l.ID])
		for _, d := range shown[i].Deliveries {
			d.Lead = nil
		}
	}
	return shown, err
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func orEmpty[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// named returns the leads that are named by id, PDF reference or e-mail address.
func (c *call) named(ctx context.Context, names ...string) (list []lead.Lead, err error) {
	for _, name := range names {
		found := make([]lead.Lead, 1)
		if crm.Addressable(name) {
			found, _, err = c.rules.Leads(ctx, store.Filter{Email: crm.Address(name)}, "")
			name = "the address" // errors don't repeat it
		} else {
			found[0], err = c.rules.Find(ctx, name)
		}

		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && len(found) == 0:
			return nil, fmt.Errorf("%s: there is no such lead: `siteapi leads list` lists them", name)
		case err != nil:
			return nil, err
		}

		list = append(list, found...)
	}
	return list, nil
}

// withdrawConsent withdraws a consent of a person, who is named by a lead or by an address.
type withdrawConsent struct{ purpose string }

func (cmd *withdrawConsent) flags(f *pflag.FlagSet) {
	textVar(f, &cmd.purpose, "purpose", "the `purpose` of the consent, such as marketing")
	_ = cobra.MarkFlagRequired(f, "purpose")
}

func (cmd *withdrawConsent) run(ctx context.Context, c *call) error {
	email, subject := c.args[0], ""
	if !crm.Addressable(email) {
		found, err := c.named(ctx, email)
		if err != nil {
			return err
		}
		email, subject = found[0].Contact.Email, found[0].ID
	}

	entry := c.entry(schema.AuditActionWithdrawn, subject, map[string]any{"purpose": cmd.purpose})
	w, err := c.rules.Withdraw(ctx, crm.Address(email), cmd.purpose, entry)
	if w.Leads > 0 {
		c.say("withdrawn in %d leads: %s", w.Leads, c.service("tells the CMS and the CRM"))
	}
	if w.Deleted > 0 {
		c.say("withdrawn for %d leads that retention had deleted: nothing is told to the CMS and the CRM,\n"+
			"change what they have of these leads there by hand", w.Deleted)
	}
	if w.Sessions > 0 {
		c.say("erased what was typed into %d sessions", w.Sessions)
	}
	return err
}
