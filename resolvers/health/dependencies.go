package health

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/mail"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

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
			"see DATABASE_URL and whether PostgreSQL runs and can be reached; without DATABASE_URL, the owner and " +
				"mode of DATA_DIR, and whether its disk is full. Do not restore for this: leads would be lost",
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

	missing, err := withoutDocuments(ctx, source, d.ContentTypes)
	if err != nil {
		return "", err
	}
	if len(missing) > 0 {
		warn("there is no published document of type "+strings.Join(missing, ", "),
			"see whether CONTENT_TYPES spells the type as the CMS does; else publish a document of it")
	}

	return fmt.Sprintf("%d documents in %s, read", len(docs), schema.DefaultLocale), nil
}

// withoutDocuments returns the types of which no language has a published document.
func withoutDocuments(ctx context.Context, source cms.Content, types []string) ([]string, error) {
	missing := slices.Clone(types)
	for _, locale := range schema.Locales() {
		if len(missing) == 0 {
			break
		}

		docs, err := source.Fetch(ctx, cms.Query{Types: missing, Locale: string(locale)})
		if err != nil {
			return nil, err
		}
		missing = slices.DeleteFunc(missing, func(name string) bool {
			return slices.ContainsFunc(docs, func(d cms.Document) bool { return d.Type == name })
		})
	}
	return missing, nil
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
