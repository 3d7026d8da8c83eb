package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/queue"
	"siteapi/integrations/store"
)

// retryDeliveries is `siteapi deliveries retry`: those named, or all that did not arrive.
func (o operator) retryDeliveries(ctx context.Context, c *cli.Command, d *database) error {
	switch {
	case c.Bool("all") && c.Args().Present():
		return errors.New("name deliveries or say --all, not both")
	case c.Bool("all"):
		return o.retryAll(ctx, c, d.queue)
	case !c.Args().Present():
		return errors.New("name deliveries, or say --all: see `siteapi deliveries retry --help`")
	case c.IsSet("state") || c.IsSet("target"):
		return errors.New("--state and --target go with --all")
	}
	var errs []error
	for _, text := range c.Args().Slice() {
		id, err := deliveryID(text)
		if err == nil {
			err = o.retryOne(ctx, d.queue, id)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o operator) retryOne(ctx context.Context, q *queue.Queue, id int64) error {
	list, err := q.List(ctx, queue.Filter{ID: id})
	if err != nil {
		return err
	}
	if len(list) > 0 && list[0].State == queue.Running {
		_, err := fmt.Fprintf(o.out, "delivery %d is being tried at this moment\n", id)
		return err
	}
	switch err := q.Retry(ctx, id); {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("there is no delivery %d: `siteapi deliveries list --state all` lists them", id)
	case errors.Is(err, queue.ErrUnderWay):
		return fmt.Errorf("another delivery of the same submission is on its way already, so %d stays as it is", id)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(o.out, "delivery %d is due now: the running service tries it within a second\n", id)
	return err
}

// retryAll makes everything due that did not arrive. What is being tried stays alone.
func (o operator) retryAll(ctx context.Context, c *cli.Command, q *queue.Queue) error {
	waiting := []queue.State{queue.Pending, queue.Retrying, queue.Failed}
	f := queue.Filter{}
	var err error
	if f.States, err = stateFlag(c, waiting); err != nil {
		return err
	}
	for _, s := range f.States {
		if s == queue.Delivered {
			return errors.New("--state delivered: what arrived is not sent again in bulk; `siteapi deliveries verify --fix` sends what a target has lost")
		}
	}
	if f.Target, err = targetFlag(c); err != nil {
		return err
	}
	list, err := q.List(ctx, f)
	if err != nil {
		return err
	}
	due, done := map[queue.Target]int{}, 0
	for _, d := range list {
		switch err := q.Retry(ctx, d.ID); {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, queue.ErrUnderWay):
			continue // it went, or another one is on its way
		case err != nil:
			return fmt.Errorf("after %d of %d: %w", done, len(list), err)
		}
		due[d.Target]++
		done++
	}
	if done == 0 {
		_, err := fmt.Fprintln(o.out, "nothing to retry")
		return err
	}
	_, err = fmt.Fprintf(o.out, "%d deliveries are due now (cms: %d, crm: %d): the running service tries them\n",
		done, due[queue.CMS], due[queue.CRM])
	return err
}
