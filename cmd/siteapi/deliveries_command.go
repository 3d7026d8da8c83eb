package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/queue"
)

// deliveriesCommand shows and mends the deliveries of leads to the CMS and the CRM. A
// running service does the work: these commands only change what it finds to do.
func deliveriesCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	state := &cli.StringSliceFlag{Name: "state", Usage: strings.Join(stateNames(), ", ") + " or all; several with commas"}
	target := &cli.StringFlag{Name: "target", Usage: "cms or crm"}
	asJSON := &cli.BoolFlag{Name: "json", Usage: "for other programs"}
	return &cli.Command{
		Name: "deliveries", Usage: "see and mend what is on its way to the CMS and the CRM", Action: group,
		Description: "A running service makes the deliveries: these commands show them and change what it finds to do. Nothing they\n" +
			"print is personal.\n\n   siteapi deliveries list\n   siteapi deliveries retry --all",
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "list deliveries, oldest first; without --state those that did not arrive yet",
				Description: "   siteapi deliveries list\n   siteapi deliveries list --state failed,retrying --target crm\n" +
					"   siteapi deliveries list --state all --json",
				Flags: []cli.Flag{
					state, target, asJSON,
					&cli.StringFlag{Name: "submission", Usage: "those of one submission, in every state"},
					&cli.IntFlag{Name: "limit", Usage: "how many at most, 0: all; with --json all unless it is given", Value: 100},
				},
				Action: o.withDatabase(o.listDeliveries),
			},
			{
				Name: "show", Usage: "show a delivery, or all of a submission, with every failed try", ArgsUsage: "<delivery or submission>",
				Description: "   siteapi deliveries show 4711",
				Flags:       []cli.Flag{asJSON},
				Action:      o.withDatabase(o.showDeliveries),
			},
			{
				Name: "retry", Usage: "have deliveries tried now, those too that failed for good", ArgsUsage: "<delivery> … | --all",
				Description: "What arrived already is sent again if it is named, which changes nothing at the target.\n\n" +
					"   siteapi deliveries retry 4711 4712\n   siteapi deliveries retry --all --target crm",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "all", Usage: "all that did not arrive, or those that --state and --target leave"},
					state, target,
				},
				Action: o.withDatabase(o.retryDeliveries),
			},
			{
				Name: "verify", Usage: "compare what is stored with what the CMS and the CRM hold; exit code 2: something is missing",
				Description: "Worth running now and then, and after a restore.\n\n" +
					"   siteapi deliveries verify --since 30d\n   siteapi deliveries verify --fix",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "fix", Usage: "send again what is missing"},
					&cli.StringFlag{Name: "since", Usage: "only submissions since then: 36h, 30d, 2026-01-31 or 2026-01-31T09:30:00Z"},
					target, asJSON,
				},
				Action: o.command(o.verifyDeliveries),
			},
		},
	}
}

func stateNames() []string {
	var names []string
	for _, s := range queue.States() {
		names = append(names, string(s))
	}
	return names
}

// stateFlag reads --state. None given: the default; all: no narrowing.
func stateFlag(c *cli.Command, def []queue.State) ([]queue.State, error) {
	names := c.StringSlice("state")
	if len(names) == 0 {
		return def, nil
	}
	var states []queue.State
	for _, name := range names {
		switch name = strings.ToLower(strings.TrimSpace(name)); {
		case name == "all":
			return queue.States(), nil
		case slices.Contains(stateNames(), name):
			states = append(states, queue.State(name))
		default:
			return nil, fmt.Errorf("--state %s: must be one of %s, all", name, strings.Join(stateNames(), ", "))
		}
	}
	return states, nil
}

// targetFlag reads --target. Empty: all.
func targetFlag(c *cli.Command) (queue.Target, error) {
	name := strings.ToLower(c.String("target"))
	if name == "" || slices.Contains(queue.Targets(), queue.Target(name)) {
		return queue.Target(name), nil
	}
	return "", fmt.Errorf("--target %s: must be cms or crm", name)
}

// deliveryID reads the id of a delivery.
func deliveryID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%q is not the number of a delivery: take one from the first column of `siteapi deliveries list`", text)
	}
	return id, nil
}

// sinceFlag reads --since: how long ago, or since when. Left out: zero.
func sinceFlag(c *cli.Command, now time.Time) (time.Time, error) { return momentFlag(c, "since", now) }

// undelivered are the states of what did not arrive.
func undelivered() []queue.State {
	return []queue.State{queue.Pending, queue.Running, queue.Retrying, queue.Failed}
}

// counts returns a line per target: how many deliveries are in which state.
func counts(ctx context.Context, q *queue.Queue) ([]string, error) {
	all, err := q.Counts(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, target := range queue.Targets() {
		var parts []string
		for _, n := range all {
			if n.Target == target && n.Number > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n.Number, n.State))
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %s", target, strings.Join(parts, ", ")))
	}
	return lines, nil
}
