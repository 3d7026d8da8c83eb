package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/lead"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

func (d Drivers) leadOutcomeCommand() *cobra.Command {
	return d.onDatabase("outcome <id or PDF reference> <qualified | won | lost | none>",
		"say what became of a lead; none takes it back", &setOutcome{},
		"siteapi leads outcome LR4LB5AK qualified",
		"siteapi leads outcome LR4LB5AK won --amount 1200 --currency EUR")
}

// setOutcome says what became of a lead.
type setOutcome struct {
	amount   *float64
	currency string
}

func (cmd *setOutcome) flags(f *pflag.FlagSet) {
	f.Func("amount", "what a won lead brings, a `number` of units of the currency", func(given string) error {
		amount, err := strconv.ParseFloat(given, 64)
		if err != nil || math.IsNaN(amount) || amount < 0 || amount > schema.MaxAmount {
			return errors.New("must be a number from 0 to 1000000000")
		}
		cmd.amount = &amount
		return nil
	})
	textVar(f, &cmd.currency, "currency", "`currency` of the amount, such as EUR")
}

func (cmd *setOutcome) run(ctx context.Context, c *call) error {
	if len(c.args) != 2 {
		return errors.New("name one lead and what became of it, such as `siteapi leads outcome LR4LB5AK won`")
	}

	const none = "none"
	value, err := parse(c.args[1], append(lead.OutcomeValues(), none))
	switch {
	case err != nil:
		return fmt.Errorf("%q: %w", c.args[1], err)
	case value == none:
		value = ""
	}
	if cmd.currency != "" && !schema.NewFormats().Currency(cmd.currency) {
		return errors.New("--currency: must be a currency code in capitals, such as EUR")
	}
	found, err := c.named(ctx, c.args[0])
	if err != nil {
		return err
	}
	if len(found) > 1 {
		return fmt.Errorf("the address has %d leads: name one by its PDF reference", len(found))
	}

	entry := c.entry(schema.AuditActionOutcome, found[0].ID, operators.OutcomeDetail(value))
	err = c.rules.SetOutcome(ctx, found[0], lead.Outcome{
		Value:    value,
		Amount:   cmd.amount,
		Currency: cmd.currency,
		At:       time.Now().UTC().Truncate(time.Millisecond),
		By:       entry.Actor,
	}, entry)
	if err == nil {
		c.say("%s: %s", lead.Reference(found[0].ID), word(cmp.Or(value, none)))
	}
	return err
}
