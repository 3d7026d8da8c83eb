package main

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/resolvers/gqlhttp"
)

// Tokens that development brings along. In production they are refused.
const (
	devCacheToken    = "dev-cache-token"
	devWebhookSecret = "dev-webhook-secret"
)

// Environments the service knows.
const (
	production  = "production"
	development = "development"
)

// Settings is the checked configuration of the service.
type Settings struct {
	ListenAddr  string
	ReusePort   bool          // another process may listen on the same address
	DrainDelay  time.Duration // from the word to stop until no connection is taken any more
	MaxConns    int
	MaxRequests int    // of a class at a time
	AdminAddr   string // empty: no admin listener
	Environment string
	LogLevel    zerolog.Level
	LogFormat   string // json or console
	DataDir     string
	DatabaseURL *url.URL // scheme sqlite or postgres
	CacheURL    *url.URL
	CachePrefix string

	CacheTokens    []string
	WebhookSecrets []string
	SigningSecrets []string

	CMSDriver        string
	CMSFile          string // empty: DATA_DIR/content.json, begun with the sample
	SanityProjectID  string
	SanityDataset    string
	SanityAPIVersion string
	SanityToken      string
	SanityAPIURL     string

	CRMDriver             string
	HubSpotToken          string
	HubSpotAPIURL         string
	HubSpotObjectsPath    string
	HubSpotPropertiesPath string

	CMSRate        float64 // leads a second; 0: any
	CRMRate        float64
	SiteURL        string // absolute address of the site, for links sent to the CRM
	ContentTypes   []string
	ContentTTL     time.Duration
	CORSOrigins    []string
	TrustedProxies []netip.Prefix
	RateLimits     bool
	TrackRetention time.Duration // 0: kept for good
	LeadRetention  time.Duration // of submissions; 0: kept for good
	SpamMinTime    time.Duration // from a session's first tracked state to its submission; 0: any
	Tracing        tracing
	TurnstileKey   string // empty: no bot check
	TurnstileURL   string
	LogoHosts      []string
	PDFAccent      string

	DeliveryRetryMax time.Duration // longest pause between two tries of a delivery
	DeliveryOverdue  time.Duration // age at which an undelivered lead is reported

	Introspection bool
	Playground    bool

	Operations     string // any or trusted
	OperationsPath string // of trusted documents; empty: there are none
	GraphQLLimits  gqlhttp.Limits
	AnswerBytes    int64 // for finished answers; 0: none are kept

	raw map[string]string // by name, as read or defaulted
}

// setting is one environment variable.
type setting struct {
	name   string
	def    string // default in production
	devDef string // default in development, where it differs
	secret bool
	help   string
	parse  func(s *Settings, value string) error
}

// readSettings reads and checks all settings at once. Its error names every problem
// with what to do about it.
func readSettings(getenv func(string) string) (*Settings, error) {
	s := &Settings{raw: map[string]string{}}
	s.Environment = getenv("ENVIRONMENT")
	if s.Environment == "" {
		s.Environment = production
	}
	var problems []error
	for _, item := range settings() {
		value := strings.TrimSpace(getenv(item.name))
		if value == "" {
			value = item.def
			if s.Environment == development && item.devDef != "" {
				value = item.devDef
			}
		}
		s.raw[item.name] = value
		if err := item.parse(s, value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", item.name, err))
		}
	}
	problems = append(problems, s.checkTogether()...)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the settings can't be used:\n%w", errors.Join(problems...))
	}
	return s, nil
}

// checkTogether finds problems that lie between settings.
func (s *Settings) checkTogether() []error {
	var problems []error
	need := func(value, name, why string) {
		if value == "" {
			problems = append(problems, fmt.Errorf("%s: is required %s", name, why))
		}
	}
	if s.CMSDriver == "sanity" {
		need(s.SanityProjectID, "SANITY_PROJECT_ID", "with CMS_DRIVER=sanity: copy it from the project's page in the management console")
		need(s.SanityToken, "SANITY_TOKEN", "with CMS_DRIVER=sanity: make one with the role Editor, submissions are stored with it")
	}
	if s.CRMDriver == "hubspot" {
		need(s.HubSpotToken, "HUBSPOT_TOKEN", "with CRM_DRIVER=hubspot: copy the access token of a private app with the contacts scopes")
	}
	if s.Operations == "trusted" {
		need(s.OperationsPath, "GRAPHQL_DOCUMENTS", "with GRAPHQL_OPERATIONS=trusted: name the folder or manifest of the clients' documents")
	}
	if s.Environment != development { // a wrong name is taken for production
		for name, check := range map[string]struct {
			tokens []string
			dev    string
		}{"CACHE_API_TOKEN": {s.CacheTokens, devCacheToken}, "CMS_WEBHOOK_SECRET": {s.WebhookSecrets, devWebhookSecret}} {
			switch {
			case len(check.tokens) == 0:
				problems = append(problems, fmt.Errorf(
					"%s: is required in production: set a long random value, for instance from `openssl rand -hex 32`, or set ENVIRONMENT=development to try the service out", name))
			case slices.Contains(check.tokens, check.dev):
				problems = append(problems, fmt.Errorf("%s: holds the value that everyone knows from development: replace it", name))
			}
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return problems
}

// Redacted returns every setting as NAME=value, secrets as a count of values.
func (s *Settings) Redacted() []string {
	var lines []string
	for _, item := range settings() {
		value := s.raw[item.name]
		if item.secret && value != "" {
			value = fmt.Sprintf("(secret, %d value(s))", len(list(value)))
		} else if u, err := url.Parse(value); err == nil && u.User != nil {
			value = u.Redacted()
		}
		lines = append(lines, item.name+"="+value)
	}
	return lines
}

func (s *Settings) contentPath() string {
	if s.CMSFile != "" {
		return s.CMSFile
	}
	return filepath.Join(s.DataDir, "content.json")
}

// list splits a comma-separated value and drops empty parts.
func list(value string) []string {
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func onOff(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "on", "true", "1", "yes":
		return true, nil
	case "off", "false", "0", "no":
		return false, nil
	default:
		return false, errors.New("must be on or off")
	}
}

// durationMost is the longest duration a setting takes: longer ones overflow in days, and nobody means them.
const durationMost = 36500 * 24 * time.Hour

// duration reads Go's form of a duration, and whole days as in 90d.
func duration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if days, ok := strings.CutSuffix(value, "d"); ok {
		var n int64
		n, err = strconv.ParseInt(days, 10, 64)
		d = time.Duration(min(n, int64(durationMost/(24*time.Hour))+1)) * 24 * time.Hour
	}
	switch {
	case err != nil || d < 0:
		return 0, errors.New("must be a duration such as 30s, 10m, 12h or 90d")
	case d > durationMost:
		return 0, errors.New("must be at most 36500d")
	}
	return d, nil
}

func oneOf(value string, allowed ...string) error {
	if !slices.Contains(allowed, value) {
		return fmt.Errorf("must be one of %s", strings.Join(allowed, ", "))
	}
	return nil
}

func address(scheme []string, value string) (*url.URL, error) {
	u, err := url.Parse(value)
	if err != nil || !slices.Contains(scheme, u.Scheme) {
		// The value may hold a password, so it is not repeated.
		return nil, fmt.Errorf("must be an address that begins with %s", strings.Join(scheme, ":// or ")+"://")
	}
	return u, nil
}

func webAddress(value string) error {
	if value == "" {
		return nil
	}
	_, err := address([]string{"http", "https"}, value)
	return err
}
