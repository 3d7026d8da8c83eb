package leadmail

import (
	"context"
	"fmt"
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/compose"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/request"
)

// NotifyOwner returns the keyed hash of the address of an operator who gets a mail about
// leads that the caller assigns. It is empty if there is no mail: leads are unassigned or
// assigned to oneself, or no mails are sent.
func (s *Service) NotifyOwner(ctx context.Context, owner string) (string, error) {
	caller := request.CallerFrom(ctx).Operator
	toOneself := owner == caller.Email || // The subject may be the address.
		strings.EqualFold(owner, strings.TrimPrefix(caller.Actor, request.AccountPrefix))
	if s.Sender == nil || owner == "" || toOneself {
		return "", nil
	}
	return s.ownerHash(ctx, owner)
}

// ownerHash returns the keyed hash of an owner's address.
func (s *Service) ownerHash(ctx context.Context, owner string) (string, error) {
	return s.Store.Hash(ctx, "owner", mailbox.Key(owner))
}

// SendOwnerMail sends an operator the references of newly assigned leads. It omits leads
// that were erased or reassigned in the meantime. The mail has no contact data.
func (s *Service) SendOwnerMail(ctx context.Context, m queue.OwnerMail) error {
	var assigned []lead.Lead
	for l, err := range s.Store.Leads(ctx, store.Filter{IDs: m.Leads}) {
		if err != nil {
			return err
		}
		owner, err := s.ownerHash(ctx, l.Owner)
		if err != nil {
			return err
		}
		if l.Owner != "" && owner == m.Owner {
			assigned = append(assigned, l)
		}
	}
	if omitted := len(m.Leads) - len(assigned); omitted > 0 {
		s.Log.Info().Int64("job", m.ID).Int("leads", len(m.Leads)).Int("omitted", omitted).
			Msg("omitting erased or reassigned leads from a mail to an owner")
	}
	switch {
	case len(assigned) == 0:
		return unsent("")
	case s.Sender == nil:
		return unsent(lead.NoMailServer)
	case s.RefuseTests && mail.IsTest(assigned[0].Owner):
		return unsent(lead.TestAddress)
	}

	message, err := s.ownerMail(ctx, assigned)
	if err != nil {
		return composing(err)
	}
	message.To = assigned[0].Owner
	message.ID = s.messageID("owner", m.ID, m.Owner)
	message.Name = fmt.Sprintf("%s-owner-mail-%d", assigned[0].ID, m.ID)
	return m.Send(ctx, "owner", func(handOver func() error) error {
		message.HandOver = handOver
		return s.Sender.Send(ctx, message)
	})
}

// ownerMail composes the mail, in the language of the first lead. The recipient and id
// are not set.
func (s *Service) ownerMail(ctx context.Context, assigned []lead.Lead) (*mail.Message, error) {
	references := make([]string, len(assigned))
	for i, l := range assigned {
		references[i] = lead.Reference(l.ID)
	}
	inbox := s.Inbox
	if len(assigned) == 1 {
		inbox = s.reference(assigned[0].ID).Link
	}

	d, _ := s.PDFs.Summarized(ctx, &assigned[0], schema.LocaleOrDefault(assigned[0].Locale))
	m, err := compose.Assigned(&d, references, inbox)
	m.From = s.mailFrom(&d)
	return &m, err
}
