package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
)

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON, for other programs"} }

func sinceFlag(what string) cli.Flag {
	return &cli.StringFlag{Name: "since", Usage: "only " + what + " since then: 36h, 30d, 2026-01-31 or 2026-01-31T09:30:00Z"}
}

func untilFlag(what string) cli.Flag {
	return &cli.StringFlag{Name: "until", Usage: "only " + what + " before then, in the same forms"}
}

func limitFlag(most int) cli.Flag {
	return &cli.IntFlag{Name: "limit", Usage: "how many at most, 0: all; with --json all unless it is given", Value: most}
}

func outputFlags(usage string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: usage},
		&cli.BoolFlag{Name: "overwrite", Usage: "replace the file if it exists"},
	}
}

func serverFlag() cli.Flag {
	return &cli.StringFlag{Name: "server", Usage: "address of the running service; left out: LISTEN_ADDR on this machine"}
}

// period reads --since and --until. What is left out is the zero time.
func period(c *cli.Command) (since, until time.Time, err error) {
	now := time.Now()
	if since, err = moment(c, "since", now); err != nil {
		return since, until, err
	}
	until, err = moment(c, "until", now)
	if err == nil && !since.IsZero() && !until.IsZero() && !since.Before(until) {
		err = errors.New("--until: must be later than --since")
	}
	return since, until, err
}

// moment reads a point in time: how long ago, or when.
func moment(c *cli.Command, name string, now time.Time) (time.Time, error) {
	value := c.String(name)
	if value == "" {
		return time.Time{}, nil
	}
	if d, err := config.Duration(value); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, value); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s: must be a duration such as 36h or 30d, 36500d at most, a day such as 2026-01-31, "+
		"or a time such as 2026-01-31T09:30:00Z", name)
}

// limit reads --limit. JSON is whole unless the limit is given.
func limit(c *cli.Command) (int, error) {
	n := c.Int("limit")
	switch {
	case n < 0:
		return 0, errors.New("--limit: must not be negative")
	case c.Bool("json") && !c.IsSet("limit"):
		return 0, nil
	}
	return n, nil
}

// states reads --state, by default def. The word "all" means all states.
func states(c *cli.Command, def []queue.State) (list []queue.State, err error) {
	if !c.IsSet("state") {
		return def, nil
	}
	for _, name := range c.StringSlice("state") {
		state := queue.State(strings.ToLower(strings.TrimSpace(name)))
		switch {
		case state == "all":
			return queue.States(), nil
		case !slices.Contains(queue.States(), state):
			return nil, fmt.Errorf("--state %s: must be one of %s, all", name, words(queue.States()))
		}
		list = append(list, state)
	}
	return list, nil
}

// target reads --target. Empty: all.
func target(c *cli.Command) (queue.Target, error) { return enumFlag(c, "target", queue.Targets()) }
