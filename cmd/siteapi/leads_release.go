package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/store"
)

// leadsRelease is `siteapi leads release`: what was held for review goes on its way to
// the CMS and the CRM.
func leadsRelease(o operator) *cli.Command {
	return &cli.Command{
		Name: "release", Usage: "deliver leads that were held for review", ArgsUsage: "<submission> … | --all",
		Description: "   siteapi leads list --held\n   siteapi leads release k3jd…",
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "all that are held"}},
		Action:      o.withDatabase(o.releaseLeads),
	}
}

func (o operator) releaseLeads(ctx context.Context, c *cli.Command, d *database) error {
	ids := c.Args().Slice()
	switch all := c.Bool("all"); {
	case all && len(ids) > 0:
		return errors.New("name submissions or say --all, not both")
	case !all && len(ids) == 0:
		return errors.New("name submissions, or say --all: `siteapi leads list --held` lists them")
	case all:
		for s, err := range d.archive.Submissions(ctx, store.Filter{InReview: true}) {
			if err != nil {
				return fmt.Errorf("looking for held leads: %w", err)
			}
			ids = append(ids, s.ID)
		}
	}
	var errs []error
	released := 0
	for _, id := range ids {
		ok, err := o.releaseLead(ctx, d.archive, id)
		if ok {
			released++
		}
		errs = append(errs, err)
	}
	if c.Bool("all") {
		_, err := fmt.Fprintf(o.out, "%d leads released\n", released)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o operator) releaseLead(ctx context.Context, archive store.Archive, id string) (bool, error) {
	released, err := archive.Release(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, fmt.Errorf("there is no submission %s: `siteapi leads list --held` lists those that are held", id)
	case err != nil:
		return false, err
	case !released:
		_, err := fmt.Fprintf(o.out, "%s is not held: `siteapi deliveries show %s` says where it is\n", id, id)
		return false, err
	}
	_, err = fmt.Fprintf(o.out, "%s is released: the running service delivers it within a second\n", id)
	return true, err
}
