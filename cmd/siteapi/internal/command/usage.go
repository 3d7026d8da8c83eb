package command

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// someArguments makes a command take one or more arguments, or none if --all is given.
func someArguments(names string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if all, _ := c.Flags().GetBool("all"); all == (len(args) > 0) {
			return fmt.Errorf("give %s: see `%s --help`", names, c.CommandPath())
		}
		return nil
	}
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
