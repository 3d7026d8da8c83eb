package systems

import (
	"path/filepath"
	"strings"

	"siteapi/integrations/cms"
	cmsfile "siteapi/integrations/cms/file"
	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/crm"
	crmfile "siteapi/integrations/crm/file"
	"siteapi/integrations/crm/hubspot"
	"siteapi/integrations/mail"
	mailfile "siteapi/integrations/mail/file"
	"siteapi/integrations/mail/smtp"
	"siteapi/resolvers/leads"
)

// CMS is implemented by every CMS driver.
type CMS interface {
	cms.Content
	cms.Leads
	cms.Watcher
	leads.CMS
}

// CRM is implemented by every CRM driver.
type CRM interface {
	crm.Contacts
	leads.CRM
}

// driver is a driver with everything that depends on its settings.
type driver[T any] struct {
	open func() (T, error)

	// perSecond is the number of leads that its API accepts; 0: unlimited.
	perSecond float64

	// remedy names the settings to check if the system fails.
	remedy string

	// copies are those of a lead that an erasure cannot reach; empty: none.
	copies string

	// outcomes reports whether a CRM has outcomes of leads, which are read from it.
	outcomes bool

	// sends reports whether a mail driver hands mails to a server, which can be checked.
	sends bool
}

func (o Opener) cmsDriver() driver[CMS] { return o.cmsDrivers()[o.Settings.CMSDriver] }

func (o Opener) crmDriver() driver[CRM] { return o.crmDrivers()[o.Settings.CRMDriver] }

// mailDriver returns the driver of mails, which is the zero value if there are none.
func (o Opener) mailDriver() driver[mail.Sender] { return o.mailDrivers()[o.Settings.MailDriver()] }

// CMS opens the driver of CMS_DRIVER.
func (o Opener) CMS() (CMS, error) { return o.cmsDriver().open() }

// CRM opens the driver of CRM_DRIVER.
func (o Opener) CRM() (CRM, error) { return o.crmDriver().open() }

// cmsDrivers returns the drivers of CMS_DRIVER by name.
func (o Opener) cmsDrivers() map[string]driver[CMS] {
	s := o.Settings
	return map[string]driver[CMS]{
		"file": {
			open: func() (CMS, error) {
				return cmsfile.Open(cmsfile.Options{
					Path:      s.ContentPath(),
					Sample:    s.CMSFile == "",
					ProjectID: s.SanityProjectID,
					Dataset:   s.SanityDataset,
					Dir:       s.DataDir,
					Log:       o.Log,
				})
			},
			remedy: "check whether the content file is valid, and the owner and mode of it and of DATA_DIR",
		},

		"sanity": {
			open: func() (CMS, error) {
				return sanity.New(sanity.Options{
					ProjectID:  s.SanityProjectID,
					Dataset:    s.SanityDataset,
					APIVersion: s.SanityAPIVersion,
					Token:      s.SanityToken,
					APIURL:     s.SanityAPIURL,
					Log:        o.Log,
					Observe:    o.Metrics.Call,
				}), nil
			},
			perSecond: 20,
			remedy: "check SANITY_PROJECT_ID, SANITY_DATASET, SANITY_API_VERSION and SANITY_API_URL " +
				"(404: one of them is wrong), whether SANITY_TOKEN is valid and has the role Editor " +
				"(401, 403), and the plan of the project",
			copies: "the history of the CMS",
		},
	}
}

// crmDrivers returns the drivers of CRM_DRIVER by name.
func (o Opener) crmDrivers() map[string]driver[CRM] {
	s := o.Settings
	vendor := driver[CRM]{
		open: func() (CRM, error) {
			return hubspot.New(hubspot.Options{
				Token:     s.HubSpotToken,
				BaseURL:   s.HubSpotAPIURL,
				Version:   s.HubSpotVersion,
				DealStage: s.HubSpotStage,
				Observe:   o.Metrics.Call,
				OnOmitted: func(text string) {
					o.Metrics.Gaps.Inc()
					o.Log.Warn().Str("reason", text).Msg("a contact or deal was stored without a property")
				},
			}), nil
		},
		perSecond: 5,
		remedy: "check whether HUBSPOT_TOKEN is valid and has the scopes in the driver's manual " +
			"(401, 403), HUBSPOT_API_VERSION and HUBSPOT_API_URL (404, 405, 410: one of them is wrong), " +
			"and the plan of the account",
		copies: "what HubSpot keeps: contacts that people deleted, for 90 days; " +
			"deals, if HUBSPOT_DEAL_STAGE was set before: set it again to erase them",
	}
	if s.HubSpotStage != "" {
		vendor.outcomes = true
		vendor.perSecond = 1.5 // a deal takes four more requests
		vendor.copies = "what HubSpot keeps: contacts and deals that people deleted, for 90 days; " +
			"former values of deals, and what your team has added"
	}

	return map[string]driver[CRM]{
		"file": {
			open:   func() (CRM, error) { return crmfile.Open(filepath.Join(s.DataDir, "crm")) },
			remedy: "check the owner and mode of DATA_DIR, and whether its disk is full",
		},
		"hubspot": vendor,
	}
}

// mailDrivers returns the drivers of [config.Settings.MailDriver] by name.
func (o Opener) mailDrivers() map[string]driver[mail.Sender] {
	s := o.Settings
	return map[string]driver[mail.Sender]{
		"file": {
			open:   func() (mail.Sender, error) { return mailfile.Open(s.MailPath()), nil },
			remedy: "check the owner and mode of DATA_DIR, and whether its disk is full",
		},

		"smtp": {
			open: func() (mail.Sender, error) {
				return smtp.New(smtp.Options{
					URL:     s.SMTPURL,
					From:    s.MailFrom.Address,
					SalesTo: s.SalesMailTo,
					Observe: o.Metrics.Call,
				}), nil
			},
			remedy: "check host, port, user and password in SMTP_URL, its certificate, MAIL_FROM " +
				"and SALES_MAIL_TO",
			copies: "sent mails in the mailboxes of the visitor and of SALES_MAIL_TO",
			sends:  true,
		},
	}
}

// contentSource identifies the source of content. Cache entries of another source are not
// served.
func (o Opener) contentSource() string {
	source := o.Settings.Lines("CMS_DRIVER")
	if o.Settings.CMSDriver == "file" {
		path, _ := filepath.Abs(o.Settings.ContentPath())
		source = append(source, path)
	}
	return strings.Join(source, " ")
}
