package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/leads"
)

// deliveries is `siteapi deliveries`. A running service makes the deliveries; the commands show them and
// change what it finds to do. They print nothing personal.
func (d Deps) deliveries() *cli.Command {
	state := &cli.StringSliceFlag{Name: "state", Usage: "only these states: " + words(queue.States()) + ", all; several with commas"}
	target := &cli.StringFlag{Name: "target", Usage: "cms, crm or webhook"}
	return &cli.Command{
		Name: "deliveries", Usage: "show, retry and verify deliveries to the CMS, the CRM and the webhook", Action: group,
		Description: "A running service makes the deliveries; these commands show them and change what it finds to do. They print\n" +
			"nothing personal.\n\n   siteapi deliveries list\n   siteapi deliveries retry --all",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list deliveries, oldest first; without --state those that have not arrived",
				Description: "   siteapi deliveries list\n   siteapi deliveries list --state failed,retrying --target crm\n" +
					"   siteapi deliveries list --state all --json",
				Flags: []cli.Flag{
					state, target, &cli.StringFlag{Name: "submission", Usage: "only those of the lead with this id or PDF reference, in every state"}, jsonFlag(), limitFlag(100),
				},
				Action: d.databaseAction(listDeliveries),
			},
			{
				Name: "retry", Usage: "try deliveries now, failed ones too", ArgsUsage: "<delivery> … | --all",
				Description: "One that has arrived is sent again, which changes nothing at the target.\n\n" +
					"   siteapi deliveries retry 4711 4712\n   siteapi deliveries retry --all --target crm",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "all", Usage: "all that have not arrived, or those that --state and --target leave"}, state, target,
				},
				Action: d.databaseAction(retryDeliveries),
			},
			{
				Name: "resend", Usage: "deliver a lead to a target once more", ArgsUsage: "<lead's id or PDF reference> --target cms|crm|webhook",
				Description: "For one whose delivery is forgotten: those that arrived are, after 30 days.\n\n" +
					"   siteapi deliveries resend LR4LB5AK --target crm",
				Flags:  []cli.Flag{target},
				Action: d.databaseAction(resendDeliveries),
			},
			{
				Name: "verify", Usage: "compare stored leads with the CMS and the CRM; exit code 2: something is missing",
				Description: "For now and then, and after a restore.\n\n   siteapi deliveries verify --since 30d\n   siteapi deliveries verify --fix",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "fix", Usage: "send again what is missing"}, sinceFlag("leads submitted"), target, jsonFlag()},
				Action:      d.action(upstreamSettings(), d.verify),
			},
		},
	}
}

func listDeliveries(ctx context.Context, c *cli.Command, db *Database) (err error) {
	f := queue.Filter{States: leads.Undelivered()}
	if id := c.String("submission"); id != "" {
		f = queue.Filter{Submissions: []string{id}}
		if l, err := db.rules().Find(ctx, id); err == nil {
			f.Submissions[0] = l.ID
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	if f.States, err = states(c, f.States); err != nil {
		return err
	}
	if f.Target, err = target(c); err != nil {
		return err
	}
	most, err := limit(c)
	if err != nil {
		return err
	}
	if most > 0 {
		f.Limit = most + 1 // one more, to know whether there are more
	}
	list, err := db.Queue.List(ctx, f)
	if err != nil {
		return err
	}
	more := most > 0 && len(list) > most
	if more {
		list = list[:most]
	}
	out := c.Root().Writer
	if c.Bool("json") {
		return printJSON(out, append([]queue.Delivery{}, list...))
	}
	printDeliveries(out, list)
	if more {
		_, _ = fmt.Fprintf(out, "(the %d oldest: --limit 0 lists all)\n", most)
	}
	return nil
}

// printDeliveries prints a line for each delivery.
func printDeliveries(out io.Writer, list []queue.Delivery) {
	if len(list) == 0 {
		_, _ = fmt.Fprintln(out, "no deliveries")
		return
	}
	t, now := newTable(out, "ID", "TARGET", "STATE", "ATTEMPTS", "AGE", "NEXT", "SUBMISSION", "LAST ERROR"), time.Now()
	for _, d := range list {
		next, last := "", ""
		switch {
		case d.State == queue.Running:
			next = "now"
		case !d.NextAt.IsZero():
			next = "in " + span(d.NextAt.Sub(now))
		}
		if len(d.Errors) > 0 && d.State != queue.Delivered {
			last = d.Errors[len(d.Errors)-1].Error
		}
		if d.Paused != "" {
			last = d.Paused
		}
		t.AppendRow([]any{d.ID, d.Target, d.State, d.Attempts, span(now.Sub(d.CreatedAt)), next, d.SubmissionID, last})
	}
	t.Render()
}

// retryDeliveries is `siteapi deliveries retry`.
func retryDeliveries(ctx context.Context, c *cli.Command, db *Database) error {
	if c.Bool("all") == c.Args().Present() {
		return errors.New("name deliveries, or say --all: see `siteapi deliveries retry --help`")
	}
	if c.Bool("all") {
		return retryAll(ctx, c, db.Queue)
	}
	var errs []error
	for _, text := range c.Args().Slice() {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			err = fmt.Errorf("%q is not the number of a delivery: see the first column of `siteapi deliveries list`", text)
		} else if err = db.Queue.Retry(ctx, id); errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("there is no delivery %d: `siteapi deliveries list --state all` lists them", id)
		}
		if err == nil {
			_, err = fmt.Fprintf(c.Root().Writer, "delivery %d is due now: the running service tries it\n", id)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// retryAll makes all deliveries due that have not arrived.
func retryAll(ctx context.Context, c *cli.Command, q *queue.Queue) (err error) {
	f := queue.Filter{}
	if f.States, err = states(c, []queue.State{queue.Pending, queue.Retrying, queue.Failed}); err != nil {
		return err
	}
	if f.Target, err = target(c); err != nil {
		return err
	}
	list, err := q.List(ctx, f)
	if err != nil {
		return err
	}
	due := 0
	for _, d := range list {
		if d.State == queue.Delivered {
			continue // `siteapi deliveries verify --fix` sends what a target has lost
		}
		switch err := q.Retry(ctx, d.ID); {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, queue.ErrUnderWay):
			continue // it arrived meanwhile, or another one is under way
		case err != nil:
			return fmt.Errorf("after %d of %d deliveries: %w", due, len(list), err)
		}
		due++
	}
	_, err = fmt.Fprintf(c.Root().Writer, "%d deliveries are due now: the running service tries them\n", due)
	return err
}

// resendDeliveries is `siteapi deliveries resend`.
func resendDeliveries(ctx context.Context, c *cli.Command, db *Database) error {
	to, err := target(c)
	if err != nil {
		return err
	}
	if c.Args().Len() != 1 || to == "" {
		return errors.New("name one lead and its target: siteapi deliveries resend <id or PDF reference> --target crm")
	}
	found, err := findLeads(ctx, db, c.Args().First())
	if err != nil {
		return err
	}
	for _, s := range found {
		if err := db.rules().Resend(ctx, s, to); err != nil {
			return fmt.Errorf("delivering %s: %w", s.ID, err)
		}
		_, _ = fmt.Fprintf(c.Root().Writer, "%s is due for the %s: the running service delivers it\n", s.ID, to)
	}
	return nil
}
