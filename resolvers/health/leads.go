package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// deliveryLate is the age from which a delivery under way is late.
const deliveryLate = time.Hour

// checkDeliveries looks for failed and late deliveries.
func (d Dependencies) checkDeliveries(ctx context.Context, warn Warn) (string, error) {
	stored, _, err := d.Database(ctx)
	if err != nil {
		return "", notChecked
	}

	reasonOf := func(f store.DeliveryFilter) (reason string) {
		f.Limit = 1
		found, _ := stored.ListDeliveries(ctx, f)
		for _, d := range found {
			reason = ": " + d.Why()
		}
		return reason
	}

	counts, err := stored.CountDeliveries(ctx)
	for _, n := range counts {
		reason := reasonOf(store.DeliveryFilter{
			States: []lead.DeliveryState{n.State},
			Target: n.Target,
			Newest: true,
		})
		switch age := time.Since(n.Oldest).Round(time.Second); {
		case n.Number == 0, n.Target.BestEffort():
		case n.State == lead.Failed:
			warn(
				fmt.Sprintf("%d leads were permanently rejected by the %s%s", n.Number, n.Target, reason),
				"find all reasons with `siteapi deliveries list --state failed`, fix it, "+
					"then `siteapi deliveries retry --all`; end one for good with "+
					"`siteapi deliveries dismiss`",
			)
		case age > deliveryLate:
			warn(
				fmt.Sprintf("%d leads are %s for the %s, the oldest for %s%s",
					n.Number, n.State, n.Target, age, reason),
				"find all reasons with `siteapi deliveries list` and fix it, then "+
					"`siteapi deliveries retry --all`; leads are only delivered while a service runs",
			)
		}
	}

	stuck, failed := stored.StuckMails(ctx, time.Now())
	if stuck.Number > 0 {
		warn(
			fmt.Sprintf("%d mails to visitors do not arrive, the oldest for %s%s",
				stuck.Number, time.Since(stuck.Since).Round(time.Second),
				reasonOf(store.DeliveryFilter{After: stuck.Newest - 1})),
			"find all reasons with `siteapi deliveries list --target visitor-mail --state all`, "+
				"repair the mail server or the settings, then `siteapi deliveries retry --all`",
		)
	}
	return "none is late", errors.Join(err, failed)
}

// checkReviews looks for leads that wait for a review.
func (d Dependencies) checkReviews(ctx context.Context, warn Warn) (string, error) {
	stored, _, err := d.Database(ctx)
	if err != nil {
		return "", notChecked
	}

	n, oldest, err := stored.InReview(ctx)
	if n > 0 {
		warn(
			fmt.Sprintf("%d leads are in review, the oldest for %s", n,
				time.Since(oldest).Round(time.Second)),
			"see `siteapi leads list --state in-review`, then `siteapi leads release` or `reject`",
		)
	}
	return "no lead is in review", err
}

// checkDeletions looks for requests for deletion that no operator has answered.
func (d Dependencies) checkDeletions(ctx context.Context, warn Warn) (string, error) {
	stored, _, err := d.Database(ctx)
	if err != nil {
		return "", notChecked
	}

	n, oldest, err := stored.OpenDeletions(ctx)
	if n > 0 {
		warn(
			fmt.Sprintf("leads whose visitors ask for the deletion: %d, the oldest for %s",
				n, time.Since(oldest).Round(time.Second)),
			"answer within a month: see `siteapi leads list --deletion-requested`, then "+
				"`siteapi leads erase` or `decline-deletion`",
		)
	}
	return "no visitor waits for a deletion", err
}

// edgeLate is the age at which a change should have reached the edge.
const edgeLate = time.Minute

// checkEdge looks for receivers whose notifications of changed content are late.
func (d Dependencies) checkEdge(ctx context.Context, warn Warn) (string, error) {
	_, deliveries, err := d.Database(ctx)
	if err != nil {
		return "", notChecked
	}

	backlogs, err := deliveries.Backlogs(ctx)
	for _, b := range backlogs {
		if b.Oldest > edgeLate {
			warn(
				fmt.Sprintf("%s has not been notified of a change for %s", b.Receiver,
					b.Oldest.Round(time.Second)),
				"check the log for the reason, and CDN_PURGE_URL, CDN_PURGE_TOKEN and REVALIDATE_URLS; "+
					"the service retries the notification, and `siteapi edge purge` sends it immediately",
			)
		}
	}

	if len(backlogs) == 0 {
		return "", cmp.Or(err, error(Skipped("no CDN or renderer is configured")))
	}
	return fmt.Sprintf("%d receivers, none is late", len(backlogs)), err
}

// checkPrices reads the price rules in each locale.
func (d Dependencies) checkPrices(ctx context.Context, warn Warn) (string, error) {
	source, err := d.source(ctx)
	if err != nil {
		return "", notChecked
	}

	var current *price.Rules
	seen, options := map[string]bool{}, false
	for _, locale := range schema.Locales() {
		docs, _, err := content.Fetch(ctx, source, []string{cms.OptionType, cms.RulesType}, locale, "")
		if err != nil {
			return "", notChecked
		}

		rules, problems := price.Read(docs, string(locale))
		current = cmp.Or(rules, current)
		options = options || len(docs) > 0
		for _, problem := range problems {
			if !seen[problem] {
				seen[problem] = true
				warn(problem, "correct and publish it in the CMS: until then the last usable rules, if "+
					"there were any, are in force, and an unusable option has no price")
			}
		}
	}

	if current != nil {
		return fmt.Sprintf("price rules with %d options in %s", len(current.Options), current.Currency), nil
	}
	if options && len(seen) == 0 {
		warn("the calculator has choices but no price rules: "+
			"leads have the range that the client sent, or one to be agreed",
			"publish a document quoteRules, see \"Prices\" in the manual of operations")
	}
	return "no price rules: leads have the client's range", nil
}
