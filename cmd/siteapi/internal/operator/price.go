package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"siteapi/integrations/cms"
	"siteapi/resolvers"
	"siteapi/resolvers/health"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// priceFlags name the choices to price.
func priceFlags() option {
	return options(
		textFlag("project", "the project type, a `slug`"),
		checkedFlag("feature", "a feature, a `slug`; may be repeated", func(c *call, given string) error {
			c.texts["features"] += given + " "
			return nil
		}),
		textFlag("complexity", "the complexity, a `slug`"),
		textFlag("timeline", "the timeline, a `slug`"),
		enumFlag("locale", "the `language` of the content, en unless it is given", schema.AllLocale),
		jsonFlag())
}

// printPrice prices choices by the published content as it is now, and prints the rules.
func printPrice(ctx context.Context, c *call) error {
	if c.settings.CMSDriver == "file" && !exists(c.settings.ContentPath()) {
		return fmt.Errorf("%s: %w", c.settings.ContentPath(), health.ErrNotMade)
	}
	driver, err := c.OpenCMS(c.settings)
	if err != nil {
		return err
	}

	locale := schema.DefaultLocale
	if given := schema.Locale(c.texts["locale"]); given != "" {
		locale = given
	}
	docs, err := driver.Fetch(ctx, cms.Query{
		Types:  []string{cms.OptionType, cms.RulesType},
		Locale: string(locale),
	})
	if err != nil {
		return err
	}

	rules, problems := price.Read(docs, string(locale), schema.NewFormats().Currency)
	estimate := resolvers.NewEstimate(rules, cms.Labels(docs, string(locale)), c.choices(), locale, time.Now())
	err = c.printResult(map[string]any{"estimate": estimate, "rules": shownRules(rules)}, func() {
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
func (c *call) choices() schema.EstimateSelectionsInput {
	chosen := func(name string) *string {
		text := c.texts[name]
		return &text
	}
	return schema.EstimateSelectionsInput{
		ProjectType: chosen("project"),
		Features:    strings.Fields(c.texts["features"]),
		Complexity:  chosen("complexity"),
		Timeline:    chosen("timeline"),
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
