package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/eml"
	"siteapi/integrations/store"
	"siteapi/resolvers"
	"siteapi/schema"
)

// mailSettings are the settings that mails are written with, beside those of the database.
func mailSettings() []string {
	return append(databaseSettings(), "CMS_DRIVER", "CMS_FILE", "SANITY_*", "CONTENT_TYPES", "LOGO_HOSTS", "SITE_URL",
		"ADMIN_PAGE", "SMTP_URL", "MAIL_FROM")
}

// oneLead is a store that holds a single lead.
type oneLead struct {
	store.Quotes
	lead lead.Lead
}

// Lead implements [store.Quotes].
func (s oneLead) Lead(context.Context, string) (lead.Lead, error) { return s.lead, nil }

// compose writes a mail about a lead, in the language of --locale or else of the lead.
func (c *call) compose(ctx context.Context, l lead.Lead) (m *mail.Message, err error) {
	if c.settings.MailFrom.Address == "" {
		return nil, errors.New("MAIL_FROM: is required: name the address that mails come from")
	}
	mailer, err := c.OpenMailer(c.settings, oneLead{lead: l})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mailer.Content.Close(ctx)) }()

	locale, ok := schema.ParseLocale(cmp.Or(c.texts["locale"], l.Locale))
	if !ok {
		locale = schema.DefaultLocale
	}
	write := (*resolvers.Resolver).VisitorMail
	if c.texts["mail"] == "sales" {
		write = (*resolvers.Resolver).SalesMail
	}
	if m, err = write(mailer, ctx, &l, locale); err != nil {
		return nil, err
	}
	m.To, m.Date = l.Contact.Email, time.Now().Truncate(time.Second)
	return m, nil
}

// previewMail writes a mail about a stored lead to a file, and sends nothing.
func previewMail(ctx context.Context, c *call) error {
	if err := c.openDatabase(ctx); err != nil {
		return err
	}

	c.args = []string{c.texts["lead"]}
	found, err := c.named(ctx)
	if err != nil {
		return err
	}

	l, err := c.db.Quotes.Lead(ctx, found[0].ID)
	if err != nil {
		return err
	}

	m, err := c.compose(ctx, l)
	if err != nil {
		return err
	}
	m.ID = "preview@" + mail.Domain(m.From.Address)

	return c.writeOutput(func(w io.Writer) (string, error) {
		data, err := eml.Encode(m)
		if err == nil {
			_, err = w.Write(data)
		}
		return "a mail", err
	})
}

// testMail sends the mail of a made-up lead.
func testMail(ctx context.Context, c *call) error {
	sender := c.OpenMail(c.settings)
	if sender == nil {
		return errors.New("SMTP_URL: is required: name the mail server")
	}

	now := time.Now().UTC()
	m, err := c.compose(ctx, lead.Lead{
		ID:          fmt.Sprintf("testmail-%d", now.UnixNano()),
		Contact:     lead.Contact{FirstName: "Ana", LastName: "Pop", Email: strings.TrimSpace(c.texts["to"])},
		Selections:  lead.Selections{ProjectType: "web-app", Features: []string{"blog", "payments"}},
		Estimate:    lead.Estimate{Min: 9000, Max: 14000, Currency: "EUR"},
		SubmittedAt: now,
	})
	if err != nil {
		return err
	}

	m.Subject = "Test: " + m.Subject
	m.Name = fmt.Sprintf("testmail-%d", now.UnixNano())
	m.ID = m.Name + "@" + mail.Domain(m.From.Address)

	if err := sender.Send(ctx, m); err != nil {
		return err
	}

	if c.settings.SMTPURL == nil {
		c.say("the mail is in %s", c.settings.MailPath())
	} else {
		c.say("the mail server has taken the mail")
	}
	return nil
}
