// Package leadmail sends the mails about leads: a confirmation to the visitor, a
// notification to sales, and a notification of newly assigned leads to an operator. The
// queue calls it, retries failures, and records mails that are not sent with a reason for
// operators.
package leadmail

import (
	"context"
	netmail "net/mail"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/mail"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/ratelimit"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/resolvers/quotepdf"
	"siteapi/schema"
)

// Settings configures the mails about leads.
type Settings struct {
	Sender      mail.Sender     // nil: none are sent
	From        netmail.Address // the name is optional: the company's is the default
	SalesTo     []string        // bare addresses; each gets a separate mail
	SalesLocale schema.Locale   // language of those mails
	Visitors    bool            // whether visitors get mails
	PerHour     int             // limit of mails to visitors per hour; 0: no limit, and none per network
	SiteURL     string          // absolute URL of the service; empty: mails to visitors have no link
	Inbox       string          // absolute URL of the inbox; empty: mails have only the reference

	// RefuseTests suppresses mails to visitors and owners whose address is reserved for
	// tests.
	RefuseTests bool
}

// Service composes and sends mails about leads.
type Service struct {
	Settings
	Store   *store.Store
	Content *content.Service
	PDFs    *quotepdf.Resolver
	Log     zerolog.Logger
}

// addressHash returns the keyed hash of an address. It is the same for all spellings of
// one mailbox ([mailbox.Key]), with or without a tag after a plus sign. Gmail ignores dots,
// and has two domains.
func (s *Service) addressHash(ctx context.Context, address string) (string, error) {
	key := mailbox.Key(address)
	at := max(strings.LastIndexByte(key, '@'), 0)
	local, _, _ := strings.Cut(key[:at], "+")
	domain := key[at:]
	if domain == "@gmail.com" || domain == "@googlemail.com" {
		local, domain = strings.ReplaceAll(local, ".", ""), "@gmail.com"
	}
	return s.Store.Hash(ctx, "address", local+domain)
}

// IsFull reports whether an address got as many mails as it may in [store.AddressWindow].
func (s *Service) IsFull(ctx context.Context, address string) (bool, error) {
	hash, err := s.addressHash(ctx, address)
	if err != nil {
		return false, err
	}
	n, err := s.Store.CountMails(ctx, hash, time.Now())
	return n >= store.MailsPerAddress, err
}

// NetworkHash returns the keyed hash of a client's network, or an empty text if visitors
// get no mails.
func (s *Service) NetworkHash(ctx context.Context, client string) (string, error) {
	if s.Sender == nil || !s.Visitors || client == "" {
		return "", nil
	}
	return s.Store.Hash(ctx, "network", ratelimit.Networks(client)[0].Name)
}
