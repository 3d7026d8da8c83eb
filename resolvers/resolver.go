// Package resolvers holds all behaviour of the service. The generated *.resolvers.go
// files only call the functions and methods of the files beside them, which use outside
// systems through the contracts in integrations. Both endpoints, GraphQL and REST, run
// the resolvers through package executor.
//
// Dependencies run in one direction. Packages below (content, leads, live, price, executor,
// then health) know nothing of this one. Here, resolver.go, errors.go and hints.go come first,
// then a file per feature, of which quote.go uses estimate.go and mail.go uses quotepdf.go, and
// last the generated files.
package resolvers

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	netmail "net/mail"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"
	"golang.org/x/text/language"

	"siteapi/integrations/cache"
	"siteapi/integrations/mail"
	"siteapi/integrations/pdf"
	"siteapi/integrations/store"
	"siteapi/integrations/turnstile"
	"siteapi/resolvers/content"
	"siteapi/resolvers/health"
	"siteapi/resolvers/leads"
	"siteapi/resolvers/live"
	"siteapi/schema"
)

// Renderer draws the PDF summary of a quote. Equal documents give equal bytes.
type Renderer interface {
	Render(ctx context.Context, d pdf.Document) ([]byte, error)
}

// LogoLoader fetches a logo in a form that a Renderer can draw.
type LogoLoader interface {
	Load(ctx context.Context, url string) ([]byte, error)
}

// Deps are the dependencies and settings of the resolvers. A field is required unless its
// comment says otherwise.
type Deps struct {
	Content *content.Service
	Cache   cache.Cache

	Quotes   store.Quotes
	Audit    store.Audit
	Sessions store.OperatorSessions
	Prices   store.Prices
	PDF      Renderer
	Logo     LogoLoader // optional: without it, documents have no logo
	Log      zerolog.Logger
	Now      func() time.Time
	NewID    func() string // returns an opaque id with at least 122 random bits

	Operators *leads.Service
	Live      *live.Feed
	Checks    []health.Check // checks of this machine, for serviceHealth
	Version   string         // version of the program

	SessionRetention, LeadRetention, AuditRetention time.Duration // 0: unlimited

	// ExportKey seals the cursors of exports. It is the same at all instances.
	ExportKey []byte

	// MinTime is the shortest plausible time from a session's first tracked state to its
	// lead. 0: any time is plausible.
	MinTime time.Duration

	// TrackContact says whether trackQuote keeps contact hints: TrackContactOn,
	// TrackContactConsent or TrackContactOff.
	TrackContact string

	// Challenge verifies the token of a bot check. nil: leads need no token.
	Challenge *turnstile.Verifier

	Development bool // log likely mistakes in requests

	Mail Mail

	// Count counts events, such as "webhook", by a locale or an outcome. Optional.
	Count func(event, detail string)

	// ObserveDatabase is told of each operation of the database that a visitor waited for,
	// such as "submit", and when it began. Optional.
	ObserveDatabase func(operation string, began time.Time, err error)
}

// Mail says how mails about leads are sent.
type Mail struct {
	Sender   mail.Sender // nil: none are sent
	Claims   store.Mails
	From     netmail.Address // the name is optional: the company's is the default
	SalesTo  []string        // bare addresses, each of which gets a mail of its own
	Visitors bool            // whether visitors get mails
	Inbox    string          // absolute address of the inbox; empty: mails have the reference only
	Key      []byte          // keys the hashes by which mails to visitors are limited

	// RefuseTests says that the visitor's mail is not sent to addresses reserved for tests.
	RefuseTests bool
}

// addressHash returns the keyed hash of an address, the same for all spellings that reach
// one mailbox: in any letter case, and with a tag behind a plus sign.
func (m *Mail) addressHash(address string) string {
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	return m.hash("address", local+"@"+domain)
}

// networkHash returns the keyed hash of a client's network, or nothing if no mails are
// sent to visitors.
func (m *Mail) networkHash(client string) string {
	addr, err := netip.ParseAddr(client)
	if m.Sender == nil || !m.Visitors || err != nil {
		return ""
	}
	network := client
	if addr = addr.Unmap(); addr.Is6() {
		network = netip.PrefixFrom(addr, 64).Masked().String()
	}
	return m.hash("network", network)
}

func (m *Mail) hash(kind, value string) string {
	mac := hmac.New(sha256.New, m.Key)
	mac.Write([]byte(kind + "\x00" + value))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Resolver is the root of all resolvers.
type Resolver struct {
	Deps

	formats   *schema.Formats
	languages language.Matcher    // matches Accept-Language
	drawing   *semaphore.Weighted // limits how many documents are drawn at a time

	auditLogged string // the day on which the head of the audit was logged last
}

// New returns the resolvers over their dependencies.
func New(d Deps) *Resolver {
	if d.Count == nil {
		d.Count = func(string, string) {}
	}
	if d.ObserveDatabase == nil {
		d.ObserveDatabase = func(string, time.Time, error) {}
	}

	return &Resolver{
		Deps:      d,
		formats:   schema.NewFormats(),
		languages: newLanguages(),
		drawing:   semaphore.NewWeighted(int64(2 * runtime.GOMAXPROCS(0))),
	}
}

// newLanguages returns a matcher whose index is that of schema.Locales. It falls back to
// the first locale, the default.
func newLanguages() language.Matcher {
	var tags []language.Tag
	for _, l := range schema.Locales() {
		tags = append(tags, language.Make(string(l)))
	}
	return language.NewMatcher(tags)
}
