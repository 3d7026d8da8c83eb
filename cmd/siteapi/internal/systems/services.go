package systems

import (
	"fmt"
	"path/filepath"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/memory"
	"siteapi/integrations/crm"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/pdf"
	"siteapi/resolvers/content"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/operators"
	"siteapi/resolvers/quotepdf"
)

// Content returns the service that reads the content, with options beside the settings.
// Without a cache among them the content is not cached between commands.
func (o Opener) Content(c content.Options) *content.Service {
	if c.Cache == nil {
		c.Cache = memory.New()
	}
	c.Log = o.Log
	c.Source, c.Types = o.contentSource(), o.Settings.ContentTypes
	c.Life.Fresh, c.FallbackDir = o.Settings.ContentTTL, filepath.Join(o.Settings.DataDir, "content")
	return content.New(c)
}

// PDFs returns the resolver that renders the PDFs of leads.
func (o Opener) PDFs(
	site *content.Service, entries cache.Cache, stored quotepdf.LeadStore,
) (*quotepdf.Resolver, error) {
	logo, err := pdf.NewLogoLoader(o.Settings.LogoHosts)
	if err != nil {
		return nil, fmt.Errorf("LOGO_HOSTS: %w", err)
	}

	return quotepdf.New(quotepdf.Deps{
		Content:         site,
		Cache:           entries,
		Store:           stored,
		PDF:             pdf.New(o.Log),
		Logo:            logo,
		TimeZone:        o.Settings.TimeZone,
		LogoHosts:       o.Settings.LogoHosts,
		Log:             o.Log,
		ObserveDatabase: o.Metrics.Database,
	}), nil
}

// Pull returns the job that reads outcomes of leads from the CRM, or nil if it has none.
func (o Opener) Pull(data *Database, contacts CRM) *leads.Pull {
	source, ok := contacts.(crm.Outcomes)
	if !ok || !o.crmDriver().outcomes {
		return nil
	}
	return &leads.Pull{CRM: source, Store: data.Store, Log: o.Log, Count: o.Metrics.Event}
}

// Leads returns the resolver of the leads with the given mails, CMS, CRM, options and
// ClearPDFs. Only an erasure and a verification need the CMS, the CRM and ClearPDFs.
func (o Opener) Leads(data *Database, r leads.Resolver) *leads.Resolver {
	r.Store, r.Queue, r.Truncate = data.Store, data.Queue, data.Truncate
	r.Operators = &operators.Resolver{Store: data.Store, Tokens: o.Settings.NamedTokens, Log: o.Log}
	r.MailFiles = mailfile.Open(o.Settings.MailPath())
	r.Log, r.TimeZone, r.OutOfReach = o.Log, o.Settings.TimeZone, o.OutOfReach
	return &r
}

// OutOfReach lists the copies of a lead that an erasure cannot reach.
func (o Opener) OutOfReach() []string {
	list := []string{
		"backups until they are removed: after a restore, erase again",
		"copies made by users: exports, downloaded PDFs, e-mails",
		"data in a CMS or CRM that was used before this one: erase it there",
	}

	s := o.Settings
	add := func(setUp bool, text string) {
		if setUp && text != "" {
			list = append(list, text)
		}
	}
	add(s.LeadWebhookURL != "", "data stored by the receiver at LEAD_WEBHOOK_URL")
	add(s.LeadRetention > 0, "documents and deals of leads that retention deleted, "+
		"if a corrected address was typed by mistake: search for the typed one")
	add(true, o.cmsDriver().copies)
	add(true, o.crmDriver().copies)
	add(OldDatabase(s) != "",
		"siteapi.db in DATA_DIR, the database before PostgreSQL: delete it, if it was copied")
	add(s.DatabaseURL != nil, "deleted rows of PostgreSQL until the next VACUUM, and its archived WAL")
	add(s.DatabaseURL != nil && s.CacheURL.Scheme == "memory",
		"PDFs in the memory of other instances, for at most an hour")
	add(true, o.mailDriver().copies)
	return list
}

// Checks returns the checks of the dependencies, completed from the settings.
func (o Opener) Checks(d health.Dependencies) []health.Check {
	d.CMSRemedy, d.CRMRemedy, d.MailRemedy = o.cmsDriver().remedy, o.crmDriver().remedy, o.mailDriver().remedy
	if o.mailDriver().sends {
		d.Mail, d.LimitsMails = o.Mail(), o.Settings.RateLimits && o.Settings.VisitorMail
	}
	d.ContentTypes, d.Preview = o.Settings.ContentTypes, len(o.Settings.PreviewTokens) > 0
	if logos, err := pdf.NewLogoLoader(o.Settings.LogoHosts); err == nil {
		d.Logo = logos.Load
	}
	return d.Checks()
}
