// Package health examines what the service depends on, for the field serviceHealth and for
// the command doctor.
package health

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/mail"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
	"siteapi/resolvers/content"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// Check is one check of the service, for serviceHealth and for `siteapi doctor`.
type Check struct {
	Name string

	// Run describes what works, or returns an error.
	Run func(context.Context, Warn) (string, error)

	// Advice says what to do about an error.
	Advice string
}

// checkTimeout is how long one check may take.
const checkTimeout = 20 * time.Second

// ErrNotMade is the error of a check for something that the first start creates.
var ErrNotMade = errors.New("it does not exist")

// Warn reports something that works but needs attention.
type Warn func(detail, advice string)

// Examine runs all checks at the same time.
func Examine(ctx context.Context, checks []Check) []*schema.HealthCheck {
	found := make([][]*schema.HealthCheck, len(checks))
	var group sync.WaitGroup
	for i, c := range checks {
		group.Go(func() { found[i] = c.examine(ctx) })
	}
	group.Wait()

	return slices.Concat(found...)
}

func (c Check) examine(ctx context.Context) (found []*schema.HealthCheck) {
	report := func(state schema.HealthState, detail, advice string) {
		detail = strings.Join(strings.Fields(detail), " ")
		check := &schema.HealthCheck{Name: c.Name, State: state, Detail: &detail}
		if advice != "" {
			check.Advice = &advice
		}
		found = append(found, check)
	}
	warn := func(detail, advice string) { report(schema.HealthStateWarning, detail, advice) }

	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()

	began := time.Now()
	works, err := c.Run(ctx, warn)
	took := time.Since(began).Round(100 * time.Microsecond)

	switch kind := upstream.KindOf(err); {
	case err == nil && len(found) > 0:
	case err == nil:
		report(schema.HealthStateOk, fmt.Sprintf("%s (%v)", works, took), "")
	case errors.Is(err, ErrNotMade):
		warn(err.Error(),
			"right before the first start, which makes it; else set DATA_DIR to the folder of the service")
	case kind == upstream.Refused && c.Name != "mail":
		report(schema.HealthStateFailed, err.Error(),
			"see whether SANITY_TOKEN or HUBSPOT_TOKEN is valid and has the rights that "+
				"the driver's manual names, for Sanity the role Editor")
	case kind == upstream.Limited:
		report(schema.HealthStateFailed, err.Error(), "the quota is used up: wait, or have it raised")
	default:
		report(schema.HealthStateFailed, err.Error(), c.Advice)
	}
	return found
}

// Dependencies gives access to the systems that the service depends on. What its
// functions return is open.
type Dependencies struct {
	Database func(ctx context.Context) (store.Quotes, *leads.Service, error)
	Cache    func(ctx context.Context) (cache.Cache, error) // nil: the cache is in memory
	CMS      func() (cms.Content, cms.Eraser, error)
	CRM      func() (crm.Lookup, error) // nil: the CRM is in files
	Leases   func(ctx context.Context) (store.Leases, error)

	// Hears reports whether the database tells what other instances change of leads; nil:
	// there are none.
	Hears func(ctx context.Context) (bool, error)

	Mail     mail.Sender // nil: no mail server is used
	Networks func(ctx context.Context) (leads, networks int64, err error)

	ContentTypes []string // document types that the site uses
}

// Checks returns the checks of the dependencies: round trips that leave nothing behind.
func (d Dependencies) Checks() []Check {
	const wait = ", and whether this machine reaches the network; leads wait meanwhile and are not lost"

	return []Check{
		{
			"database",
			d.checkDatabase,
			"see DATABASE_URL, or the owner and mode of DATA_DIR; `siteapi restore` replaces a damaged file",
		},
		{"deliveries", d.checkDeliveries, "see the database"},
		{"edge", d.checkEdge, "see the database"},
		{"live", d.checkLive, "see the database"},
		{
			"cache",
			d.checkCache,
			"see address, user, password and database in CACHE_URL; the service works without it, slower",
		},
		{"cms", d.checkCMS, "see the settings of the CMS" + wait},
		{"crm", d.checkCRM, "see the settings of the CRM" + wait},
		{"outcomes", d.checkOutcomes, "see the database"},
		{"watch", d.checkWatch, "see the database"},
		{"prices", d.checkPrices, "see the CMS"},
		{
			"mail",
			d.checkMail,
			"see host, port, user and password in SMTP_URL, its certificate, and MAIL_FROM" + wait,
		},
	}
}

// checkDatabase commits a transaction.
func (d Dependencies) checkDatabase(ctx context.Context, _ Warn) (string, error) {
	quotes, operators, err := d.Database(ctx)
	if err != nil {
		return "", err
	}
	stored, err := operators.Archive.CountLeads(ctx)
	return fmt.Sprintf("%d submissions, written and committed", stored), errors.Join(err, quotes.Ping(ctx))
}

// checkDeliveries looks for failed and late deliveries.
func (d Dependencies) checkDeliveries(ctx context.Context, warn Warn) (string, error) {
	_, operators, err := d.Database(ctx)
	if err != nil {
		return "not checked: the database can't be opened", nil //nolint:nilerr // the check of the database reports it
	}

	counts, err := operators.Deliveries.Counts(ctx)
	inReview, oldest, reviewErr := operators.Archive.InReview(ctx)

	for _, n := range counts {
		switch age := time.Since(n.Oldest).Round(time.Second); {
		case n.Number == 0, n.Target.BestEffort():
		case n.State == queue.Failed:
			warn(
				fmt.Sprintf("%d leads were refused by the %s for good", n.Number, n.Target),
				"see why with `siteapi deliveries list --state failed`, repair it, "+
					"then `siteapi deliveries retry --all`",
			)
		case age > queue.OverdueAge:
			warn(
				fmt.Sprintf("%d leads are %s for the %s, the oldest for %s",
					n.Number, n.State, n.Target, age),
				"see why with `siteapi deliveries list`; they are only delivered while a service runs",
			)
		}
	}

	if inReview > 0 {
		warn(
			fmt.Sprintf("%d leads are in review, the oldest for %s",
				inReview, time.Since(oldest).Round(time.Second)),
			"see `siteapi leads list --state in-review`, then `siteapi leads release` or `reject`",
		)
	}

	return "none is late", errors.Join(err, reviewErr)
}

// checkLive says how an instance learns what others change of leads.
func (d Dependencies) checkLive(ctx context.Context, _ Warn) (string, error) {
	if d.Hears == nil {
		return "a single instance: its pages are told what it changes", nil
	}

	hears, err := d.Hears(ctx)
	if err == nil && !hears {
		return "a pooler stands between the service and PostgreSQL, so LISTEN has no effect: " +
			"what other instances change of leads is asked for every 0.6 seconds", nil
	}
	return "PostgreSQL tells what other instances change of leads (LISTEN)", err
}

// edgeLate is the age at which a change should have reached the edge.
const edgeLate = time.Minute

// checkEdge looks for receivers that were not told of changed content.
func (d Dependencies) checkEdge(ctx context.Context, warn Warn) (string, error) {
	_, operators, err := d.Database(ctx)
	if err != nil {
		return "not checked: the database can't be opened", nil //nolint:nilerr // the check of the database reports it
	}

	backlogs, err := operators.Deliveries.Backlogs(ctx)
	for _, b := range backlogs {
		if b.Oldest > edgeLate {
			warn(
				fmt.Sprintf("%s was not told of a change for %s", b.Receiver, b.Oldest.Round(time.Second)),
				"see the log for the reason, and CDN_PURGE_URL, CDN_PURGE_TOKEN, REVALIDATE_URLS; "+
					"then it is told by itself, or at once by `siteapi edge purge --all`",
			)
		}
	}

	if len(backlogs) == 0 {
		return "no CDN is purged, no renderer told", err
	}
	return fmt.Sprintf("%d receivers, none is late", len(backlogs)), err
}

// checkCache stores, reads and removes an entry.
func (d Dependencies) checkCache(ctx context.Context, _ Warn) (string, error) {
	if d.Cache == nil {
		return "in the memory of the service: nothing to reach", nil
	}
	c, err := d.Cache(ctx)
	if err != nil {
		return "", err
	}

	// The second read fails unless the first one stored the entry.
	key := "doctor:" + rand.Text()
	for _, missing := range []error{nil, errors.New("the cache does not keep what is stored")} {
		_, getErr := c.Get(ctx, key, func(context.Context) ([]byte, cache.Lifetime, error) {
			return []byte(key), cache.Lifetime{Fresh: time.Minute}, missing
		})
		err = errors.Join(err, getErr)
	}

	return c.Stats(ctx).Type + ": stored, read and removed", errors.Join(err, c.Invalidate(ctx, key))
}

// checkCMS reads the content of a locale, and makes a write that changes nothing.
func (d Dependencies) checkCMS(ctx context.Context, warn Warn) (string, error) {
	source, eraser, err := d.CMS()
	if err != nil {
		return "", err
	}

	types := append([]string{content.SettingsType}, d.ContentTypes...)
	docs, err := source.Fetch(ctx, cms.Query{Types: types, Locale: string(schema.DefaultLocale)})
	if err != nil {
		return "", err
	}

	// Removing what does not exist takes the same right as storing a lead.
	if err := eraser.Erase(ctx, []string{"doctor-" + strings.ToLower(rand.Text())}); err != nil {
		return "", fmt.Errorf("content can be read, submissions can't be stored: %w", err)
	}

	if !slices.ContainsFunc(docs, func(d cms.Document) bool { return d.Type == content.SettingsType }) {
		warn("there is no published document of type siteSettings: SiteSettings answers null",
			"create and publish it")
	}

	return fmt.Sprintf("%d documents in %s, read", len(docs), schema.DefaultLocale), nil
}

// tooLarge is said of rules whose prices no lead can have.
const tooLarge = "the dearest choices together cost more than 1,000,000,000 units of the currency"

// checkPrices reads the rules of prices in each locale, and how the latest leads compare
// with them.
func (d Dependencies) checkPrices(ctx context.Context, warn Warn) (string, error) {
	source, _, err := d.CMS()
	if err != nil {
		return "not checked: the CMS can't be opened", nil //nolint:nilerr // the check of the CMS reports it
	}

	var current *price.Rules
	var seen []string
	for _, locale := range schema.Locales() {
		docs, err := source.Fetch(ctx, cms.Query{
			Types:  []string{cms.OptionType, cms.RulesType},
			Locale: string(locale),
		})
		if err != nil {
			return "not checked: the content can't be read", nil //nolint:nilerr // as above
		}

		rules, problems := price.Read(docs, string(locale), schema.NewFormats().Currency)
		for _, problem := range problems {
			if text := problem.Error(); !slices.Contains(seen, text) {
				seen = append(seen, text)
				warn(text, "correct and publish it in the CMS: until then it prices nothing")
			}
		}
		if rules == nil {
			continue
		}
		if current = rules; rules.CanExceed() && !slices.Contains(seen, tooLarge) {
			seen = append(seen, tooLarge)
			warn(tooLarge, "lower the prices, percents or the minimum: a range above that is not shown, "+
				"and is cut there where it is enforced")
		}
	}

	if current == nil {
		return "there are no rules: the range of a lead is what the client sent", nil
	}
	return d.comparePrices(ctx, current, warn)
}

// comparedLeads is how many of the latest leads are looked at.
const comparedLeads = 100

func (d Dependencies) comparePrices(ctx context.Context, rules *price.Rules, warn Warn) (string, error) {
	text := fmt.Sprintf("rules with %d options in %s", len(rules.Options), rules.Currency)
	_, operators, err := d.Database(ctx)
	if err != nil {
		return text, nil // the check of the database reports the error
	}

	looked, differ := 0, 0
	for l, err := range operators.Archive.Leads(ctx, store.Filter{Newest: true, Limit: comparedLeads}) {
		if err != nil {
			return "", err
		}
		if looked++; l.Price != nil && l.Price.Differs {
			differ++
		}
		if looked == comparedLeads {
			break
		}
	}

	if differ > 0 {
		warn(fmt.Sprintf("%d of the last %d leads differ from the price by the rules", differ, looked),
			"see their sent range with `siteapi leads show`; a page that computes prices itself is the usual reason")
	}
	return text, nil
}

// fewNetworks is the number of leads of the last day from which it means something that
// all came from one network.
const fewNetworks = 5

// checkMail logs in to the mail server, and has the sender accepted. It sends nothing.
func (d Dependencies) checkMail(ctx context.Context, warn Warn) (string, error) {
	if d.Mail == nil {
		return "no mail server is used", nil
	}

	found, err := d.Mail.Check(ctx)
	if err != nil {
		return "", err
	}

	leads, networks, err := d.Networks(ctx)
	if leads >= fewNetworks && networks == 1 {
		warn(
			fmt.Sprintf("all %d leads of the last day came from one network: "+
				"beyond 20 an hour, mails to their visitors wait", leads),
			"see whether TRUSTED_PROXIES names the proxies before this service",
		)
	}

	return found, err
}

// checkCRM looks up a contact that does not exist.
func (d Dependencies) checkCRM(ctx context.Context, warn Warn) (string, error) {
	if d.CRM == nil {
		return "in files: nothing to reach", nil
	}
	contacts, err := d.CRM()
	if err != nil {
		return "", err
	}
	_, err = contacts.Missing(ctx, []string{"doctor@siteapi.invalid"})
	if errors.Is(err, errors.ErrUnsupported) {
		warn("the driver of the CRM keeps nothing: leads are passed on, and can be neither looked up nor erased",
			"take another CRM_DRIVER, or erase them by hand where they went")
		return "", nil
	}
	return "answered", err
}

// pullLate is the time after which the CRM should have been asked again.
const pullLate = 3 * time.Hour

// checkOutcomes reports when the CRM was asked last what became of leads.
func (d Dependencies) checkOutcomes(ctx context.Context, warn Warn) (string, error) {
	const none = "the CRM is not asked what became of leads"
	if d.CRM == nil {
		return none, nil
	}
	contacts, err := d.CRM()
	if _, asked := contacts.(crm.Outcomes); err != nil || !asked {
		return none, nil //nolint:nilerr // the check of the CRM reports it
	}

	leases, err := d.Leases(ctx)
	if err != nil {
		return "not checked: the database can't be opened", nil //nolint:nilerr // the check of the database reports it
	}
	known, err := leads.ReadPulled(ctx, leases)
	if err != nil {
		return "", err
	}

	ago := time.Since(known.At).Round(time.Second)
	switch {
	case known.Failure != "":
		warn("asking the CRM what became of leads failed: "+known.Failure,
			"it is asked again by itself, or now by `siteapi crm pull`; the token needs crm.objects.contacts.read")
	case known.At.IsZero():
		return "the CRM was not asked yet what became of leads: it is within a minute of the first lead", nil
	case ago > pullLate:
		warn(fmt.Sprintf("the CRM was last asked %s ago what became of leads", ago),
			"it is asked every hour, by a service that runs; or now by `siteapi crm pull`")
	}
	return fmt.Sprintf("asked the CRM %s ago, which set %d outcomes", ago, known.Set), nil
}

// checkWatch reports how changes of the content are noticed, by the note of the instance
// that watches.
func (d Dependencies) checkWatch(ctx context.Context, warn Warn) (string, error) {
	leases, err := d.Leases(ctx)
	if err != nil {
		return "not checked: the database can't be opened", nil //nolint:nilerr // the check of the database reports it
	}
	lease, active, err := leases.Lease(ctx, content.WatchLease)
	if errors.Is(err, store.ErrNotFound) || err == nil && !active {
		return "none: changes are noticed by the webhook, or after CONTENT_TTL", nil
	}
	if err != nil {
		return "", err
	}

	var now cms.Watching
	if err := json.Unmarshal([]byte(lease.Note), &now); err != nil {
		return "", fmt.Errorf("reading the note of the instance that watches: %w", err)
	}
	since, heard := time.Since(now.Since).Round(time.Second), time.Since(now.Heard).Round(time.Second)
	switch now.Mode {
	case cms.WatchFile:
		return "the content file is read when it changes", nil
	case cms.WatchStream:
		return fmt.Sprintf("by the event stream of the CMS, for %s, heard %s ago", since, heard), nil
	case cms.WatchAsking:
		if since < time.Minute {
			break
		}
		warn(
			fmt.Sprintf("by asking every 30 seconds, for %s, last answered %s ago: %s", since, heard, now.Reason),
			"a change takes up to 45 seconds; see whether the CMS can be reached, and whether a proxy between it "+
				"and this service holds back text/event-stream")
		return "", nil
	}
	return "connecting to the event stream of the CMS", nil
}
