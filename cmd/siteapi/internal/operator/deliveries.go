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

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

func (d Drivers) deliveriesCommands() *cobra.Command {
	return group("deliveries", "show, retry and verify deliveries to the CMS, the CRM and the webhook; "+
		"nothing personal is printed",
		d.onDatabase("list", "list deliveries, oldest first; without --state those that have not arrived",
			&listDeliveries{},
			"siteapi deliveries list",
			"siteapi deliveries list --submission LR4LB5AK"),

		d.onDatabase("retry <delivery> … | --all",
			"have the running service try deliveries now, failed ones too", &retryDeliveries{},
			"siteapi deliveries retry 4711",
			"siteapi deliveries retry --all --target crm"),

		d.onDatabase("resend <id or PDF reference> … --target cms|crm|webhook",
			"deliver leads to a target once more",
			&resendDeliveries{},
			"siteapi deliveries resend LR4LB5AK --target crm"),

		d.command("verify",
			"compare stored leads with the CMS and the CRM; exit code 2: something is missing",
			upstreamSettings(), &verifyDeliveries{},
			"siteapi deliveries verify",
			"siteapi deliveries verify --fix"),
	)
}

// deliveryFilter narrows a selection of deliveries.
type deliveryFilter struct {
	states []lead.DeliveryState
	target lead.Target
}

func (d *deliveryFilter) flags(f *pflag.FlagSet) {
	statesVar(f, &d.states)
	targetVar(f, &d.target)
}

func targetVar(f *pflag.FlagSet, target *lead.Target) {
	enumVar(f, target, "target", "only this `target`", lead.Targets())
}

// filter returns the filter for --state and --target. Without --state it selects the
// given states, or all if none is given.
func (d *deliveryFilter) filter(states ...lead.DeliveryState) store.DeliveryFilter {
	if len(d.states) > 0 {
		states = d.states
	}
	return store.DeliveryFilter{States: states, Target: d.target}
}

type listDeliveries struct {
	deliveryFilter
	lead   string
	limit  limit
	result result
}

func (cmd *listDeliveries) flags(f *pflag.FlagSet) {
	cmd.deliveryFilter.flags(f)
	textVar(f, &cmd.lead, "submission",
		"only those of the `lead` with this id or PDF reference, in every state")
	cmd.limit.flags(f)
	cmd.result.flags(f)
}

func (cmd *listDeliveries) run(ctx context.Context, c *call) (err error) {
	f := cmd.filter(lead.UndeliveredStates()...)
	if id := cmd.lead; id != "" {
		f = cmd.filter()
		f.Leads = []string{id}
		if l, err := c.rules.Find(ctx, id); err == nil {
			f.Leads[0] = l.ID
		}
	}

	f.Limit = cmd.limit.of(cmd.result)
	list, err := c.db.Tables.ListDeliveries(ctx, f)
	if err != nil {
		return err
	}

	detail := map[string]any{"count": len(list), "of": "deliveries"}
	if err := c.record(ctx, c.entry(schema.AuditActionListed, "", detail)); err != nil {
		return err
	}
	return cmd.result.print(c, append([]lead.Delivery{}, list...), func() {
		header := table.Row{"ID", "TARGET", "STATE", "ATTEMPTS", "AGE", "NEXT", "SUBMISSION", "LAST ERROR"}
		printTable(c, "deliveries", list, header, func(d lead.Delivery) table.Row {
			next := ""
			switch {
			case d.State == lead.Running:
				next = "now"
			case !d.NextAt.IsZero():
				next = "in " + seconds(time.Until(d.NextAt))
			}

			return table.Row{
				d.ID, d.Target, d.State, d.Attempts, seconds(time.Since(d.CreatedAt)),
				next, d.LeadID, d.Why(),
			}
		})

		if n := len(list); n > 0 && n == f.Limit {
			c.say("(the %d oldest: --limit 0 lists all)", f.Limit)
		}
	})
}

type retryDeliveries struct {
	deliveryFilter
	all bool
}

func (cmd *retryDeliveries) flags(f *pflag.FlagSet) {
	cmd.deliveryFilter.flags(f)
	f.BoolVar(&cmd.all, "all", false, "all that have not arrived, or those that --state and --target leave")
}

func (cmd *retryDeliveries) run(ctx context.Context, c *call) error {
	chosen, err := cmd.chosen(ctx, c)
	if err != nil {
		return err
	}

	due, errs := 0, error(nil)
	for _, d := range chosen {
		if err := c.recordRetried(ctx, d); err != nil {
			return err
		}
		switch err := c.db.Tables.RetryDelivery(ctx, d.ID); {
		case err == nil:
			due++
		case !cmd.all || !errors.Is(err, store.ErrNotFound):
			// With --all, a delivery that is not found was erased in the meantime.
			errs = errors.Join(errs, fmt.Errorf("%w (`siteapi deliveries list --state all` lists them)", err))
		}
	}

	c.say("%d deliveries are due now: %s", due, c.service("tries them"))
	return errs
}

// chosen returns the deliveries that the arguments name, or that --all stands for. One that
// does not exist has its number only.
func (cmd *retryDeliveries) chosen(ctx context.Context, c *call) (chosen []lead.Delivery, err error) {
	for _, text := range c.args {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 1 {
			return nil, fmt.Errorf("%q is not the number of a delivery: "+
				"see the first column of `siteapi deliveries list`", text)
		}

		found, err := c.db.Tables.ListDeliveries(ctx, store.DeliveryFilter{ID: id, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			found = []lead.Delivery{{ID: id}}
		}
		chosen = append(chosen, found...)
	}
	if !cmd.all {
		return chosen, nil
	}

	list, err := c.db.Tables.ListDeliveries(ctx, cmd.filter(lead.Pending, lead.Retrying, lead.Failed))
	for _, d := range list {
		// `siteapi deliveries verify --fix` resends the deliveries that a target has lost.
		if d.State != lead.Delivered {
			chosen = append(chosen, d)
		}
	}
	return chosen, err
}

type resendDeliveries struct {
	target lead.Target
}

func (cmd *resendDeliveries) flags(f *pflag.FlagSet) {
	targetVar(f, &cmd.target)
	_ = cobra.MarkFlagRequired(f, "target")
}

func (cmd *resendDeliveries) run(ctx context.Context, c *call) error {
	to := cmd.target
	if to == lead.Webhook && c.settings.LeadWebhookURL == "" {
		return errors.New("there is no webhook: set LEAD_WEBHOOK_URL first")
	}

	found, err := c.named(ctx, c.args...)
	if err != nil {
		return err
	}

	for _, l := range found {
		err := c.rules.CanResend(l, to)
		if err == nil {
			err = c.recordResent(ctx, l.ID, to)
		}
		if err == nil {
			err = c.rules.Resend(ctx, l, to)
		}
		if err != nil {
			return fmt.Errorf("delivering %s: %w", l.ID, err)
		}
		c.say("%s is due for the %s: %s", l.ID, to, c.service("delivers it"))
	}
	return nil
}

// recordRetried stores that a delivery is tried by hand, if it and its lead exist.
func (c *call) recordRetried(ctx context.Context, d lead.Delivery) error {
	_, err := c.db.Quotes.Lead(ctx, d.LeadID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}

	detail := map[string]any{"target": d.Target, "delivery": d.ID}
	return c.record(ctx, c.entry(schema.AuditActionRetried, d.LeadID, detail))
}

// recordResent stores that a lead is sent to a target again.
func (c *call) recordResent(ctx context.Context, leadID string, to lead.Target) error {
	return c.record(ctx, c.entry(schema.AuditActionResent, leadID, map[string]any{"target": to}))
}

type verifyDeliveries struct {
	since  time.Time
	target lead.Target
	fix    bool
	result result
}

func (cmd *verifyDeliveries) flags(f *pflag.FlagSet) {
	timeVar(f, &cmd.since, "since", "only leads submitted since that")
	targetVar(f, &cmd.target)
	f.BoolVar(&cmd.fix, "fix", false, "send again what is missing")
	cmd.result.flags(f)
}

func (cmd *verifyDeliveries) run(ctx context.Context, c *call) error {
	if err := c.openAll(ctx); err != nil {
		return err
	}
	if err := c.sameSystems(ctx, "CMS_DRIVER", "SANITY_PROJECT_ID", "SANITY_DATASET", "CRM_DRIVER"); err != nil {
		return err
	}

	var fix leads.Fix
	if cmd.fix {
		fix = c.recordResent
	}
	v, err := c.rules.Verify(ctx, cmd.since, cmd.target, fix)
	if err != nil {
		return err
	}

	err = cmd.result.print(c, v, func() {
		c.say("%d submissions compared", v.Leads)
		header := table.Row{"TARGET", "PRESENT", "UNDER WAY", "MISSING", "SENT AGAIN", "NOT SENT", "ERROR"}
		printTable(c, "targets", v.Targets, header, func(t *leads.VerifiedTarget) table.Row {
			return table.Row{t.Target, t.Present, t.UnderWay, t.Missing, t.Resent, t.NotSent, t.Error}
		})
	})

	missing := 0
	for _, t := range v.Targets {
		if t.Asked() { // failed deliveries to others are retried like other deliveries, but never by --fix
			missing += t.Missing
		}
		if t.Error != "" {
			err = errors.Join(err, fmt.Errorf("the %s could not be asked: %s", t.Target, t.Error))
		}
	}

	switch {
	case err != nil || missing == 0:
		return err
	case cmd.fix:
		return finding(fmt.Sprintf("%d deliveries were missing: "+
			"they are sent while the service runs; verify again later", missing))
	}
	return finding(fmt.Sprintf("%d deliveries are missing: "+
		"`siteapi deliveries verify --fix` sends them again", missing))
}

// seconds formats a duration without fractions of a second. A negative one, of something
// overdue, becomes 0s.
func seconds(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
