// Package config reads the settings of the service from environment variables. The tags
// of Settings define names, defaults and checks. A test compares them with the manual.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/schema"
	"siteapi/schema/request"
)

// Well-known development tokens, which production rejects.
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

// Settings are the checked values of all settings, in the order of the manual. A tag has
// the name of the variable, its default, and its default in development if that differs.
// A secret "token" must not be shared with other settings. The tag lists the accepted
// words ("oneof") or names a parser; without either, the type of the field selects the
// parser. A "standard" variable belongs to OpenTelemetry, whose library reads more of
// them. A setting of a driver is "of" the setting that selects the driver.
type Settings struct {
	ListenAddr  string        `name:"LISTEN_ADDR" default:":8080" parser:"listener"`
	DrainDelay  time.Duration `name:"DRAIN_DELAY" default:"2s" development:"0s" parser:"drain delay"`
	MaxConns    int           `name:"MAX_CONNECTIONS" default:"2048"`
	MaxRequests int           `name:"MAX_REQUESTS" default:"512"`
	AdminAddr   string        `name:"ADMIN_ADDR" default:"127.0.0.1:9090" parser:"admin"` // empty: off

	Environment string        `name:"ENVIRONMENT" default:"production" oneof:"production development"`
	LogLevel    zerolog.Level `name:"LOG_LEVEL" default:"info"`
	LogFormat   string        `name:"LOG_FORMAT" default:"json" development:"console" oneof:"json console"`

	// Tracing is off if TracesURL, the endpoint of a collector, is empty.
	OTLPEndpoint       string `name:"OTEL_EXPORTER_OTLP_ENDPOINT" parser:"web"`
	TracesURL          string `name:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" parser:"exact web" standard:"yes"`
	OTLPProtocol       string `name:"OTEL_EXPORTER_OTLP_PROTOCOL" oneof:"http/protobuf" standard:"yes"`
	OTLPTracesProtocol string `name:"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL" oneof:"http/protobuf" standard:"yes"`
	TracesExporter     string `name:"OTEL_TRACES_EXPORTER" oneof:"otlp none" standard:"yes"`
	SDKDisabled        string `name:"OTEL_SDK_DISABLED" oneof:"true false" standard:"yes"`

	DataDir     string   `name:"DATA_DIR" default:"data"`
	DatabaseURL *url.URL `name:"DATABASE_URL" secret:"yes" parser:"database"` // nil: SQLite in DataDir
	CacheURL    *url.URL `name:"CACHE_URL" default:"memory://" secret:"yes" parser:"cache"`
	CachePrefix string   `name:"CACHE_PREFIX" default:"siteapi:"`
	CacheTokens []string `name:"CACHE_API_TOKEN" development:"dev-cache-token" secret:"token"`

	// AdminTokens includes NamedTokens. If it is empty, no token authorizes operators'
	// fields. With AdminPage, operators are also served on ListenAddr.
	AdminTokens []request.OperatorToken `name:"ADMIN_API_TOKEN" development:"dev-admin-token" secret:"token"`
	NamedTokens []request.OperatorToken `name:"ADMIN_TOKENS" secret:"token" parser:"named tokens"`
	AdminPage   bool                    `name:"ADMIN_PAGE" default:"off"`

	// Single sign-on is off if OIDCIssuer is empty.
	OIDCIssuer       string                 `name:"OIDC_ISSUER" parser:"exact web"`
	OIDCClientID     string                 `name:"OIDC_CLIENT_ID"`
	OIDCClientSecret string                 `name:"OIDC_CLIENT_SECRET" secret:"yes"`
	OIDCRedirectURL  string                 `name:"OIDC_REDIRECT_URL" parser:"web"`
	OIDCScopes       []string               `name:"OIDC_SCOPES" parser:"scopes"` // nil: the usual ones
	OIDCGroupsClaim  string                 `name:"OIDC_GROUPS_CLAIM" default:"groups"`
	OIDCRoles        map[string]schema.Role `name:"OIDC_ROLES"` // keys: groups

	WebhookSecrets []string `name:"CMS_WEBHOOK_SECRET" development:"dev-webhook-secret" secret:"token"`

	SigningSecrets []string `name:"CMS_WEBHOOK_SIGNING_SECRET" secret:"token" parser:"secrets"`
	PreviewTokens  []string `name:"PREVIEW_TOKENS" development:"dev-preview-token" secret:"token"`

	CMSDriver        string `name:"CMS_DRIVER" default:"file" oneof:"file sanity"`
	CMSFile          string `name:"CMS_FILE" of:"CMS_DRIVER" parser:"path"`
	CMSWatch         bool   `name:"CMS_WATCH" default:"on"` // detects changes without the webhook
	SanityProjectID  string `name:"SANITY_PROJECT_ID" of:"CMS_DRIVER" parser:"project"`
	SanityDataset    string `name:"SANITY_DATASET" of:"CMS_DRIVER" default:"production" parser:"dataset"`
	SanityAPIVersion string `name:"SANITY_API_VERSION" of:"CMS_DRIVER" default:"2025-02-19" parser:"date"`
	SanityToken      string `name:"SANITY_TOKEN" of:"CMS_DRIVER" secret:"yes"`
	SanityAPIURL     string `name:"SANITY_API_URL" of:"CMS_DRIVER" parser:"API"`

	CRMDriver      string `name:"CRM_DRIVER" default:"file" oneof:"file hubspot"`
	HubSpotToken   string `name:"HUBSPOT_TOKEN" of:"CRM_DRIVER" secret:"yes"`
	HubSpotAPIURL  string `name:"HUBSPOT_API_URL" of:"CRM_DRIVER" default:"https://api.hubapi.com" parser:"API"`
	HubSpotVersion string `name:"HUBSPOT_API_VERSION" of:"CRM_DRIVER" default:"2026-03" parser:"HubSpot version"`
	HubSpotStage   string `name:"HUBSPOT_DEAL_STAGE" of:"CRM_DRIVER" parser:"deal stage"` // empty: deals are off

	// The webhook is off if LeadWebhookURL is empty. Each secret signs every event.
	LeadWebhookURL     string   `name:"LEAD_WEBHOOK_URL" secret:"yes" parser:"lead webhook"`
	LeadWebhookFormat  string   `name:"LEAD_WEBHOOK_FORMAT" default:"json" oneof:"json slack"`
	LeadWebhookEvents  []string `name:"LEAD_WEBHOOK_EVENTS" parser:"events"` // besides the usual ones
	LeadWebhookSecrets []string `name:"LEAD_WEBHOOK_SECRET" secret:"yes" parser:"webhook secrets"`

	// Without SMTPURL, development writes mails to files and production sends none.
	// TimeZone applies to mails, tables and PDFs. VisitorMailsPerHour limits the whole
	// service.
	SMTPURL  *url.URL     `name:"SMTP_URL" secret:"yes" parser:"SMTP"`
	MailFrom mail.Address `name:"MAIL_FROM" development:"quotes@lumen-studio.example"`

	SalesMailTo []string `name:"SALES_MAIL_TO" development:"sales@lumen-studio.example" parser:"recipients"`

	SalesLocale schema.Locale  `name:"SALES_LOCALE" default:"en"`
	TimeZone    *time.Location `name:"TIME_ZONE" default:"UTC"`
	VisitorMail bool           `name:"VISITOR_MAIL" default:"on"`

	VisitorMailsPerHour int `name:"VISITOR_MAILS_PER_HOUR" default:"200"`

	SiteURL string `name:"SITE_URL" parser:"web"` // address of this service, for links to it

	ContentTypes []string `name:"CONTENT_TYPES" development:"heroSection,quoteOption,consentText" parser:"types"`

	ContentTTL time.Duration `name:"CONTENT_TTL" default:"10m" parser:"content TTL"`

	// Shared caches store nothing if CDNMaxAge is 0. Each secret signs every event.
	CDNMaxAge        time.Duration `name:"CDN_MAX_AGE" default:"0s" parser:"max age"`
	PurgeKind        string        `name:"CDN_PURGE_KIND" parser:"CDN"`
	PurgeURLs        []string      `name:"CDN_PURGE_URL" parser:"addresses"`
	PurgeToken       string        `name:"CDN_PURGE_TOKEN" secret:"token"`
	RevalidateURLs   []string      `name:"REVALIDATE_URLS" secret:"yes" parser:"addresses"`
	RevalidateSecret []string      `name:"REVALIDATE_SECRET" secret:"yes" parser:"webhook secrets"`
	RevalidateDelay  time.Duration `name:"REVALIDATE_DELAY" default:"0s" parser:"revalidation delay"`

	CORSOrigins    []string       `name:"CORS_ALLOWED_ORIGINS" development:"*" parser:"origins"`
	TrustedProxies []netip.Prefix `name:"TRUSTED_PROXIES"`
	RateLimits     bool           `name:"RATE_LIMITS" default:"on"`

	// A retention of 0 is unlimited. The bot check is off without TurnstileKey.
	TrackRetention time.Duration `name:"TRACK_RETENTION" default:"90d"`
	AuditRetention time.Duration `name:"AUDIT_RETENTION" default:"730d"`
	TrackContact   string        `name:"TRACK_CONTACT" default:"on" oneof:"on consent off"`
	LeadRetention  time.Duration `name:"LEAD_RETENTION" default:"0s" parser:"lead retention"`

	SpamMinTime  time.Duration `name:"SPAM_MIN_TIME" default:"0s"`
	TurnstileKey string        `name:"TURNSTILE_SECRET" secret:"yes"`

	TurnstileURL string `name:"TURNSTILE_API_URL" default:"https://challenges.cloudflare.com" parser:"API"`

	DeliveryRetryMax time.Duration `name:"DELIVERY_RETRY_MAX" default:"15m" parser:"retry pause"`
	DeliveryRate     float64       `name:"DELIVERY_RATE" parser:"rate"` // leads per second; 0: unlimited

	LogoHosts []string `name:"LOGO_HOSTS" default:"cdn.sanity.io" parser:"hosts"`

	FrontPage     bool `name:"FRONT_PAGE" default:"off" development:"on"`
	Introspection bool `name:"GRAPHQL_INTROSPECTION" default:"off" development:"on"`
	Playground    bool `name:"GRAPHQL_PLAYGROUND" default:"off" development:"on"`
	MCP           bool `name:"MCP" default:"off" development:"on"` // serves tools for assistants

	// With MCPSignIn, operators sign their assistants in. MCPClients are the hosts of the
	// assistants' metadata documents; nil: all public ones.
	MCPSignIn  bool     `name:"MCP_SIGN_IN" default:"off"`
	MCPClients []string `name:"MCP_CLIENTS" parser:"hosts"`

	Operations     string `name:"GRAPHQL_OPERATIONS" default:"any" oneof:"any trusted"`
	OperationsPath string `name:"GRAPHQL_DOCUMENTS" parser:"path"` // path of trusted documents

	Warnings []string // about unsafe settings that development accepts

	given    map[string]bool   // whether a setting is set, by name
	values   map[string]string // text of each setting or its default, by name
	problems Problems
}

// Setting is an environment variable.
type Setting struct {
	Name        string
	Default     string
	Development string // default in development, if it differs
	Secret      bool

	driver   string   // name of the setting that selects the driver; empty: no driver's setting
	token    bool     // a secret that no other setting may share
	standard bool     // belongs to OpenTelemetry, and is not in the manual
	Words    []string // accepted words; nil: the parser decides
	parser   string
}

// settingOf returns the setting of a field, with an empty name if it has none.
func settingOf(field reflect.StructField) Setting {
	tag := field.Tag
	return Setting{
		Name:        tag.Get("name"),
		Default:     tag.Get("default"),
		Development: tag.Get("development"),
		Secret:      tag.Get("secret") != "",
		driver:      tag.Get("of"),
		token:       tag.Get("secret") == "token",
		standard:    tag.Get("standard") != "",
		Words:       strings.Fields(tag.Get("oneof")),
		parser:      cmp.Or(tag.Get("parser"), field.Type.String()),
	}
}

// Table lists every setting in the order of the manual.
func Table() (list []Setting) {
	for field := range reflect.TypeFor[Settings]().Fields() {
		if item := settingOf(field); item.Name != "" && !item.standard {
			list = append(list, item)
		}
	}
	return list
}

// Given reports whether a setting is set explicitly.
func (s *Settings) Given(name string) bool { return s.given[name] }

// ContentPath returns the path of the file driver's content file.
func (s *Settings) ContentPath() string {
	if s.CMSFile != "" {
		return s.CMSFile
	}
	return filepath.Join(s.DataDir, "content.json")
}

// Problem is an invalid setting. The error gives the reason and the remedy.
type Problem struct {
	Setting string
	Err     error
}

// Problems are all invalid settings.
type Problems []Problem

func (p Problems) Error() string {
	text := "invalid settings:"
	for _, problem := range p {
		text += "\n" + problem.Setting + ": " + problem.Err.Error()
	}
	return text
}

// Concern reports whether a setting with one of these names is invalid. The name of a
// setting that selects a driver includes the settings of its drivers; "X*" is a prefix.
func (p Problems) Concern(names ...string) bool {
	return slices.ContainsFunc(p, func(problem Problem) bool { return find(problem.Setting).among(names) })
}

// Read reads all settings and checks those with the given names (see [Problems.Concern]),
// or all without names. The error is of type [Problems]. Invalid settings keep their
// defaults.
func Read(lookup func(string) string, names ...string) (*Settings, error) {
	s := &Settings{given: map[string]bool{}, values: map[string]string{}}

	// The environment selects other defaults. An unknown one counts as production.
	s.Environment = strings.ToLower(strings.TrimSpace(lookup("ENVIRONMENT")))

	parsers := s.parsers()
	for field, value := range reflect.ValueOf(s).Elem().Fields() {
		item := settingOf(field)
		if item.Name == "" {
			continue
		}
		def := item.Default
		if s.Environment == Development {
			def = cmp.Or(item.Development, def)
		}

		given := strings.TrimSpace(lookup(item.Name))
		s.given[item.Name], s.values[item.Name] = given != "", cmp.Or(given, def)
		parser := reflect.ValueOf(parsers[item.parser])
		if len(item.Words) > 0 {
			parser = reflect.ValueOf(oneOf(item.Words...))
		}
		for _, text := range []string{def, given} {
			if text == "" {
				continue
			}
			parsed := parser.Call([]reflect.Value{reflect.ValueOf(text)})
			if err, failed := parsed[1].Interface().(error); failed {
				s.refuse(item.Name, err.Error())
			} else {
				value.Set(parsed[0])
			}
		}
	}

	s.require()
	s.complete()
	s.checkSafety()
	problems := slices.DeleteFunc(s.problems, func(p Problem) bool {
		return len(names) > 0 && !find(p.Setting).among(names)
	})
	if len(problems) == 0 {
		return s, nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Setting, b.Setting) })
	return s, problems
}

// refuse records a problem of a setting.
func (s *Settings) refuse(name, why string) {
	s.problems = append(s.problems, Problem{name, errors.New(why)})
}

// complete sets the fields that depend on several settings.
func (s *Settings) complete() {
	s.AdminTokens = append(s.AdminTokens, s.NamedTokens...)
	if s.OIDCRedirectURL == "" && s.SiteURL != "" {
		s.OIDCRedirectURL = s.SiteURL + callbackPath
	}

	if s.TracesURL == "" && s.OTLPEndpoint != "" {
		s.TracesURL = s.OTLPEndpoint + "/v1/traces"
	}
	if s.TracesExporter == "none" || s.SDKDisabled == "true" {
		s.TracesURL = ""
	}
}

// find returns the setting with a name.
func find(name string) Setting {
	for _, item := range Table() {
		if item.Name == name {
			return item
		}
	}
	return Setting{Name: name}
}

// among reports whether names have the setting, as described at [Problems.Concern].
func (item Setting) among(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		prefix, many := strings.CutSuffix(n, "*")
		return n == item.Name || n == item.driver || many && strings.HasPrefix(item.Name, prefix)
	})
}

// calculatorLacks says that CONTENT_TYPES lacks the choices of the calculator.
func (s *Settings) calculatorLacks() string {
	if slices.Contains(s.ContentTypes, "quoteOption") {
		return ""
	}
	return "must have quoteOption with FRONT_PAGE=on: the calculator shows these documents"
}

// MailDriver returns the name of the driver that sends mails about leads, or writes them to
// files in development. It is empty if there are no mails.
func (s *Settings) MailDriver() string {
	switch {
	case s.SMTPURL != nil:
		return "smtp"
	case s.Environment == Development:
		return "file"
	}
	return ""
}

// MailPath is the folder of mails in development.
func (s *Settings) MailPath() string { return filepath.Join(s.DataDir, "mail") }

// Lines returns the settings with the given names (see [Problems.Concern]), or all without
// names, as NAME=value. A secret is shown as its number of values. Without names, unset
// settings are listed as comments.
func (s *Settings) Lines(names ...string) []string {
	var lines []string
	for _, item := range Table() {
		if len(names) > 0 && !item.among(names) {
			continue
		}
		value := s.values[item.Name]
		if item.Secret && value != "" && value != "memory://" {
			value = fmt.Sprintf("(secret, %d value(s))", len(split(value)))
		} else {
			value = shownAddresses(value)
		}

		line := item.Name + "=" + value
		if len(names) == 0 && !s.given[item.Name] {
			line = "# " + line
		}
		lines = append(lines, line)
	}
	return lines
}
