package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/cms"
	"siteapi/resolvers/health"
	"siteapi/resolvers/price"
	"siteapi/resolvers/quotes"
	"siteapi/schema"
)

func (d Drivers) priceCommand() *cobra.Command {
	return d.command("price",
		"price choices by the rules of the published content, and print the rules; "+
			"exit code 2: there are none",
		[]string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CMS_FILE", "SANITY_*"}, &printPrice{},
		"siteapi price --project web-app --feature blog --feature seo")
}

// printPrice prices choices by the published content as it is now, and prints the rules.
type printPrice struct {
	project, complexity, timeline string
	features                      []string
	locale                        schema.Locale
	result                        result
}

func (cmd *printPrice) flags(f *pflag.FlagSet) {
	textVar(f, &cmd.project, "project", "the project type, a `slug`")
	f.Func("feature", "a feature, a `slug`; may be repeated", func(given string) error {
		cmd.features = append(cmd.features, strings.Fields(given)...)
		return nil
	})
	textVar(f, &cmd.complexity, "complexity", "the complexity, a `slug`")
	textVar(f, &cmd.timeline, "timeline", "the timeline, a `slug`")
	enumVar(f, &cmd.locale, "locale", "the `language` of the content, en unless it is given", schema.AllLocale)
	cmd.result.flags(f)
}

func (cmd *printPrice) run(ctx context.Context, c *call) error {
	if c.settings.CMSDriver == "file" && missing(c.settings.ContentPath()) {
		return fmt.Errorf("%s: %w", c.settings.ContentPath(), health.ErrNotMade)
	}
	driver, err := c.drivers.OpenCMS(c.settings)
	if err != nil {
		return err
	}

	locale := cmp.Or(cmd.locale, schema.DefaultLocale)
	docs, err := driver.Fetch(ctx, cms.Query{
		Types:  []string{cms.OptionType, cms.RulesType},
		Locale: string(locale),
	})
	if err != nil {
		return err
	}

	rules, problems := price.Read(docs, string(locale), schema.NewFormats().Currency)
	estimate := quotes.NewEstimate(rules, cms.Labels(docs, string(locale)), cmd.choices(), locale, time.Now())
	err = cmd.result.print(c, map[string]any{"estimate": estimate, "rules": shownRules(rules)}, func() {
		printEstimate(c, rules, estimate)
		for _, problem := range problems {
			c.say("not used: %s", problem)
		}
	})
	if err == nil && rules == nil {
		return finding("there are no rules that can be used: publish the document quoteRules in the CMS")
	}
	return err
}

// shownRules returns rules as editors write them, in units of the currency.
func shownRules(r *price.Rules) map[string]any {
	if r == nil {
		return nil
	}
	return map[string]any{
		"currency":      r.Currency,
		"spreadPercent": r.SpreadPercent(),
		"roundTo":       r.Units(r.RoundTo),
		"minimum":       r.Units(r.Minimum),
		"validDays":     r.ValidDays,
		"enforce":       r.Enforce,
		"options":       len(r.Options),
	}
}

// choices returns what the flags choose.
func (cmd *printPrice) choices() schema.EstimateSelectionsInput {
	return schema.EstimateSelectionsInput{
		ProjectType: &cmd.project,
		Features:    cmd.features,
		Complexity:  &cmd.complexity,
		Timeline:    &cmd.timeline,
	}
}

func printEstimate(c *call, rules *price.Rules, estimate *schema.QuoteEstimate) {
	if rules == nil {
		return
	}
	printTable(c, "lines", estimate.Lines, table.Row{"FIELD", "SLUG", "LABEL", "AMOUNT"},
		func(l *schema.EstimateLine) table.Row {
			return table.Row{l.Field, orEmpty(l.Slug), printable(l.Label), amount(l.Amount)}
		})
	if estimate.Min != nil {
		c.say("%s to %s %s, valid until %s", amount(*estimate.Min), amount(*estimate.Max), rules.Currency, *estimate.ValidUntil)
	}
	if len(estimate.Unpriced) > 0 {
		c.say("without a price: %s", strings.Join(estimate.Unpriced, ", "))
	}

	enforced := "not enforced: leads keep the range that is sent"
	if rules.Enforce {
		enforced = "enforced"
	}
	c.say("rules: %s, spread %s %%, rounded to %s, at least %s, valid for %d days, %d options, %s",
		rules.Currency, amount(rules.SpreadPercent()), amount(rules.Units(rules.RoundTo)),
		amount(rules.Units(rules.Minimum)), rules.ValidDays, len(rules.Options), enforced)
	c.say("revision: %s", rules.Revision)
}
