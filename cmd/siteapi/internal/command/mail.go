package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/eml"
	"siteapi/integrations/store"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/leads"
	"siteapi/schema"
	"siteapi/schema/request"
)

func (d commands) mailCommands() *cobra.Command {
	settings := append(databaseSettings(), "CMS_DRIVER", "CONTENT_TYPES", "LOGO_HOSTS",
		"SITE_URL", "ADMIN_PAGE", "SMTP_URL", "MAIL_FROM")

	preview := d.command("preview", "write a mail about a lead to an .eml file without sending it",
		settings, previewMail,
		"siteapi mail preview --lead LR4LB5AK --locale es --drafts --output mail.eml")
	preview.Flags().String("lead", "", "id, PDF reference or address of the `lead`")
	_ = preview.MarkFlagRequired("lead")
	preview.Flags().String("mail", "visitor", "the `mail`: visitor or sales")
	preview.Flags().String("locale", "", "`language` of the mail; default: that of the lead")
	preview.Flags().Bool("drafts", false,
		"show the current texts and settings of the CMS, also unpublished ones")
	outputFlags(preview.Flags(), "`file` to write, readable only by you; default: standard output")

	test := d.command("test", "send the visitor's mail about a sample lead", settings, testMail,
		"siteapi mail test --to me@example.com")
	test.Flags().String("to", "", "`address` of the recipient")
	_ = test.MarkFlagRequired("to")

	return group("mail", "preview mails about leads, and test the mail server", preview, test)
}

// oneLead is a store with a single lead.
type oneLead struct{ lead lead.Lead }

// Lead implements [quotepdf.LeadStore].
func (s oneLead) Lead(context.Context, string) (lead.Lead, error) { return s.lead, nil }

// compose writes a mail about a lead, once the content is open. The default language is
// that of the lead.
func (c *call) compose(ctx context.Context, l lead.Lead, kind, locale string) (*mail.Message, error) {
	if c.settings.MailFrom.Address == "" {
		return nil, errors.New("MAIL_FROM is required: set the sender's address")
	}
	documents, err := c.open.PDFs(c.content, c.content.Cache, oneLead{lead: l})
	if err != nil {
		return nil, err
	}
	parts := leadmail.Service{Content: c.content, PDFs: documents}
	if c.db != nil {
		parts.Store = c.db.Store // It lists the other leads of a session in the mail to sales.
	}
	mailer := c.open.Mails(parts)

	write := mailer.VisitorMail
	if kind == "sales" {
		write = mailer.SalesMail
	}
	m, err := write(ctx, &l, schema.LocaleOrDefault(cmp.Or(locale, l.Locale)))
	if err != nil {
		return nil, err
	}
	m.To = l.Contact.Email
	return m, nil
}

// previewMail writes a mail about a stored lead to a file.
func previewMail(ctx context.Context, c *call) error {
	locale, kind := c.flag("locale"), c.flag("mail")
	if _, known := schema.ParseLocale(locale); locale != "" && !known {
		return fmt.Errorf("--locale: must be one of %v", schema.Locales())
	}
	if kind != "visitor" && kind != "sales" {
		return errors.New("--mail: must be visitor or sales")
	}
	if err := c.openDatabase(ctx); err != nil {
		return err
	}
	if err := c.openContent(); err != nil {
		return err
	}

	l, err := (&leads.Resolver{Store: c.db.Store}).Find(ctx, c.flag("lead"))
	if err == nil {
		l, err = c.db.Store.Lead(ctx, l.ID) // The whole lead includes its texts.
	}
	if err != nil {
		return err
	}
	if c.flag("drafts") == "true" {
		ctx = request.WithCaller(ctx, request.Caller{Preview: "drafts"})
	}
	m, err := c.compose(ctx, l, kind, locale)
	if err != nil {
		return err
	}
	m.ID = "preview@" + mail.Domain(m.From.Address)

	return c.write(func(w io.Writer) (string, error) {
		data, err := eml.Encode(m)
		if err == nil {
			err = c.db.Store.Record(ctx, store.AuditEntry{
				At:     time.Now(),
				Actor:  actor(),
				Action: string(schema.AuditActionOpened),
				Lead:   l.ID,
				Detail: "{}",
			})
		}
		if err == nil {
			_, err = w.Write(data)
		}
		return "a mail", err
	})
}

// testMail sends the visitor's mail about a sample lead.
func testMail(ctx context.Context, c *call) error {
	sender := c.open.Mail()
	if sender == nil {
		return errors.New("SMTP_URL is required: set the mail server")
	}

	if err := c.openContent(); err != nil {
		return err
	}
	texts := ""
	if snap, err := c.content.Read(ctx, schema.DefaultLocale); err == nil && snap.Texts != nil {
		texts = snap.Texts.Body
	}

	now := time.Now().UTC()
	id := fmt.Sprintf("testmail-%d", now.UnixNano())
	m, err := c.compose(ctx, lead.Lead{
		ID:          id,
		Contact:     lead.Contact{FirstName: "Ana", LastName: "Pop", Email: c.flag("to")},
		Selections:  lead.Selections{ProjectType: "web-app", Features: []string{"blog", "payments"}},
		Estimate:    lead.Estimate{Min: 9000, Max: 14000, Currency: "EUR"},
		SubmittedAt: now,
		Texts:       texts,
	}, "visitor", "")
	if err != nil {
		return err
	}
	m.Subject, m.Name, m.ID = "Test: "+m.Subject, id, id+"@"+mail.Domain(m.From.Address)

	if err := sender.Send(ctx, m); err != nil {
		return err
	}
	if c.settings.MailDriver() == "file" {
		c.printLine("the mail is in %s", c.settings.MailPath())
	} else {
		c.printLine("the mail server accepted the mail")
	}
	return nil
}
