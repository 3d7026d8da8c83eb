package health

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/mail"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// Dependencies gives access to the systems that the service depends on. Its functions
// return open connections.
type Dependencies struct {
	Database func(ctx context.Context) (*store.Store, *queue.Queue, error)
	Cache    func(ctx context.Context) (cache.Cache, error) // nil: the cache is in memory
	CMS      func() (cms.Content, cms.Eraser, error)
	CRM      func() (CRM, error) // nil: the CRM is in files

	Mail        mail.Sender // nil: no mail server is used
	LimitsMails bool        // to the visitors of a network

	CMSRemedy, CRMRemedy, MailRemedy string // advice for a failure of the system

	// Logo fetches a logo in a form that can be drawn.
	Logo func(ctx context.Context, address string) ([]byte, error)

	ContentTypes []string // document types that the site uses
	Preview      bool     // a token gives access to drafts
}

// CRM is the part of the CRM driver that is used to check it.
type CRM interface {
	crm.Lookup
	Ping(ctx context.Context) error
}

// Checks returns the checks of the dependencies. Each checks one thing and leaves no data
// behind.
func (d Dependencies) Checks() []Check {
	const wait = ", and whether this machine reaches the network; leads wait in the meantime and " +
		"are not lost. If a quota is used up (429), wait or have it raised"
	const ofDatabase, ofCMS = "see the check of the database", "see the check of the CMS"

	database := []string{"ENVIRONMENT", "DATA_DIR", "DATABASE_URL"}
	source := []string{"DATA_DIR", "CMS_DRIVER", "CONTENT_TYPES"}
	return []Check{
		{
			"database",
			d.checkDatabase,
			"check DATABASE_URL and whether PostgreSQL is running and reachable; without DATABASE_URL, " +
				"the owner and mode of DATA_DIR, and whether its disk is full. Do not restore a " +
				"backup for this: leads would be lost. Only replace a file that is malformed or " +
				"not a database: stop the service, keep a copy of DATA_DIR, and start it with a copy of a " +
				"backup as DATA_DIR; data that is newer than the backup is lost",
			database,
		},
		{"deliveries", d.checkDeliveries, ofDatabase, database},
		{"reviews", d.checkReviews, ofDatabase, database},
		{"deletions", d.checkDeletions, ofDatabase, database},
		{"edge", d.checkEdge, ofDatabase, database},
		{
			"cache",
			d.checkCache,
			"check address, user, password and database in CACHE_URL; the service works without " +
				"the cache, but slower",
			[]string{"CACHE_URL", "CACHE_PREFIX"},
		},
		{"cms", d.checkCMS, d.CMSRemedy + wait, source},
		{"cms leads", d.checkStoring, d.CMSRemedy + wait, source},
		{"content", d.checkContent, ofCMS, source},
		{"preview", d.checkPreview, d.CMSRemedy + wait, source},
		{"crm", d.checkCRM, d.CRMRemedy + wait, []string{"DATA_DIR", "CRM_DRIVER"}},
		{"webhook", d.checkWebhook, ofDatabase, database},
		{"prices", d.checkPrices, ofCMS, append(database, source...)},
		{
			"mail",
			d.checkMail,
			d.MailRemedy + wait,
			[]string{"SMTP_URL", "MAIL_FROM", "SALES_MAIL_TO"},
		},
		{"networks", d.checkNetworks, ofDatabase, database},
	}
}

// checkDatabase commits a transaction.
func (d Dependencies) checkDatabase(ctx context.Context, _ Warn) (string, error) {
	stored, _, err := d.Database(ctx)
	if err != nil {
		return "", err
	}
	return "written and committed", stored.Ping(ctx)
}

// checkCache stores, reads and removes an entry.
func (d Dependencies) checkCache(ctx context.Context, _ Warn) (string, error) {
	if d.Cache == nil {
		return "", Skipped("in the memory of the service: no connection to check")
	}
	c, err := d.Cache(ctx)
	if err != nil {
		return "", err
	}

	// The second read fails unless the first one stored the entry.
	key := "doctor:" + rand.Text()
	for _, missing := range []error{nil, errors.New("the cache does not return stored entries")} {
		_, getErr := c.Get(ctx, key, func(context.Context) ([]byte, cache.Lifetime, error) {
			return []byte(key), cache.Lifetime{Fresh: time.Minute}, missing
		})
		err = errors.Join(err, getErr)
	}

	return c.Stats(ctx).Type + ": stored, read and removed", errors.Join(err, c.Invalidate(ctx, key))
}

// source returns the CMS, or an error if its content cannot be read now: some drivers
// continue with earlier content.
func (d Dependencies) source(ctx context.Context) (cms.Content, error) {
	source, _, err := d.CMS()
	if err != nil {
		return nil, err
	}
	return source, source.Ping(ctx)
}

// checkCMS reads the content of a locale.
func (d Dependencies) checkCMS(ctx context.Context, _ Warn) (string, error) {
	source, err := d.source(ctx)
	if err != nil {
		return "", err
	}
	docs, _, err := content.Fetch(ctx, source, d.types(), schema.DefaultLocale, "")
	return fmt.Sprintf("%d documents in %s, read", len(docs), schema.DefaultLocale), err
}

// checkPreview reads the drafts of a locale.
func (d Dependencies) checkPreview(ctx context.Context, _ Warn) (string, error) {
	if !d.Preview {
		return "", Skipped("off: PREVIEW_TOKENS is not set")
	}
	source, err := d.source(ctx)
	if err != nil {
		return "", notChecked
	}
	_, _, err = content.Fetch(ctx, source, d.types(), schema.DefaultLocale, "drafts")
	return "drafts can be read", err
}

// checkStoring performs a write that has no effect. Removing a document that does not
// exist requires the same permission as storing a lead.
func (d Dependencies) checkStoring(ctx context.Context, _ Warn) (string, error) {
	_, eraser, err := d.CMS()
	if err != nil {
		return "", notChecked
	}
	return "leads can be stored", eraser.Erase(ctx, []string{"doctor-" + strings.ToLower(rand.Text())})
}

// maxProblems is the number of problems of the content that are reported one by one.
const maxProblems = 20

// checkContent looks for documents and values that are left out, and for document types
// without a published document in any language.
func (d Dependencies) checkContent(ctx context.Context, warn Warn) (string, error) {
	source, err := d.source(ctx)
	if err != nil {
		return "", notChecked
	}

	missing, problems, without := d.types(), []string{}, []string{}
	types := append(d.types(), cms.OptionType, cms.ConsentType, cms.TextsType, cms.RulesType)
	for _, locale := range schema.Locales() {
		found, err := content.Inspect(ctx, source, types, locale)
		if err != nil {
			return "", notChecked
		}
		missing = slices.DeleteFunc(missing, func(name string) bool {
			_, total := found.Documents(name, content.Selection{})
			return total > 0
		})
		if found.Settings == nil {
			without = append(without, string(locale))
		}
		if locale == schema.DefaultLocale {
			d.checkLogo(ctx, found.Settings, warn)
		}
		for _, problem := range found.Problems {
			if !slices.Contains(problems, problem) {
				problems = append(problems, problem)
			}
		}
	}
	if entries, ok := source.(cms.MalformedEntries); ok {
		problems = append(problems, entries.Malformed()...)
	}

	for _, name := range missing {
		advice := "check whether CONTENT_TYPES spells the type as the CMS does; if so, publish a " +
			"document of it"
		if name == cms.SettingsType {
			advice = "create and publish it: until then SiteSettings is null"
		}
		warn("there is no published document of type "+name, advice)
	}
	if len(without) > 0 && len(without) < len(schema.Locales()) {
		warn("there is no published document of type "+cms.SettingsType+" in "+strings.Join(without, ", "),
			"publish one without a language, or one in each: until then SiteSettings is null there")
	}
	for i, problem := range problems {
		if i == maxProblems {
			warn(fmt.Sprintf("%d more problems of the content", len(problems)-i),
				"the log of the service names all of them")
			break
		}
		warn(problem, "correct and publish it in the CMS: until then the site does without it, and "+
			"unusable texts leave the last usable ones, if there were any, in force")
	}
	return "each document type has a published document, and none is left out", nil
}

// checkLogo draws the logo of the settings as PDFs show it.
func (d Dependencies) checkLogo(ctx context.Context, settings *content.Settings, warn Warn) {
	if d.Logo == nil || settings == nil || settings.Shown.Logo == nil || settings.Shown.Logo.Asset == nil {
		return
	}
	if _, err := d.Logo(ctx, schema.ValueOr(settings.Shown.Logo.Asset.URL, "")); err != nil {
		warn(fmt.Sprintf("the logo cannot be drawn: %.300v", err),
			"publish a PNG or JPEG that is visible on white paper, and name its host in LOGO_HOSTS: "+
				"until then PDFs show the name of the firm instead")
	}
}

// types returns the document types of the site.
func (d Dependencies) types() []string {
	return append([]string{cms.SettingsType}, d.ContentTypes...)
}

// notChecked is the result of a check whose system fails another check.
const notChecked = Skipped("it depends on a failed check")

// checkMail logs in to the mail server and checks that it accepts the sender and the
// addresses of sales. It sends no mail.
func (d Dependencies) checkMail(ctx context.Context, _ Warn) (string, error) {
	if d.Mail == nil {
		return "", Skipped("no mail server is used")
	}
	return d.Mail.Check(ctx)
}

// fewNetworks is the number of leads within a day from which it is suspicious that they
// all came from one network.
const fewNetworks = 5

// checkNetworks detects proxies that are missing in TRUSTED_PROXIES: all visitors then
// count as one network.
func (d Dependencies) checkNetworks(ctx context.Context, warn Warn) (string, error) {
	if d.Mail == nil {
		return "", Skipped("no mail server is used")
	}
	if !d.LimitsMails {
		return "", Skipped("mails to a network are not limited")
	}
	stored, _, err := d.Database(ctx)
	if err != nil {
		return "", notChecked
	}

	leads, networks, err := stored.MailNetworks(ctx)
	if leads >= fewNetworks && networks == 1 {
		warn(
			fmt.Sprintf("all %d leads of the last day came from one network: "+
				"mails to visitors beyond 20 an hour are delayed", leads),
			"check whether TRUSTED_PROXIES has all proxies in front of this service",
		)
	}
	return fmt.Sprintf("%d leads of the last day came from %d networks", leads, networks), err
}

// checkCRM looks up a contact that does not exist, and the definitions that leads need.
func (d Dependencies) checkCRM(ctx context.Context, warn Warn) (string, error) {
	if d.CRM == nil {
		return "", Skipped("in files: no connection to check")
	}
	contacts, err := d.CRM()
	if err != nil {
		return "", err
	}
	_, err = contacts.Missing(ctx, []string{"doctor@siteapi.invalid"})
	if errors.Is(err, errors.ErrUnsupported) {
		if err := contacts.Ping(ctx); err != nil {
			return "", err
		}
		warn("the CRM driver stores nothing: it passes leads on, so they can be neither looked up nor erased",
			"use another CRM_DRIVER, or erase the leads by hand in the receiving system")
		return "", nil
	}

	if account, ok := contacts.(crm.Setup); ok && err == nil {
		var missing []string
		if missing, err = account.Unprepared(ctx); len(missing) > 0 {
			warn("the account lacks the properties "+strings.Join(missing, ", "),
				"run `siteapi crm setup`: until then leads are stored without them")
		}
	}
	return "answered", err
}
