package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema/operations"
)

// Every document that names a command is one: with its examples, it reaches the executor.
func TestEveryCommandOfADocument(t *testing.T) {
	t.Parallel()
	list, err := operations.All()
	if err != nil {
		t.Fatal(err)
	}

	for _, op := range list {
		if op.Command == nil {
			continue
		}
		if len(op.Command.Examples) == 0 {
			t.Errorf("%s has no example", op.Command.Name)
		}

		for _, example := range op.Command.Examples {
			reached := errors.New("reached")
			var asked string
			d := Drivers{
				Getenv:     func(string) string { return "" },
				Operations: list,
				SettingsOf: func(*operations.Operation) []string { return nil },
				OpenOperation: func(
					_ context.Context, _ *config.Settings, op *operations.Operation,
				) (operations.Executor, func() error, error) {
					asked = op.Name
					return nil, nil, reached
				},
			}

			root := group("siteapi", "", Commands(d)...)
			root.SilenceErrors, root.SilenceUsage = true, true
			root.SetArgs(strings.Fields(strings.TrimPrefix(strings.Split(example, ` "`)[0], "siteapi ")))
			if strings.Contains(example, ` "`) {
				root.SetArgs(append(strings.Fields(example)[1:4], "a text"))
			}
			if err := root.ExecuteContext(t.Context()); !errors.Is(err, reached) || asked != op.Name {
				t.Errorf("%s: %v, and %s runs", example, err, asked)
			}
		}
	}
}
