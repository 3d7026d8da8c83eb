package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
)

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
	f.States, f.Target, f.Limit = c.states(f.States), queue.Target(c.text("target")), c.limit()
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
			next = "in " + seconds(time.Until(d.NextAt))
		}
		if last == "" && len(d.Errors) > 0 && d.State != queue.Delivered {
			last = d.Errors[len(d.Errors)-1].Error
		}
		return table.Row{d.ID, d.Target, d.State, d.Attempts, seconds(time.Since(d.CreatedAt)), next, d.SubmissionID, last}
	})
	if len(list) == f.Limit {
		c.say("(the %d oldest: --limit 0 lists all)", f.Limit)
	}
	return nil
}

func retryDeliveries(ctx context.Context, c *call) error {
	switch {
	case c.on("all") == (len(c.args) > 0):
		return errors.New("name deliveries, or say --all: see `siteapi deliveries retry --help`")
	case c.on("all"):
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
func (c *call) retryAll(ctx context.Context) error {
	unfinished := []queue.State{queue.Pending, queue.Retrying, queue.Failed}
	list, err := c.db.Queue.List(ctx, queue.Filter{States: c.states(unfinished), Target: queue.Target(c.text("target"))})
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
	if err == nil {
		c.say("%d deliveries are due now: the running service tries them", due)
	}
	return err
}

func resendDeliveries(ctx context.Context, c *call) error {
	to := queue.Target(c.text("target"))
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

func verifyDeliveries(ctx context.Context, c *call) (err error) {
	var v *leads.Verification
	err = c.withUpstreams(ctx, func() error {
		v, err = c.rules.Verify(ctx, c.time("since"), queue.Target(c.text("target")), c.on("fix"))
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

// seconds writes a duration without fractions of a second; what is overdue is due now.
func seconds(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
