package leadmail

import (
	"context"
	"slices"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/compose"
	"siteapi/schema"
)

// withOwner returns the recipients of mails to sales and the owner of a lead, who may be one
// of them. An address that is reserved for tests is left out.
func (s *Service) withOwner(owner string) []string {
	known := func(to string) bool { return strings.EqualFold(to, owner) }
	if owner == "" || slices.ContainsFunc(s.SalesTo, known) || s.RefuseTests && mail.IsTest(owner) {
		return s.SalesTo
	}
	return append(slices.Clone(s.SalesTo), owner)
}

// deletionMail composes the mail that notifies sales and the owner of a request for deletion.
// The recipient and id are not set.
func (s *Service) deletionMail(
	ctx context.Context, l *lead.Lead, locale schema.Locale,
) (*mail.Message, error) {
	d, _ := s.PDFs.Summarized(ctx, l, locale)
	m, err := compose.DeletionRequested(&d, s.reference(l.ID))
	m.From = s.mailFrom(&d)
	return &m, err
}

// declinedMail composes the mail that responds to a visitor's request for deletion, with the
// reason. The recipient and id are not set.
func (s *Service) declinedMail(
	ctx context.Context, l *lead.Lead, locale schema.Locale,
) (*mail.Message, error) {
	d, settings := s.PDFs.Summarized(ctx, l, locale)
	m, err := compose.DeletionDeclined(&d, s.page(l))
	m.ReplyTo = s.replyTo(settings)
	m.From = s.mailFrom(&d)
	return &m, err
}
