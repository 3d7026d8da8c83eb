package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/eml"
	"siteapi/integrations/store"
	"siteapi/resolvers/leadmail"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

// mailSettings are the settings that mails are written with, beside those of the database.
func mailSettings() []string {
	return append(databaseSettings(), "CMS_DRIVER", "CMS_FILE", "SANITY_*", "CONTENT_TYPES", "LOGO_HOSTS", "SITE_URL",
		"ADMIN_PAGE", "SMTP_URL", "MAIL_FROM")
}

func (d Drivers) mailCommands() *cobra.Command {
	return group("mail", "look at the mails about leads, and try the mail server",
		d.command("preview", "write a mail about a lead to an .eml file, and send nothing",
			mailSettings(), opened{&previewMail{}},
			"siteapi mail preview --lead LR4LB5AK --locale es --output mail.eml"),

		d.command("test", "send the visitor's mail of a made-up lead", mailSettings(), &testMail{},
			"siteapi mail test --to me@example.com"),
	)
}

// oneLead is a store that holds a single lead.
type oneLead struct {
	store.Quotes
	lead lead.Lead
}

// Lead implements [store.Quotes].
func (s oneLead) Lead(context.Context, string) (lead.Lead, error) { return s.lead, nil }

func localeVar(f *pflag.FlagSet, locale *schema.Locale) {
	enumVar(f, locale, "locale", "in this `language`", schema.AllLocale)
}

// compose writes a mail about a lead, in a language or else in that of the lead.
func (c *call) compose(
	ctx context.Context, l lead.Lead, locale schema.Locale,
	write func(*leadmail.Service, context.Context, *lead.Lead, schema.Locale) (*mail.Message, error),
) (m *mail.Message, err error) {
	if c.settings.MailFrom.Address == "" {
		return nil, errors.New("MAIL_FROM: is required: name the address that mails come from")
	}
	mailer, err := c.drivers.OpenMailer(c.settings, oneLead{lead: l})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mailer.Content.Close(ctx)) }()

	shown := schema.LocaleOrDefault(cmp.Or(string(locale), l.Locale))
	if m, err = write(mailer, ctx, &l, shown); err != nil {
		return nil, err
	}
	m.To, m.Date = l.Contact.Email, time.Now().Truncate(time.Second)
	return m, nil
}

// previewMail writes a mail about a stored lead to a file, and sends nothing.
type previewMail struct {
	lead, kind string
	locale     schema.Locale
	output     output
}

func (cmd *previewMail) flags(f *pflag.FlagSet) {
	textVar(f, &cmd.lead, "lead", "id or PDF reference of the `lead`")
	_ = cobra.MarkFlagRequired(f, "lead")
	enumVar(f, &cmd.kind, "mail", "the `mail`, visitor unless it is given", []string{"visitor", "sales"})
	localeVar(f, &cmd.locale)
	cmd.output.flags(f, "`file` to write, readable by you only; left out: standard output")
}

func (cmd *previewMail) run(ctx context.Context, c *call) error {
	l, err := c.rules.Find(ctx, cmd.lead)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%s: there is no such lead: `siteapi leads list` lists them", cmd.lead)
	}
	if err != nil {
		return err
	}

	write := (*leadmail.Service).VisitorMail
	if cmd.kind == "sales" {
		write = (*leadmail.Service).SalesMail
	}
	m, err := c.compose(ctx, l, cmd.locale, write)
	if err != nil {
		return err
	}
	m.ID = "preview@" + mail.Domain(m.From.Address)

	return cmd.output.write(c, func(w io.Writer) (string, error) {
		data, err := eml.Encode(m)
		if err == nil {
			opened := operators.AuditEntry(actor(), schema.AuditActionOpened, l.ID, nil, time.Now())
			err = c.db.Tables.Record(ctx, opened)
		}
		if err == nil {
			_, err = w.Write(data)
		}
		return "a mail", err
	})
}

// testMail sends the mail of a made-up lead.
type testMail struct {
	to     string
	locale schema.Locale
}

func (cmd *testMail) flags(f *pflag.FlagSet) {
	textVar(f, &cmd.to, "to", "the `address` to send it to")
	_ = cobra.MarkFlagRequired(f, "to")
	localeVar(f, &cmd.locale)
}

func (cmd *testMail) run(ctx context.Context, c *call) error {
	sender := c.drivers.OpenMail(c.settings)
	if sender == nil {
		return errors.New("SMTP_URL: is required: name the mail server")
	}

	now := time.Now().UTC()
	made := lead.Lead{
		ID:          fmt.Sprintf("testmail-%d", now.UnixNano()),
		Contact:     lead.Contact{FirstName: "Ana", LastName: "Pop", Email: strings.TrimSpace(cmd.to)},
		Selections:  lead.Selections{ProjectType: "web-app", Features: []string{"blog", "payments"}},
		Estimate:    lead.Estimate{Min: 9000, Max: 14000, Currency: "EUR"},
		SubmittedAt: now,
	}
	m, err := c.compose(ctx, made, cmd.locale, (*leadmail.Service).VisitorMail)
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
