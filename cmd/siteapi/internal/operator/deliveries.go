package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
)

// deliveries is `siteapi deliveries`.
func (d Deps) deliveries() *cobra.Command {
	c := group("deliveries", "show, retry and verify deliveries to the CMS, the CRM and the webhook",
		"  siteapi deliveries list\n  siteapi deliveries retry --all",
		d.databaseCommand(&cobra.Command{
			Use: "list", Short: "list deliveries, oldest first; without --state those that have not arrived",
			Example: "  siteapi deliveries list --state failed,retrying --target crm\n  siteapi deliveries list --state all --json",
		}, listDeliveries, stateFlag(), targetFlag(), jsonFlag(), limitFlag(100),
			textFlag("submission", "only those of the `lead` with this id or PDF reference, in every state")),
		d.databaseCommand(&cobra.Command{
			Use: "retry <delivery> … | --all", Short: "try deliveries now, failed ones too",
			Long:    "One that has arrived is sent again, which changes nothing at the target.",
			Example: "  siteapi deliveries retry 4711 4712\n  siteapi deliveries retry --all --target crm", Args: cobra.ArbitraryArgs,
		}, retryDeliveries, stateFlag(), targetFlag(), boolFlag("all", "all that have not arrived, or those that --state and --target leave")),
		d.databaseCommand(&cobra.Command{
			Use: "resend <lead's id or PDF reference> --target cms|crm|webhook", Short: "deliver a lead to a target once more",
			Long:    "For one whose delivery is forgotten: those that arrived are, after 30 days.",
			Example: "  siteapi deliveries resend LR4LB5AK --target crm", Args: cobra.ArbitraryArgs,
		}, resendDeliveries, targetFlag()),
		d.command(&cobra.Command{
			Use: "verify", Short: "compare stored leads with the CMS and the CRM; exit code 2: something is missing",
			Example: "  siteapi deliveries verify --since 30d\n  siteapi deliveries verify --fix",
		}, upstreamSettings(), verifyDeliveries, sinceFlag("leads submitted"), targetFlag(), jsonFlag(), boolFlag("fix", "send again what is missing")),
	)
	c.Long = "A running service makes the deliveries; these commands show them and change what it finds to do. They print\nnothing personal."
	return c
}

func listDeliveries(ctx context.Context, c *call) (err error) {
	f := queue.Filter{States: leads.Undelivered()}
	if id := c.text("submission"); id != "" {
		f = queue.Filter{Submissions: []string{id}}
		if l, err := c.rules.Find(ctx, id); err == nil {
			f.Submissions[0] = l.ID
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	if f.States, err = c.states(f.States); err != nil {
		return err
	}
	if f.Target, err = c.target(); err != nil {
		return err
	}
	if f.Limit, err = c.limit(); err != nil {
		return err
	}
	list, err := c.db.Queue.List(ctx, f)
	switch {
	case err != nil:
		return err
	case c.on("json"):
		return printJSON(c.out, append([]queue.Delivery{}, list...))
	case len(list) == 0:
		c.say("no deliveries")
		return nil
	}
	header := table.Row{"ID", "TARGET", "STATE", "ATTEMPTS", "AGE", "NEXT", "SUBMISSION", "LAST ERROR"}
	printTable(c.out, header, list, func(d queue.Delivery) table.Row {
		next, last := "", d.Paused
		switch {
		case d.State == queue.Running:
			next = "now"
		case !d.NextAt.IsZero():
			next = "in " + span(time.Until(d.NextAt))
		}
		if last == "" && len(d.Errors) > 0 && d.State != queue.Delivered {
			last = d.Errors[len(d.Errors)-1].Error
		}
		return table.Row{d.ID, d.Target, d.State, d.Attempts, span(time.Since(d.CreatedAt)), next, d.SubmissionID, last}
	})
	if len(list) == f.Limit {
		c.say("(the %d oldest: --limit 0 lists all)", f.Limit)
	}
	return nil
}

func retryDeliveries(ctx context.Context, c *call) error {
	if c.on("all") == (len(c.args) > 0) {
		return errors.New("name deliveries, or say --all: see `siteapi deliveries retry --help`")
	}
	if c.on("all") {
		return c.retryAll(ctx)
	}
	var errs []error
	for _, text := range c.args {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			err = fmt.Errorf("%q is not the number of a delivery: see the first column of `siteapi deliveries list`", text)
		} else if err = c.db.Queue.Retry(ctx, id); errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("there is no delivery %d: `siteapi deliveries list --state all` lists them", id)
		}
		if errs = append(errs, err); err == nil {
			c.say("delivery %d is due now: the running service tries it", id)
		}
	}
	return errors.Join(errs...)
}

// retryAll makes all deliveries due that have not arrived.
func (c *call) retryAll(ctx context.Context) (err error) {
	f := queue.Filter{}
	if f.States, err = c.states([]queue.State{queue.Pending, queue.Retrying, queue.Failed}); err != nil {
		return err
	}
	if f.Target, err = c.target(); err != nil {
		return err
	}
	list, err := c.db.Queue.List(ctx, f)
	if err != nil {
		return err
	}
	due := 0
	for _, d := range list {
		if d.State == queue.Delivered {
			continue // `siteapi deliveries verify --fix` sends what a target has lost
		}
		switch err := c.db.Queue.Retry(ctx, d.ID); {
		case err == nil:
			due++
		case !errors.Is(err, store.ErrNotFound): // it arrived meanwhile
			return fmt.Errorf("after %d of %d deliveries: %w", due, len(list), err)
		}
	}
	c.say("%d deliveries are due now: the running service tries them", due)
	return nil
}

func resendDeliveries(ctx context.Context, c *call) error {
	to, err := c.target()
	if err != nil {
		return err
	}
	if len(c.args) != 1 || to == "" {
		return errors.New("name one lead and its target: siteapi deliveries resend <id or PDF reference> --target crm")
	}
	found, err := c.findLeads(ctx, c.args[0])
	if err != nil {
		return err
	}
	for _, l := range found {
		if err := c.rules.Resend(ctx, l, to); err != nil {
			return fmt.Errorf("delivering %s: %w", l.ID, err)
		}
		c.say("%s is due for the %s: the running service delivers it", l.ID, to)
	}
	return nil
}

func verifyDeliveries(ctx context.Context, c *call) error {
	only, err := c.target()
	if err != nil {
		return err
	}
	since, err := c.moment("since")
	if err != nil {
		return err
	}
	var v *leads.Verification
	err = c.withUpstreams(ctx, func() error {
		v, err = c.rules.Verify(ctx, since, only, c.on("fix"))
		return err
	})
	if err != nil {
		return err
	}
	if c.on("json") {
		return errors.Join(printJSON(c.out, v), verified(v, c.on("fix")))
	}
	c.say("%d submissions compared", v.Submissions)
	header := table.Row{"TARGET", "PRESENT", "UNDER WAY", "MISSING", "SENT AGAIN", "ERROR"}
	printTable(c.out, header, v.Targets, func(t *leads.VerifiedTarget) table.Row {
		return table.Row{t.Target, t.Present, t.UnderWay, t.Missing, t.Resent, t.Error}
	})
	return verified(v, c.on("fix"))
}

// verified is nil if nothing is missing, a finding if something is, and an error if a target could not be asked.
func verified(v *leads.Verification, fix bool) error {
	var errs []error
	missing := 0
	for _, t := range v.Targets {
		missing += t.Missing
		if t.Error != "" {
			errs = append(errs, fmt.Errorf("the %s could not be asked: %s", t.Target, t.Error))
		}
	}
	switch {
	case len(errs) > 0:
		return errors.Join(errs...)
	case missing == 0:
		return nil
	case fix:
		return finding(fmt.Sprintf("%d deliveries were missing: they are sent again while the service runs; verify again later", missing))
	}
	return finding(fmt.Sprintf("%d deliveries are missing: `siteapi deliveries verify --fix` sends them again", missing))
}
