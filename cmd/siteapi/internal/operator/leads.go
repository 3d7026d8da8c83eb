package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
	"siteapi/integrations/crm"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

// leadFlags narrow a listing of leads.
func leadFlags() option {
	return options(
		textFlag("search", "only leads in which a word of the name, company or message, the e-mail\n"+
			"address, its domain or the PDF reference begins with each of these\n"+
			"`words`, or the telephone number does"),
		textFlag("email", "only leads of this `address`, in any letter case"),
		enumFlag("state", "only leads in this `state`", schema.AllLeadState),
		periodFlags("leads submitted"),
	)
}

// filtered returns the leads that match these flags and a filter, with their deliveries,
// and whether there are more.
func (c *call) filtered(ctx context.Context, f store.Filter) (list []*schema.Lead, more bool, err error) {
	f.Email, f.Search, f.Since, f.Until =
		c.texts["email"], c.texts["search"], c.times["since"], c.times["until"]
	if list, more, err = c.rules.Leads(ctx, f, schema.LeadState(c.texts["state"])); err != nil {
		return nil, false, err
	}
	err = c.rules.AddDeliveries(ctx, list...)
	withoutCycles(list)
	return list, more, err
}

// withoutCycles removes the link from each delivery to its lead, with which it could not
// be printed.
func withoutCycles(list []*schema.Lead) {
	for _, l := range list {
		for _, delivery := range l.Deliveries {
			delivery.Lead = nil
		}
	}
}

func listLeads(ctx context.Context, c *call) error {
	list, more, err := c.filtered(ctx, store.Filter{Newest: true, Limit: c.limit()})
	if err != nil {
		return err
	}

	return c.printResult(list, func() {
		header := table.Row{
			"REFERENCE", "SUBMITTED", "STATE", "ESTIMATE", "NAME", "E-MAIL", "PROJECT", "LOCALE",
		}
		printTable(c, "leads", list, header, func(l *schema.Lead) table.Row {
			return table.Row{
				l.Reference,
				l.SubmittedAt.Format(time.DateTime),
				word(l.State),
				amount(l.Estimate.Min) + "-" + amount(l.Estimate.Max) + " " + l.Estimate.Currency,
				printable(l.Contact.FirstName + " " + l.Contact.LastName),
				printable(l.Contact.Email),
				l.Selections.ProjectType,
				orEmpty(l.Locale),
			}
		})

		if more {
			c.say("(the %d newest: --limit 0 lists all)", len(list))
		}
	})
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func orEmpty[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// named returns the leads that the arguments name by id, PDF reference or e-mail address,
// with their deliveries.
func (c *call) named(ctx context.Context) (list []*schema.Lead, err error) {
	for _, name := range c.args {
		found := make([]*schema.Lead, 1)
		if crm.Addressable(name) {
			found, _, err = c.rules.Leads(ctx, store.Filter{Email: crm.Address(name)}, "")
			err = errors.Join(err, c.rules.AddDeliveries(ctx, found...))
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

func showLeads(ctx context.Context, c *call) error {
	found, err := c.named(ctx)
	if err != nil {
		return err
	}

	withoutCycles(found)
	return c.printResult(found, func() {
		for _, l := range found {
			printFields(c.out, l)
			c.say("")
		}
	})
}

// decide returns the action that releases or rejects the named leads, or all that are in
// review.
func decide(done string, do func(a store.Archive, ctx context.Context, id string) (bool, error)) action {
	return func(ctx context.Context, c *call) error {
		list, err := c.named(ctx)
		if c.on("all") {
			list, _, err = c.rules.Leads(ctx, store.Filter{}, schema.LeadStateInReview)
		}
		if err != nil {
			return err
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

func exportLeads(ctx context.Context, c *call) error {
	return c.writeOutput(func(w io.Writer) (string, error) {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)

		write := func(l *schema.Lead) error { return encoder.Encode(l) }
		if c.texts["format"] != "ndjson" {
			write = leads.CSV(w, true)
		}

		n, f := 0, store.Filter{Limit: 500} // leads that are held in memory at a time
		for more := true; more; {
			var page []*schema.Lead
			var err error
			if page, more, err = c.filtered(ctx, f); err != nil {
				return "", err
			}

			for _, l := range page {
				if err := write(l); err != nil {
					return "", err
				}
				f.After = &store.Position{SubmittedAt: l.SubmittedAt, ID: l.ID}
			}
			n += len(page)
		}

		return fmt.Sprintf("%d leads", n), nil
	})
}

func eraseLeads(ctx context.Context, c *call) error {
	email, err := c.address()
	if err != nil {
		return err
	}

	idle := c.databaseIdle(c.settings) // asked before this process has the database open itself
	if err := c.openAll(ctx); err != nil {
		return err
	}

	c.rules.ClearPDFs = func(ctx context.Context, pattern cache.Pattern) (int, error) {
		if c.settings.CacheURL.Scheme == "memory" {
			return c.clearMemory(ctx, pattern, idle)
		}

		shared, err := c.OpenCache(ctx, c.settings)
		if err != nil {
			return 0, err
		}

		n, err := shared.Clear(ctx, pattern)
		return n, errors.Join(err, shared.Close())
	}

	var receipt struct {
		*schema.ErasureReceipt
		FinishedAt time.Time `json:"finishedAt"`
	}

	erase := func(w io.Writer) (err error) {
		if receipt.ErasureReceipt, err = c.rules.Erase(ctx, email, !c.on("yes")); err != nil {
			return err
		}

		receipt.FinishedAt = time.Now().UTC().Truncate(time.Second)
		return printJSON(w, receipt)
	}

	if path := c.texts["receipt"]; path != "" {
		err = writeFile(path, true, erase) // nothing is erased unless the file can be created
	} else {
		err = erase(io.Discard)
	}

	erased := receipt.ErasureReceipt
	if erased == nil {
		return err
	}

	return errors.Join(err, c.printResult(receipt, func() { printErasure(c, erased) }), outcome(erased))
}

// address returns the value of --email. Errors don't repeat it: even a malformed address
// may be personal.
func (c *call) address() (string, error) {
	email := c.texts["email"]
	if email == "-" {
		if _, err := fmt.Scanln(&email); err != nil {
			return "", fmt.Errorf("--email: must be one e-mail address on standard input: %w", err)
		}
	}

	if email = crm.Address(email); !crm.Addressable(email) || strings.ContainsAny(email, " \t,;") {
		return "", errors.New("--email: must be one e-mail address")
	}

	return email, nil
}

// OutOfReach names the copies of a lead that an erasure leaves, with these settings.
func OutOfReach(s *config.Settings) []string {
	list := []string{
		"backups and folders before-restore-…: they keep it until they are removed; " +
			"after a restore, erase again",
		"copies that people made: exports, downloaded PDFs, e-mails",
	}

	add := func(setUp bool, text string) {
		if setUp {
			list = append(list, text)
		}
	}
	add(s.LeadWebhookURL != "", "what the receiver at LEAD_WEBHOOK_URL keeps")
	add(s.CMSDriver != "file", "the history of the CMS")
	add(s.DatabaseURL != nil, "the removed rows of PostgreSQL until the next VACUUM, and its archived WAL")
	add(s.DatabaseURL != nil && s.CacheURL.Scheme == "memory",
		"PDFs in the memory of other instances, for an hour at most")
	add(s.SMTPURL != nil, "mails that were sent, in the mailboxes of the visitor and of SALES_MAIL_TO")
	return list
}

func printErasure(c *call, r *schema.ErasureReceipt) {
	header := table.Row{"PLACE", "WHAT", "FOUND", "ERASED", "STATE", "DETAIL"}
	printTable(c, "places", r.Places, header, func(p *schema.ErasurePlace) table.Row {
		found := "?"
		if p.Found != nil {
			found = strconv.Itoa(*p.Found)
		}

		return table.Row{p.Place, p.Unit, found, p.Erased, p.State, orEmpty(p.Detail)}
	})

	if r.Complete {
		c.say("complete: nothing is left in these places")
	}
	c.say("out of reach:\n  %s", strings.Join(r.Remains, "\n  "))
}

// outcome returns nil if everything was erased, or if there was nothing to erase.
func outcome(r *schema.ErasureReceipt) error {
	in := func(state string) bool {
		return slices.ContainsFunc(r.Places, func(p *schema.ErasurePlace) bool { return p.State == state })
	}

	switch {
	case in("failed"):
		return errors.New("not every place could be searched and erased: " +
			"run the command again when what failed can be reached")
	case in("found"):
		return finding("nothing was erased: add --yes to erase it")
	}
	return nil
}

// clearMemory clears PDFs from the memory of the running service. If the database is
// idle, no service is running, and there are none.
func (c *call) clearMemory(ctx context.Context, pattern cache.Pattern, idle bool) (int, error) {
	const advice = "PDFs stay in the memory of a running service for an hour: " +
		"add --server, or restart the service"

	address := c.server() + "/api/cache/clear?" + url.Values{"pattern": {string(pattern)}}.Encode()
	resp, err := ask(ctx, http.MethodPost, address, first(c.settings.CacheTokens))

	if _, dialing := errors.AsType[*net.OpError](err); dialing && idle {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the service at %s does not answer: %w (%s)", c.server(), err, advice)
	}

	var answer struct{ Cleared *int }
	if json.Unmarshal(resp.Body(), &answer) != nil || answer.Cleared == nil {
		return 0, fmt.Errorf("the service at %s answers %s to CACHE_API_TOKEN (%s)",
			c.server(), resp.Status(), advice)
	}

	return *answer.Cleared, nil
}

func printFunnel(ctx context.Context, c *call) error {
	var locale *schema.Locale
	if l := schema.Locale(c.texts["locale"]); l != "" {
		locale = &l
	}

	f, err := c.rules.Funnel(ctx, c.times["since"], c.times["until"], locale)
	if err != nil {
		return err
	}

	return c.printResult(f, func() {
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
