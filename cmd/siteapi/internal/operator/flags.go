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

// option adds flags or arguments to a command.
type option func(*call)

func options(list ...option) option {
	return func(c *call) {
		for _, apply := range list {
			apply(c)
		}
	}
}

// arguments makes a command take one or more arguments, or none if --all is given.
func arguments(names string) option {
	return func(c *call) {
		c.Use += " " + names
		c.Args = func(_ *cobra.Command, args []string) error {
			if c.on("all") == (len(args) > 0) {
				return fmt.Errorf("give %s: see `%s --help`", names, c.CommandPath())
			}
			return nil
		}
	}
}

func required(flag string) option { return func(c *call) { _ = c.MarkFlagRequired(flag) } }

func boolFlag(name, usage string) option { return func(c *call) { c.Flags().Bool(name, false, usage) } }

func jsonFlag() option { return boolFlag("json", "print JSON, for other programs") }

// checkedFlag adds a flag. Take is called with each value that is given for it.
func checkedFlag(name, usage string, take func(c *call, given string) error) option {
	return func(c *call) { c.Flags().Func(name, usage, func(given string) error { return take(c, given) }) }
}

func textFlag(name, usage string) option {
	return checkedFlag(name, usage, func(c *call, given string) error {
		if c.texts[name] = given; strings.TrimSpace(given) == "" {
			return errors.New("must not be empty")
		}
		return nil
	})
}

func enumFlag[T ~string](name, usage string, values []T) option {
	return checkedFlag(name, usage+": "+words(values), func(c *call, given string) error {
		value, err := parse(given, values)
		c.texts[name] = string(value)
		return err
	})
}

func serverFlag() option {
	usage := "`address` of the running service; left out: LISTEN_ADDR on this machine"
	return checkedFlag("server", usage, func(c *call, given string) error {
		c.texts["server"] = strings.TrimSuffix(given, "/")
		return config.WebAddress(given)
	})
}

func statesFlag() option {
	values := append(queue.States(), "all")

	return checkedFlag("state", "only these `states`, separated by commas: "+words(values),
		func(c *call, given string) error {
			for typed := range strings.SplitSeq(given, ",") {
				state, err := parse(typed, values)
				if err != nil {
					return err
				}
				c.states = append(c.states, state)
			}

			if slices.Contains(c.states, "all") {
				c.states = queue.States()
			}
			return nil
		})
}

func timeFlag(name, usage string) option {
	return checkedFlag(name, usage+" `time`: 36h, 30d, 2026-01-31 or 2026-01-31T09:30:00Z",
		func(c *call, given string) error {
			if d, err := config.Duration(given); err == nil {
				c.times[name] = time.Now().Add(-d)
				return nil
			}

			for _, layout := range []string{time.DateOnly, time.RFC3339} {
				if at, err := time.Parse(layout, given); err == nil {
					c.times[name] = at
					return nil
				}
			}

			return errors.New("must be a duration such as 36h or 30d, 36500d at most, " +
				"a day such as 2026-01-31, or a time such as 2026-01-31T09:30:00Z")
		})
}

func periodFlags(what string) option {
	return options(
		timeFlag("since", "only "+what+" since that"),
		timeFlag("until", "only "+what+" before that"),
	)
}

func limitFlag() option {
	const usage = "how `many` at most, 0: all; left out: 100, with --json all"

	return checkedFlag("limit", usage, func(c *call, given string) (err error) {
		if c.most, err = strconv.Atoi(given); err != nil || c.most < 0 {
			return errors.New("must be a whole number, 0: all")
		}
		return nil
	})
}

func (c *call) limit() int {
	if c.Flags().Changed("limit") || c.on("json") {
		return c.most
	}
	return 100
}

func outputFlags(usage string) option {
	return options(boolFlag("overwrite", "replace the file if it exists"), func(c *call) {
		c.Flags().FuncP("output", "o", usage, func(given string) error {
			c.texts["output"] = given
			return nil
		})
	})
}

// words lists the values of an enum in the form in which they are typed and printed, such
// as in-review for IN_REVIEW.
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

// parse returns the value of an enum that was typed.
func parse[T ~string](typed string, values []T) (T, error) {
	for _, v := range values {
		if strings.EqualFold(word(v), strings.TrimSpace(typed)) {
			return v, nil
		}
	}
	return "", errors.New("must be one of " + words(values))
}

// NoArguments refuses arguments. For a command that holds others, an argument is a
// command that does not exist.
func NoArguments(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !c.HasSubCommands():
		return fmt.Errorf("%q is one argument too many. See `%s --help`", args[0], c.CommandPath())
	}

	c.SuggestionsMinimumDistance = 2
	meant := suggestion(args[0], c.SuggestionsFor(args[0]))
	return fmt.Errorf("there is no command %q.%s See `%s --help`", args[0], meant, c.CommandPath())
}

// UsageError says what is wrong with the flags of a command line. If a word before them
// is not a command, it reports that instead.
func UsageError(c *cobra.Command, err error) error {
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		return NoArguments(c, args)
	}

	word, similar := "", []string(nil)
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		word = "--" + unknown.GetSpecifiedName()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if levenshtein.ComputeDistance("--"+f.Name, word) <= 2 {
				similar = append(similar, "--"+f.Name)
			}
		})
	}

	return fmt.Errorf("%w.%s See `%s --help`", err, suggestion(word, similar), c.CommandPath())
}

// suggestion asks whether the most similar of some names was meant by a word.
func suggestion(word string, similar []string) string {
	if len(similar) == 0 {
		return ""
	}

	return fmt.Sprintf(" Did you mean %q?", slices.MinFunc(similar, func(a, b string) int {
		return levenshtein.ComputeDistance(a, word) - levenshtein.ComputeDistance(b, word)
	}))
}
