package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
)

// flag adds flags to a command.
type flag func(*pflag.FlagSet)

func textFlag(name, usage string) flag { return func(f *pflag.FlagSet) { f.String(name, "", usage) } }

func boolFlag(name, usage string) flag { return func(f *pflag.FlagSet) { f.Bool(name, false, usage) } }

func jsonFlag() flag { return boolFlag("json", "print JSON, for other programs") }

func sinceFlag(what string) flag {
	return textFlag("since", "only "+what+" since that `time`: 36h, 30d, 2026-01-31 or 2026-01-31T09:30:00Z")
}

func untilFlag(what string) flag {
	return textFlag("until", "only "+what+" before that `time`, in the same forms")
}

func targetFlag() flag { return textFlag("target", "only this one: "+words(queue.Targets())) }

func stateFlag() flag {
	return func(f *pflag.FlagSet) {
		f.StringSlice("state", nil, "only these states: "+words(queue.States())+", all; several with commas")
	}
}

func limitFlag(most int) flag {
	return func(f *pflag.FlagSet) {
		f.Int("limit", most, "how many at most, 0: all; with --json all unless it is given")
	}
}

func outputFlags(usage string) flag {
	return func(f *pflag.FlagSet) {
		f.StringP("output", "o", "", usage)
		f.Bool("overwrite", false, "replace the file if it exists")
	}
}

func serverFlag() flag {
	return textFlag("server", "`address` of the running service; left out: LISTEN_ADDR on this machine")
}

// period reads --since and --until. What is left out is the zero time.
func (c *call) period() (since, until time.Time, err error) {
	if since, err = c.moment("since"); err != nil {
		return since, until, err
	}
	until, err = c.moment("until")
	if err == nil && !since.IsZero() && !until.IsZero() && !since.Before(until) {
		err = errors.New("--until: must be later than --since")
	}
	return since, until, err
}

// moment reads a point in time: how long ago, or when.
func (c *call) moment(name string) (time.Time, error) {
	value := c.text(name)
	if value == "" {
		return time.Time{}, nil
	}
	if d, err := config.Duration(value); err == nil {
		return time.Now().Add(-d), nil
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
func (c *call) limit() (int, error) {
	n, err := c.flags.GetInt("limit")
	switch {
	case n < 0:
		return 0, errors.New("--limit: must not be negative")
	case c.on("json") && !c.flags.Changed("limit"):
		return 0, nil
	}
	return n, err
}

// states reads --state, by default def. The word "all" means all states.
func (c *call) states(def []queue.State) (list []queue.State, err error) {
	typed, err := c.flags.GetStringSlice("state")
	if len(typed) == 0 {
		return def, err
	}
	for _, name := range typed {
		state, err := parse("state", name, append(queue.States(), "all"))
		if err != nil {
			return nil, err
		}
		if state == "all" {
			return queue.States(), nil
		}
		list = append(list, state)
	}
	return list, nil
}

// target reads --target. Empty: all.
func (c *call) target() (queue.Target, error) {
	return parse("target", c.text("target"), queue.Targets())
}

// words lists the values of an enum as they are typed and printed: IN_REVIEW as in-review.
func words[T ~string](values []T) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = word(v)
	}
	return strings.Join(list, ", ")
}

func word[T ~string](value T) string {
	return strings.ToLower(strings.ReplaceAll(string(value), "_", "-"))
}

// parse reads a value of an enum as it is typed for a flag. Left out it is empty.
func parse[T ~string](name, typed string, values []T) (value T, err error) {
	i := slices.IndexFunc(values, func(v T) bool { return strings.EqualFold(word(v), strings.TrimSpace(typed)) })
	switch {
	case i >= 0:
		value = values[i]
	case typed != "":
		err = fmt.Errorf("--%s %s: must be one of %s", name, typed, words(values))
	}
	return value, err
}

// group returns a command that only holds others.
func group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: example, Args: NoArguments, DisableFlagsInUseLine: true}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(commands...)
	return c
}

// NoArguments refuses arguments. One of a command that holds others is a command that does not exist.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasSubCommands() {
		return fmt.Errorf("%q is one argument too many. See `%s --help`", args[0], c.CommandPath())
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("there is no command %q.%s See `%s --help`", args[0], didYouMean(args[0], names), c.CommandPath())
}

// UsageError says what is wrong with the flags of a command line. If the word before them is no command, that is wrong.
func UsageError(c *cobra.Command, err error) error {
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		return NoArguments(c, args)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		name := "--" + unknown.GetSpecifiedName()
		err = fmt.Errorf("there is no flag %s.%s", name, didYouMean(name, names))
		return fmt.Errorf("%w See `%s --help`", err, c.CommandPath())
	}
	return fmt.Errorf("%w. See `%s --help`", err, c.CommandPath())
}

// didYouMean suggests the name that is spelled most like what was typed.
func didYouMean(typed string, names []string) string {
	distance := func(name string) int {
		if strings.HasPrefix(name, typed) {
			return 0
		}
		return levenshtein.ComputeDistance(name, typed)
	}
	nearest := slices.MinFunc(names, func(a, b string) int { return distance(a) - distance(b) })
	if distance(nearest) > 2 {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", nearest)
}
