// Package config reads the settings of the service from environment variables. One table
// of settings provides the checks and the listing; a test compares it with the table of
// the manual.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/schema"
)

// Tokens of the development environment. Production refuses them.
const (
	DevCacheToken    = "dev-cache-token"
	DevWebhookSecret = "dev-webhook-secret"
	DevAdminToken    = "dev-admin-token"
	DevPreviewToken  = "dev-preview-token"
)

// Values of ENVIRONMENT.
const (
	Production  = "production"
	Development = "development"
)

// Settings are the checked values of all settings.
type Settings struct {
	Environment           string
	ListenAddr, AdminAddr string // AdminAddr is empty if there is no admin listener
	DrainDelay            time.Duration
	MaxConns, MaxRequests int
	TrustedProxies        []netip.Prefix
	CORSOrigins           []string
	RateLimits            bool

	LogLevel  zerolog.Level
	LogFormat string // json or console
	TracesURL string // endpoint of an OpenTelemetry collector; empty if nothing is traced

	DataDir     string
	DatabaseURL *url.URL // nil for SQLite in DataDir
	CacheURL    *url.URL
	CachePrefix string

	CacheTokens, WebhookSecrets, SigningSecrets []string

	PreviewTokens []string // tokens for reading what is not published; if empty, nobody may

	AdminTokens []schema.OperatorToken // if empty, the operators' part of the schema is closed
	AdminPage   bool                   // operators are served on ListenAddr too

	OIDCIssuer, OIDCClientID, OIDCClientSecret string // no sign-in with accounts if the issuer is empty
	OIDCRedirectURL, OIDCGroupsClaim           string
	OIDCRoles                                  map[string]schema.Role // keys: groups

	CDNMaxAge        time.Duration // 0: shared caches are not told
	PurgeURLs        []string      // none if no CDN is purged
	PurgeKind        string        // varnish, fastly or cloudflare
	PurgeToken       string
	RevalidateURLs   []string // receive events of changed content
	RevalidateSecret []string // secrets of the form whsec_…; each signs every event

	LeadWebhookURL     string   // empty if new leads are not announced
	LeadWebhookFormat  string   // json or slack
	LeadWebhookSecrets []string // whsec_…; each signs every event

	CMSDriver, CMSFile                                             string
	CMSWatch                                                       bool // changes are noticed without the webhook
	SanityProjectID, SanityDataset, SanityAPIVersion, SanityAPIURL string
	SanityToken                                                    string

	CRMDriver, HubSpotToken, HubSpotAPIURL, HubSpotVersion string

	SiteURL                    string // absolute address of this service, for links sent to the CRM
	ContentTypes               []string
	ContentTTL                 time.Duration
	TrackRetention             time.Duration // 0: unlimited
	LeadRetention              time.Duration // 0: unlimited
	AuditRetention             time.Duration // 0: unlimited
	TrackContact               string        // on, consent or off
	SpamMinTime                time.Duration // 0: any
	TurnstileKey, TurnstileURL string        // no bot check if the key is empty
	LogoHosts                  []string

	SMTPURL     *url.URL // nil: no mails are sent, or in development written to files
	MailFrom    mail.Address
	SalesMailTo []string // bare addresses
	VisitorMail bool
	SalesLocale schema.Locale  // language of mails to sales
	TimeZone    *time.Location // of times in mails and tables, and of dates in PDFs

	VisitorMailsPerHour int // most mails to visitors of the service

	DeliveryRetryMax time.Duration // longest pause between two tries of a delivery
	CMSRate, CRMRate float64       // leads a second; 0: any number

	FrontPage, Introspection, Playground bool
	MCP                                  bool   // assistants may call tools
	Operations                           string // any or trusted
	OperationsPath                       string // path of trusted documents; empty if there are none

	// Warnings are the doubts about settings that development accepts and production
	// refuses.
	Warnings []string

	given  map[string]bool   // settings that are set, by name
	values map[string]string // value of each setting by name, as read or by default
}

// Given reports whether a setting is set, rather than left at its default.
func (s *Settings) Given(name string) bool { return s.given[name] }

// ContentPath returns the path of the file driver's content file.
func (s *Settings) ContentPath() string {
	if s.CMSFile != "" {
		return s.CMSFile
	}
	return filepath.Join(s.DataDir, "content.json")
}

// Problem is a setting that cannot be used, with the reason and the remedy.
type Problem struct {
	Setting string
	Err     error
}

// Problems are all settings that cannot be used.
type Problems []Problem

func (p Problems) Error() string {
	text := "the settings can't be used:"
	for _, problem := range p {
		text += "\n" + problem.Setting + ": " + problem.Err.Error()
	}
	return text
}

// Concern reports whether a setting with one of these names cannot be used. A name may
// end in * to stand for all names that begin with it.
func (p Problems) Concern(names ...string) bool {
	return slices.ContainsFunc(p, func(problem Problem) bool { return matches(problem.Setting, names) })
}

// Read reads all settings and checks those whose names are given as in
// [Problems.Concern], or all if none is given: a command needs only the settings that it
// uses. The error is of the type [Problems]; the settings that come with it have the
// defaults of those that it names.
func Read(lookup func(string) string, names ...string) (*Settings, error) {
	s := &Settings{given: map[string]bool{}, values: map[string]string{}}

	// Other defaults depend on the environment. An unknown one counts as production.
	s.Environment = strings.TrimSpace(lookup("ENVIRONMENT"))

	var problems Problems
	report := func(name string, err error) {
		if err != nil && (len(names) == 0 || matches(name, names)) {
			problems = append(problems, Problem{name, err})
		}
	}

	for _, item := range append(s.table(), standard()...) {
		def := item.Default
		if s.Environment == Development {
			def = cmp.Or(item.Development, def)
		}

		given := strings.TrimSpace(lookup(item.Name))
		s.given[item.Name], s.values[item.Name] = given != "", cmp.Or(given, def)
		for _, value := range []string{def, given} {
			if value != "" {
				report(item.Name, item.set(value))
			}
		}
	}

	s.complete(report)
	s.checkSafety(report)
	if len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Setting, b.Setting) })
		return s, problems
	}
	return s, nil
}

// matches reports whether a setting is among some names.
func matches(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		prefix, many := strings.CutSuffix(n, "*")
		return n == name || many && strings.HasPrefix(name, prefix)
	})
}

// complete reports settings that are missing although others require them, and sets the
// fields that depend on several settings.
func (s *Settings) complete(report func(name string, err error)) {
	need := func(when bool, name, why string) {
		if when && strings.Trim(s.values[name], ", ") == "" {
			report(name, errors.New("is required "+why))
		}
	}
	const production = "in production: set a long random value, for instance from `openssl rand -hex 32`, " +
		"or set ENVIRONMENT=development to try the service out"

	need(s.Environment != Development, "CACHE_API_TOKEN", production)
	need(s.Environment != Development, "CMS_WEBHOOK_SECRET", production)
	need(s.CMSDriver == "sanity", "SANITY_PROJECT_ID",
		"with CMS_DRIVER=sanity: copy it from the project's page in the management console")
	need(s.CMSDriver == "sanity", "SANITY_TOKEN",
		"with CMS_DRIVER=sanity: make one with the role Editor, submissions are stored with it")
	need(s.CRMDriver == "hubspot", "HUBSPOT_TOKEN",
		"with CRM_DRIVER=hubspot: copy the access token of a private app with the contacts scopes")
	need(s.Operations == "trusted", "GRAPHQL_DOCUMENTS",
		"with GRAPHQL_OPERATIONS=trusted: name the folder or manifest of the clients' documents")
	need(s.LeadWebhookURL != "" && s.LeadWebhookFormat == "json", "LEAD_WEBHOOK_SECRET",
		"with LEAD_WEBHOOK_FORMAT=json: set one, for instance `echo whsec_$(openssl rand -base64 32)`")
	s.checkEdge(need, report)
	need(s.SMTPURL != nil, "MAIL_FROM",
		"with SMTP_URL: name the address that mails come from, whose mailbox also gets what bounces")
	need(s.SMTPURL != nil, "SALES_MAIL_TO", "with SMTP_URL: name who is told of new leads")
	need(s.AdminPage && s.OIDCIssuer == "", "ADMIN_API_TOKEN",
		"with ADMIN_PAGE=on: set a long random value, or OIDC_ISSUER for accounts")
	s.checkSignIn(need, report)
	if s.FrontPage && s.given["FRONT_PAGE"] {
		report("CONTENT_TYPES", s.calculatorContent())
	}

	if s.values["DELIVERY_RATE"] == "" {
		s.CMSRate = map[string]float64{"sanity": 20}[s.CMSDriver]
		s.CRMRate = map[string]float64{"hubspot": 5}[s.CRMDriver]
	}

	s.TracesURL = s.values["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
	if base := s.values["OTEL_EXPORTER_OTLP_ENDPOINT"]; s.TracesURL == "" && base != "" {
		s.TracesURL = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if strings.EqualFold(s.values["OTEL_TRACES_EXPORTER"], "none") ||
		strings.EqualFold(s.values["OTEL_SDK_DISABLED"], "true") {
		s.TracesURL = ""
	}
}

// calculatorContent returns an error if the document types that the calculator shows are
// not among those that are served.
func (s *Settings) calculatorContent() error {
	missing := slices.DeleteFunc([]string{"heroSection", "quoteOption"}, func(name string) bool {
		return slices.Contains(s.ContentTypes, name)
	})
	if len(missing) > 0 {
		return fmt.Errorf("must have %s with FRONT_PAGE=on: the calculator shows these documents",
			strings.Join(missing, " and "))
	}
	return nil
}

// Mails reports whether leads get mails: sent, or in development written to files.
func (s *Settings) Mails() bool { return s.SMTPURL != nil || s.Environment == Development }

// MailPath is the folder of the mails of development.
func (s *Settings) MailPath() string { return filepath.Join(s.DataDir, "mail") }

// Lines returns every setting as NAME=value. A secret shows only how many values it has.
func (s *Settings) Lines() []string {
	var lines []string
	for _, item := range s.table() {
		value := s.values[item.Name]
		if item.Secret && value != "" {
			value = fmt.Sprintf("(secret, %d value(s))", len(split(value)))
		} else if u, err := url.Parse(value); err == nil && u.User != nil {
			value = u.Redacted()
		}

		lines = append(lines, item.Name+"="+value)
	}
	return lines
}

// Table lists every setting in the order of the manual.
func Table() []Setting { return new(Settings).table() }
