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

// deliveries returns the filter for --state and --target. Without --state it selects the
// given states, or all if none is given.
func (c *call) deliveries(states ...queue.State) queue.Filter {
	if len(c.states) > 0 {
		states = c.states
	}
	return queue.Filter{States: states, Target: queue.Target(c.texts["target"])}
}

func listDeliveries(ctx context.Context, c *call) (err error) {
	f := c.deliveries(leads.Undelivered()...)
	if id := c.texts["submission"]; id != "" {
		f = c.deliveries()
		f.Leads = []string{id}
		if l, err := c.rules.Find(ctx, id); err == nil {
			f.Leads[0] = l.ID
		}
	}

	f.Limit = c.limit()
	list, err := c.db.Queue.List(ctx, f)
	if err != nil {
		return err
	}

	return c.printResult(append([]queue.Delivery{}, list...), func() {
		header := table.Row{"ID", "TARGET", "STATE", "ATTEMPTS", "AGE", "NEXT", "SUBMISSION", "LAST ERROR"}
		printTable(c, "deliveries", list, header, func(d queue.Delivery) table.Row {
			next, last := "", d.Paused
			switch {
			case d.State == queue.Running:
				next = "now"
			case !d.NextAt.IsZero():
				next = "in " + seconds(time.Until(d.NextAt))
			}
			if last == "" {
				last = d.Reason
			}
			if last == "" && len(d.Errors) > 0 && d.State != queue.Delivered {
				last = d.Errors[len(d.Errors)-1].Error
			}

			return table.Row{
				d.ID, d.Target, d.State, d.Attempts, seconds(time.Since(d.CreatedAt)),
				next, d.LeadID, last,
			}
		})

		if n := len(list); n > 0 && n == f.Limit {
			c.say("(the %d oldest: --limit 0 lists all)", f.Limit)
		}
	})
}

func retryDeliveries(ctx context.Context, c *call) error {
	var ids []int64
	for _, text := range c.args {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not the number of a delivery: "+
				"see the first column of `siteapi deliveries list`", text)
		}
		ids = append(ids, id)
	}

	if c.on("all") {
		list, err := c.db.Queue.List(ctx, c.deliveries(queue.Pending, queue.Retrying, queue.Failed))
		if err != nil {
			return err
		}
		for _, d := range list {
			// `siteapi deliveries verify --fix` resends the deliveries that a target has
			// lost.
			if d.State != queue.Delivered {
				ids = append(ids, d.ID)
			}
		}
	}

	due, errs := 0, error(nil)
	for _, id := range ids {
		switch err := c.db.Queue.Retry(ctx, id); {
		case err == nil:
			due++
		case !c.on("all") || !errors.Is(err, store.ErrNotFound):
			// With --all, a delivery that is not found was erased in the meantime.
			errs = errors.Join(errs, fmt.Errorf("%w (`siteapi deliveries list --state all` lists them)", err))
		}
	}

	c.say("%d deliveries are due now: the running service tries them", due)
	return errs
}

func resendDeliveries(ctx context.Context, c *call) error {
	to := queue.Target(c.texts["target"])
	if to == queue.Webhook && c.settings.LeadWebhookURL == "" {
		return errors.New("there is no webhook: set LEAD_WEBHOOK_URL first")
	}

	found, err := c.named(ctx)
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
	if err := c.openAll(ctx); err != nil {
		return err
	}

	v, err := c.rules.Verify(ctx, c.times["since"], queue.Target(c.texts["target"]), c.on("fix"))
	if err != nil {
		return err
	}

	err = c.printResult(v, func() {
		c.say("%d submissions compared", v.Leads)
		header := table.Row{"TARGET", "PRESENT", "UNDER WAY", "MISSING", "SENT AGAIN", "NOT SENT", "ERROR"}
		printTable(c, "targets", v.Targets, header, func(t *leads.VerifiedTarget) table.Row {
			return table.Row{t.Target, t.Present, t.UnderWay, t.Missing, t.Resent, t.NotSent, t.Error}
		})
	})

	missing := 0
	for _, t := range v.Targets {
		if !t.Target.Mail() { // failed mails are retried like other deliveries, but never by --fix
			missing += t.Missing
		}
		if t.Error != "" {
			err = errors.Join(err, fmt.Errorf("the %s could not be asked: %s", t.Target, t.Error))
		}
	}

	switch {
	case err != nil || missing == 0:
		return err
	case c.on("fix"):
		return finding(fmt.Sprintf("%d deliveries were missing: "+
			"they are sent while the service runs; verify again later", missing))
	}
	return finding(fmt.Sprintf("%d deliveries are missing: "+
		"`siteapi deliveries verify --fix` sends them again", missing))
}

// seconds formats a duration without fractions of a second. A negative one, of something
// overdue, becomes 0s.
func seconds(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
