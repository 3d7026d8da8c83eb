package leadmail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"strings"
	"sync"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/compose"
	"siteapi/integrations/pdf"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
	"siteapi/resolvers/content"
	"siteapi/schema"
)

// NoMailReason returns the reason why the visitor of a lead has not received a mail. It
// is empty if the mail was sent, or if no reason is recorded.
func NoMailReason(l lead.Lead) lead.NoMailReason {
	for _, d := range l.Deliveries {
		code := d.Code
		if code == "" && d.Why() != "" {
			code = lead.MailFailed
		}
		if d.Target == lead.VisitorMail && d.Event == lead.Created && code != lead.MailUnconfirmed {
			return code
		}
	}

	switch {
	case l.InReview:
		return lead.MailInReview
	case l.Rejected:
		return lead.MailLeadRejected
	}
	return ""
}

// unsent returns the decision not to send a mail.
func unsent(code lead.NoMailReason) error { return &queue.UnsentError{Code: code} }

// SendVisitorMail sends the confirmation to a visitor, or the response to a request for
// deletion. Its result does not affect the state of the lead.
func (s *Service) SendVisitorMail(ctx context.Context, t *queue.Try) error {
	to := t.Address()
	switch {
	case t.Arrived(partOf(to)):
		return nil
	case s.Sender == nil:
		return unsent(lead.NoMailServer)
	case !s.Visitors:
		return unsent(lead.VisitorMailOff)
	case s.RefuseTests && mail.IsTest(to):
		return unsent(lead.TestAddress)
	}

	m, err := s.visitorMail(ctx, t, to)
	if err != nil {
		return err
	}
	s.address(m, t, lead.VisitorMail, to)
	err = s.sendPart(ctx, t, m)
	switch {
	case errors.Is(err, mail.ErrNoMailbox):
		return unsent(lead.NoMailbox)
	case errors.Is(err, mail.ErrRefused):
		return &queue.UnsentError{Code: lead.MailRefused, Err: err}
	}
	return err
}

// visitorMail composes the mail for a delivery to a visitor. Only confirmations are limited:
// an operator decides about the others.
func (s *Service) visitorMail(ctx context.Context, t *queue.Try, to string) (*mail.Message, error) {
	locale := schema.LocaleOrDefault(t.Locale)
	if t.Event() == lead.DeletionDeclined {
		m, err := s.declinedMail(ctx, t.Lead, locale)
		if err != nil {
			err = composing(err)
		}
		return m, err
	}

	address, err := s.addressHash(ctx, to)
	if err != nil {
		return nil, err
	}
	over, until, err := s.Store.ClaimMail(ctx, store.MailClaim{
		LeadID:  t.ID,
		Sending: t.Sending(),
		Address: address,
		PerHour: s.PerHour,
		Now:     time.Now(),
	})
	switch {
	case err != nil:
		return nil, err
	case over != "":
		return nil, &queue.UnsentError{Code: over, Until: until}
	}

	if to != t.Contact.Email { // The PDF leaves the address out. If this fails, it does within an hour.
		_, _ = s.PDFs.Cache.Clear(ctx, cache.Pattern(lead.PDFKey(t.ID)+"*"))
	}
	m, err := s.VisitorMail(ctx, t.Lead, locale)
	if err != nil {
		return nil, composing(err)
	}
	return m, nil
}

// SendSalesMail notifies sales of a lead, with a separate mail for each recipient. Of a
// request for deletion it also notifies the owner of the lead. The
// delivery is rejected only if all mails are. Recipients that already got the mail are
// skipped.
func (s *Service) SendSalesMail(ctx context.Context, t *queue.Try) error {
	if s.Sender == nil {
		return &upstream.Error{
			System: "mail",
			Op:     "notifying sales",
			Kind:   upstream.Rejected,
			Detail: "SMTP_URL was not set",
		}
	}
	compose, recipients := s.SalesMail, s.SalesTo
	if t.Event() == lead.DeletionRequested {
		compose, recipients = s.deletionMail, s.withOwner(t.Owner)
	}
	m, err := compose(ctx, t.Lead, s.SalesLocale)
	if err != nil {
		return composing(err)
	}

	errs := make([]error, len(recipients))
	var group sync.WaitGroup
	for i, to := range recipients {
		if t.Arrived(partOf(to)) {
			continue
		}
		own := *m
		s.address(&own, t, lead.SalesMail, to)
		own.Name = fmt.Sprintf("%s-%d", own.Name, i+1)
		group.Go(func() { errs[i] = s.sendPart(ctx, t, &own) })
	}
	group.Wait()
	return s.deliveryError(errs)
}

// deliveryError returns the error of a delivery that consists of several mails. A retry
// skips the mails that were sent or wait longer.
func (s *Service) deliveryError(errs []error) error {
	var rejected, unconfirmed error
	var next *queue.UnsentError
	sent, tried := len(errs), false
	for _, err := range errs {
		unsent, waits := errors.AsType[*queue.UnsentError](err)
		tried = tried || waits && unsent.Tried
		switch {
		case err == nil:
		case errors.Is(err, lead.ErrUnconfirmed):
			unconfirmed = err
		case waits && next != nil && next.Until.Before(unsent.Until):
		case waits:
			next = unsent
		case upstream.KindOf(err) == upstream.Rejected:
			rejected = err
			sent--
		default:
			return err
		}
	}

	switch {
	case next != nil:
		next.Tried = tried
		return next
	case rejected != nil && sent > 0:
		s.Log.Warn().Err(rejected).
			Msg("a recipient of SALES_MAIL_TO was rejected: only the others got the mail")
		return unconfirmed
	}
	return cmp.Or(rejected, unconfirmed)
}

// sendPart sends a mail and records that it was sent.
func (s *Service) sendPart(ctx context.Context, t *queue.Try, m *mail.Message) error {
	err := t.Send(ctx, partOf(m.To), func(handOver func() error) error {
		m.HandOver = handOver
		return s.Sender.Send(ctx, m)
	})
	if err != nil {
		return err
	}
	if err := t.Arrive(ctx, partOf(m.To)); err != nil {
		s.Log.Warn().Err(err).Msg("cannot record a sent mail: it may be sent again if the process ends now")
	}
	return nil
}

// partOf returns the name under which the progress of a delivery records a recipient.
func partOf(address string) string {
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:8])
}

// composing returns the error of a mail that cannot be composed at the moment.
func composing(err error) error {
	detail := fmt.Sprintf("unexpected error of type %T", err) // the text of the error may quote the lead
	if known, ok := errors.AsType[*schema.Error](err); ok {
		detail = known.Message
	} else if errors.Is(err, content.ErrUnavailable) {
		detail = content.ErrUnavailable.Error()
	}
	return &upstream.Error{System: "mail", Op: "composing", Kind: upstream.Unavailable, Detail: detail}
}

// VisitorMail composes the mail to a visitor with the current PDF. The recipient
// and id are not set.
func (s *Service) VisitorMail(
	ctx context.Context, l *lead.Lead, locale schema.Locale,
) (*mail.Message, error) {
	file, err := s.PDFs.QuotePDF(ctx, l.ID, &locale)
	if err != nil {
		return nil, err
	}

	d, settings := s.PDFs.Summarized(ctx, l, locale)
	m, err := compose.Visitor(&d, s.page(l), mail.Attachment{
		Name:        file.FileName,
		ContentType: file.ContentType,
		Content:     file.Content,
	})

	m.ReplyTo = s.replyTo(settings)
	m.From = s.mailFrom(&d)
	return &m, err
}

// page returns the absolute address of a lead's page, or an empty string if it is not known.
func (s *Service) page(l *lead.Lead) string {
	if s.SiteURL == "" {
		return ""
	}
	return s.SiteURL + l.PagePath()
}

// replyTo returns the address of the firm for replies, or an empty string if it has none.
func (s *Service) replyTo(settings *content.Settings) string {
	if settings == nil || settings.Shown.ContactEmail == nil ||
		!schema.IsEmail(*settings.Shown.ContactEmail) {
		return ""
	}
	return *settings.Shown.ContactEmail
}

// SalesMail composes the mail to sales. The recipient and id are not set.
func (s *Service) SalesMail(ctx context.Context, l *lead.Lead, locale schema.Locale) (*mail.Message, error) {
	d, _ := s.PDFs.Summarized(ctx, l, locale)

	var others []compose.Reference
	for other, err := range s.Store.Leads(ctx,
		store.Filter{Session: l.SessionID, Newest: true, Limit: maxOthers}) {
		if err != nil {
			return nil, err
		}
		if len(others) == maxOthers {
			break
		}
		if other.ID != l.ID {
			others = append(others, s.reference(other.ID))
		}
	}

	m, err := compose.Sales(&d, s.reference(l.ID).Link, others...)
	m.ReplyTo = l.Contact.Email
	m.From = s.mailFrom(&d)
	return &m, err
}

// maxOthers is how many other leads of the session a mail to sales names.
const maxOthers = 5

// reference returns the reference of a lead and its address in the inbox, if that is known.
func (s *Service) reference(id string) compose.Reference {
	r := compose.Reference{Name: lead.Reference(id)}
	r.Link = Link(s.Inbox, r.Name)
	return r
}

// Link returns the address of a lead in the inbox, or an empty string if the inbox has none.
func Link(inbox, reference string) string {
	if inbox == "" {
		return ""
	}
	return inbox + "#leads?" + url.Values{"search": {reference}}.Encode()
}

func (s *Service) mailFrom(d *pdf.Document) netmail.Address {
	from := s.From
	if from.Name == "" {
		from.Name = d.Company.Name
	}
	return from
}

// address sets the recipient, id and name of a mail.
func (s *Service) address(m *mail.Message, t *queue.Try, target lead.Target, to string) {
	m.To = to
	m.ID = s.messageID(t.ID, target, t.Event(), t.Number())
	m.Name = t.ID + "-" + string(target)
	if t.Event() != lead.Created {
		m.Name += "-" + string(t.Event())
	}
	m.Name = strings.ReplaceAll(m.Name, "_", "-")
	if t.Number() > 1 {
		m.Name += fmt.Sprintf("-%d", t.Number()-1)
	}
}

// messageID returns the id of a mail by what identifies its sending: it is the same in every
// attempt and does not reveal the lead's id, which opens the PDF.
func (s *Service) messageID(sending ...any) string {
	sum := sha256.Sum256(fmt.Appendln(nil, sending...))
	return hex.EncodeToString(sum[:16]) + "@" + mail.Domain(s.From.Address)
}
