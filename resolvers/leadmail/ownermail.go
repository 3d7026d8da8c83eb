package leadmail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/mail"
	"siteapi/integrations/mail/compose"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// notifyTimeout is how long it may take to store that an owner is to be notified.
const notifyTimeout = 5 * time.Second

// NotifyOwner has a mail sent to an operator about leads that another one assigned to it, even
// if the time of the request ended with the assignment. A failure is logged, and changes nothing
// about the assignment.
func (s *Service) NotifyOwner(ctx context.Context, owner string, leadIDs []string) {
	caller := schema.CallerFrom(ctx).Operator
	toOneself := owner == caller.Email || // The subject may be the address.
		strings.EqualFold(owner, strings.TrimPrefix(caller.Actor, schema.AccountPrefix))
	if s.Sender == nil || owner == "" || len(leadIDs) == 0 || toOneself {
		return
	}

	storing, done := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	defer done()
	key, err := s.Claims.HashKey(storing)
	if err == nil {
		err = s.Queue.NotifyOwner(storing, ownerHash(key, owner), leadIDs)
	}
	if err != nil {
		s.Log.Warn().Ctx(ctx).Err(err).Msg("an owner gets no mail")
	}
}

// ownerHash returns the hash of an owner's address. Its key is that of the database, since a
// mail may wait while the settings change.
func ownerHash(key []byte, owner string) string { return hash(key, "owner", mailbox.Key(owner)) }

// SendOwnerMail sends an operator the references of leads that were assigned to it. Those that
// were erased, or assigned to another one since, are left out. The mail holds no contact data.
func (s *Service) SendOwnerMail(ctx context.Context, m queue.OwnerMail) error {
	key, err := s.Claims.HashKey(ctx)
	if err != nil {
		return err
	}
	var given []lead.Lead
	for _, id := range m.Leads {
		l, err := s.Quotes.Lead(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		case l.Owner != "" && ownerHash(key, l.Owner) == m.Owner:
			given = append(given, l)
		}
	}
	if left := len(m.Leads) - len(given); left > 0 {
		s.Log.Info().Int64("job", m.ID).Int("leads", len(m.Leads)).Int("left_out", left).
			Msg("a mail to an owner leaves out leads that were erased or given to another one")
	}
	if s.Sender == nil || len(given) == 0 {
		return nil
	}
	if s.RefuseTests && mail.IsTest(given[0].Owner) {
		s.Log.Info().Int64("job", m.ID).Msg("an owner gets no mail: the address is reserved for tests")
		return nil
	}

	message, err := s.ownerMail(ctx, given)
	if err != nil {
		return composing(err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "owner\x00%d\x00%s", m.ID, m.Owner))
	message.ID = hex.EncodeToString(sum[:16]) + "@" + mail.Domain(s.From.Address)
	message.Name = fmt.Sprintf("%s-owner-mail-%d", given[0].ID, m.ID)
	message.To, message.Date = given[0].Owner, m.CreatedAt
	return s.Sender.Send(ctx, message)
}

// ownerMail composes the mail, in the language of the first lead. It lacks recipient, date
// and id.
func (s *Service) ownerMail(ctx context.Context, given []lead.Lead) (*mail.Message, error) {
	locale, ok := schema.ParseLocale(given[0].Locale)
	if !ok {
		locale = schema.DefaultLocale
	}

	references := make([]string, len(given))
	for i, l := range given {
		references[i] = lead.Reference(l.ID)
	}
	inbox := s.Inbox
	if inbox != "" && len(given) == 1 {
		inbox += "#leads?" + url.Values{"search": references}.Encode()
	}

	d, _ := s.mailDocument(ctx, &given[0], locale)
	m, err := compose.Assigned(&d, references, inbox)
	m.From = s.mailFrom(&d)
	return &m, err
}
