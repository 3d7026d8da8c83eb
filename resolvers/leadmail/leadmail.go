// Package leadmail sends the mails about leads: thanks to a visitor, news to sales, and
// to an operator which leads it was given. The queue calls it, repeats what fails, and
// records what is not sent, with a reason for operators.
package leadmail

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	netmail "net/mail"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/mail"
	"siteapi/integrations/mail/mailbox"
	"siteapi/integrations/queue"
	"siteapi/integrations/ratelimit"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/resolvers/quotepdf"
	"siteapi/schema"
)

// Settings say how mails about leads are sent.
type Settings struct {
	Sender      mail.Sender     // nil: none are sent
	From        netmail.Address // the name is optional: the company's is the default
	SalesTo     []string        // bare addresses, each of which gets a mail of its own
	SalesLocale schema.Locale   // language of those mails
	Visitors    bool            // whether visitors get mails
	PerHour     int             // most mails to visitors in an hour; 0: neither they nor those of a network are limited
	Inbox       string          // absolute address of the inbox; empty: mails have the reference only
	Key         []byte          // keys the hashes by which mails to visitors are limited

	// RefuseTests says that the visitor's mail is not sent to addresses reserved for tests.
	RefuseTests bool
}

// Deps are the dependencies and settings of a [Service].
type Deps struct {
	Settings
	Claims  store.Mails
	Quotes  store.Quotes
	Queue   *queue.Queue
	Content *content.Service
	PDFs    *quotepdf.Resolver
	Log     zerolog.Logger
	Now     func() time.Time
}

// Service writes and sends mails about leads.
type Service struct {
	Deps
	formats *schema.Formats
}

// New returns a service over its dependencies.
func New(d Deps) *Service { return &Service{Deps: d, formats: schema.NewFormats()} }

// addressHash returns the keyed hash of an address, the same for all spellings that reach
// one mailbox ([mailbox.Key]), and for those with a tag behind a plus sign.
func (s *Service) addressHash(address string) string {
	key := mailbox.Key(address)
	at := max(strings.LastIndexByte(key, '@'), 0)
	local, _, _ := strings.Cut(key[:at], "+")
	return hash(s.Key, "address", local+key[at:])
}

// NetworkHash returns the keyed hash of a client's network, or nothing if no mails are
// sent to visitors.
func (s *Service) NetworkHash(client string) string {
	if s.Sender == nil || !s.Visitors || client == "" {
		return ""
	}
	return hash(s.Key, "network", ratelimit.Networks(client)[0].Name)
}

func hash(key []byte, kind, value string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(kind + "\x00" + value))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
