package operator

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/queue"
)

func textFlag(name, usage string) option {
	return func(c *cobra.Command) { c.Flags().String(name, "", usage) }
}

func boolFlag(name, usage string) option {
	return func(c *cobra.Command) { c.Flags().Bool(name, false, usage) }
}

func jsonFlag() option { return boolFlag("json", "print JSON, for other programs") }

// checkedText is the value of a flag that is checked and brought into its usual form when it is given.
type checkedText struct {
	text  string
	check func(string) (string, error)
}

func (c *checkedText) String() string { return c.text }
func (*checkedText) Type() string     { return "string" }

// Set implements [pflag.Value]. An empty value is as good as none.
func (c *checkedText) Set(given string) (err error) {
	if given != "" {
		c.text, err = c.check(given)
	}
	return err
}

func checkedFlag(name, usage string, check func(string) (string, error)) option {
	return func(c *cobra.Command) { c.Flags().Var(&checkedText{check: check}, name, usage) }
}

func enumFlag[T ~string](name, usage string, values []T) option {
	return checkedFlag(name, usage+": "+words(values), func(given string) (string, error) { return parse(given, values) })
}

func targetFlag() option { return enumFlag("target", "only this `target`", queue.Targets()) }

func statesFlag() option {
	values := append(queue.States(), "all")
	return func(c *cobra.Command) {
		var list []string // of all times that it is given
		checkedFlag("state", "only these `states`, separated by commas: "+words(values), func(given string) (string, error) {
			for typed := range strings.SplitSeq(given, ",") {
				state, err := parse(typed, values)
				if err != nil {
					return "", err
				}
				list = append(list, state)
			}
			return strings.Join(list, ","), nil
		})(c)
	}
}

// states returns the value of such a flag, or otherwise if it is not given. None are all.
func (c *call) states(otherwise []queue.State) (list []queue.State) {
	if c.text("state") == "" {
		return otherwise
	}
	for state := range strings.SplitSeq(c.text("state"), ",") {
		list = append(list, queue.State(state))
	}
	if slices.Contains(list, "all") {
		return nil
	}
	return list
}

func timeFlag(name, usage string) option {
	return checkedFlag(name, usage+" `time`: 36h, 30d, 2026-01-31 or 2026-01-31T09:30:00Z", func(given string) (string, error) {
		if d, err := config.Duration(given); err == nil {
			return time.Now().Add(-d).Format(time.RFC3339Nano), nil
		}
		for _, layout := range []string{time.DateOnly, time.RFC3339} {
			if at, err := time.Parse(layout, given); err == nil {
				return at.Format(time.RFC3339Nano), nil
			}
		}
		return "", errors.New("must be a duration such as 36h or 30d, 36500d at most, a day such as 2026-01-31, " +
			"or a time such as 2026-01-31T09:30:00Z")
	})
}

// time returns the value of such a flag, the zero time if it is not given.
func (c *call) time(name string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, c.text(name))
	return at
}

// period returns the values of --since and --until.
func (c *call) period() (since, until time.Time, err error) {
	since, until = c.time("since"), c.time("until")
	if !until.IsZero() && !since.Before(until) {
		err = errors.New("--until: must be later than --since")
	}
	return since, until, err
}

func periodFlags(what string) option {
	return func(c *cobra.Command) {
		timeFlag("since", "only "+what+" since that")(c)
		timeFlag("until", "only "+what+" before that")(c)
	}
}

func limitFlag() option {
	return checkedFlag("limit", "how many at most, 0: all; left out: 100, with --json all", func(given string) (string, error) {
		if n, err := strconv.Atoi(given); err != nil || n < 0 {
			return "", errors.New("must be a number, and not negative")
		}
		return given, nil
	})
}

// limit returns the value of such a flag.
func (c *call) limit() int {
	n, err := strconv.Atoi(c.text("limit"))
	if err != nil && !c.on("json") {
		n = 100
	}
	return n
}

func outputFlags(usage string) option {
	return func(c *cobra.Command) {
		c.Flags().StringP("output", "o", "", usage)
		c.Flags().Bool("overwrite", false, "replace the file if it exists")
	}
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

// parse reads a value of an enum as it is typed.
func parse[T ~string](typed string, values []T) (string, error) {
	i := slices.IndexFunc(values, func(v T) bool { return strings.EqualFold(word(v), strings.TrimSpace(typed)) })
	if i < 0 {
		return "", errors.New("must be one of " + words(values))
	}
	return string(values[i]), nil
}

// NoArguments refuses arguments. One of a command that holds others is a command that does not exist.
func NoArguments(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !c.HasSubCommands():
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
	suggestion := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		suggestion = didYouMean("--"+unknown.GetSpecifiedName(), names)
	}
	return fmt.Errorf("%w.%s See `%s --help`", err, suggestion, c.CommandPath())
}

// didYouMean suggests the name that is spelled most like what was typed.
func didYouMean(typed string, names []string) string {
	distance := func(name string) int { return levenshtein.ComputeDistance(name, typed) }
	nearest := slices.MinFunc(names, func(a, b string) int { return distance(a) - distance(b) })
	if distance(nearest) > 2 {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", nearest)
}
