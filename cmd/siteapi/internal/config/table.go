package config

import (
	"time"

	"siteapi/integrations/mail/smtp"
)

// Setting is one environment variable.
type Setting struct {
	Name        string
	Default     string
	Development string // default in development, if it differs
	Secret      bool

	set func(value string) error // checks a value and stores it
}

// table lists every setting in the order of the manual, bound to the fields of s.
func (s *Settings) table() []Setting {
	return []Setting{
		{Name: "LISTEN_ADDR", Default: ":8080", set: into(&s.ListenAddr, listenAddress)},
		{
			Name:        "DRAIN_DELAY",
			Default:     "2s",
			Development: "0s",
			set:         into(&s.DrainDelay, duration(0, time.Hour)),
		},
		{Name: "MAX_CONNECTIONS", Default: "2048", set: into(&s.MaxConns, number)},
		{Name: "MAX_REQUESTS", Default: "512", set: into(&s.MaxRequests, number)},
		{Name: "ADMIN_ADDR", Default: "127.0.0.1:9090", set: into(&s.AdminAddr, adminAddress)},

		{Name: "ENVIRONMENT", Default: Production, set: into(&s.Environment, oneOf(Production, Development))},
		{Name: "LOG_LEVEL", Default: "info", set: into(&s.LogLevel, logLevel)},
		{
			Name:        "LOG_FORMAT",
			Default:     "json",
			Development: "console",
			set:         into(&s.LogFormat, oneOf("json", "console")),
		},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", set: WebAddress},

		{Name: "DATA_DIR", Default: "data", set: into(&s.DataDir, text)},
		{Name: "DATABASE_URL", Secret: true, set: into(&s.DatabaseURL, databaseURL)},
		{Name: "CACHE_URL", Default: "memory://", Secret: true, set: into(&s.CacheURL, cacheURL)},
		{Name: "CACHE_PREFIX", Default: "siteapi:", set: into(&s.CachePrefix, text)},

		{
			Name:        "CACHE_API_TOKEN",
			Development: DevCacheToken,
			Secret:      true,
			set:         into(&s.CacheTokens, values),
		},
		{
			Name:        "ADMIN_API_TOKEN",
			Development: DevAdminToken,
			Secret:      true,
			set:         s.operatorTokens,
		},
		{Name: "ADMIN_TOKENS", Secret: true, set: s.namedTokens},
		{Name: "ADMIN_PAGE", Default: "off", set: into(&s.AdminPage, onOff)},
		{Name: "OIDC_ISSUER", set: into(&s.OIDCIssuer, issuer)},
		{Name: "OIDC_CLIENT_ID", set: into(&s.OIDCClientID, text)},
		{Name: "OIDC_CLIENT_SECRET", Secret: true, set: into(&s.OIDCClientSecret, text)},
		{Name: "OIDC_REDIRECT_URL", set: into(&s.OIDCRedirectURL, webAddress)},
		{Name: "OIDC_GROUPS_CLAIM", Default: "groups", set: into(&s.OIDCGroupsClaim, text)},
		{Name: "OIDC_ROLES", set: into(&s.OIDCRoles, oidcRoles)},
		{
			Name:        "CMS_WEBHOOK_SECRET",
			Development: DevWebhookSecret,
			Secret:      true,
			set:         into(&s.WebhookSecrets, values),
		},
		{Name: "CMS_WEBHOOK_SIGNING_SECRET", Secret: true, set: into(&s.SigningSecrets, list)},
		{
			Name:        "PREVIEW_TOKENS",
			Development: DevPreviewToken,
			Secret:      true,
			set:         into(&s.PreviewTokens, s.longTokens),
		},

		{Name: "CMS_DRIVER", Default: "file", set: into(&s.CMSDriver, oneOf("file", "sanity"))},
		{Name: "CMS_FILE", set: into(&s.CMSFile, existing)},
		{Name: "CMS_WATCH", Default: "on", set: into(&s.CMSWatch, onOff)},
		{
			Name: "SANITY_PROJECT_ID",
			set: into(&s.SanityProjectID, matching(`[a-z0-9][a-z0-9-]{0,63}`,
				"a project id: lower-case letters, digits and hyphens")),
		},
		{
			Name:    "SANITY_DATASET",
			Default: "production",
			set: into(&s.SanityDataset, matching(`~?[a-z0-9][a-z0-9_-]{0,63}`,
				"a dataset's name: lower-case letters, digits, hyphens and underscores")),
		},
		{
			Name:    "SANITY_API_VERSION",
			Default: "2025-02-19",
			set: into(&s.SanityAPIVersion, matching(`v?20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`,
				"a date such as 2025-02-19")),
		},
		{Name: "SANITY_TOKEN", Secret: true, set: into(&s.SanityToken, text)},
		{Name: "SANITY_API_URL", set: into(&s.SanityAPIURL, webAddress)},

		{Name: "CRM_DRIVER", Default: "file", set: into(&s.CRMDriver, oneOf("file", "hubspot"))},
		{Name: "HUBSPOT_TOKEN", Secret: true, set: into(&s.HubSpotToken, text)},
		{Name: "HUBSPOT_API_URL", Default: "https://api.hubapi.com", set: into(&s.HubSpotAPIURL, webAddress)},
		{
			Name:    "HUBSPOT_API_VERSION",
			Default: "v3",
			set: into(&s.HubSpotVersion, matching(`v3|20\d\d-(0[1-9]|1[0-2])`,
				"v3 or a month such as 2026-03")),
		},

		{Name: "LEAD_WEBHOOK_URL", Secret: true, set: into(&s.LeadWebhookURL, s.leadWebhookURL)},
		{
			Name:    "LEAD_WEBHOOK_FORMAT",
			Default: "json",
			set:     into(&s.LeadWebhookFormat, oneOf("json", "slack")),
		},
		{Name: "LEAD_WEBHOOK_SECRET", Secret: true, set: into(&s.LeadWebhookSecrets, webhookSecrets)},

		{Name: "SMTP_URL", Secret: true, set: into(&s.SMTPURL, smtp.ParseURL)},
		{
			Name:        "MAIL_FROM",
			Development: "quotes@lumen-studio.example",
			set:         into(&s.MailFrom, sender),
		},
		{
			Name:        "SALES_MAIL_TO",
			Development: "sales@lumen-studio.example",
			set:         into(&s.SalesMailTo, recipients),
		},
		{Name: "SALES_LOCALE", Default: "en", set: into(&s.SalesLocale, locale)},
		{Name: "TIME_ZONE", Default: "UTC", set: into(&s.TimeZone, timeZone)},
		{Name: "VISITOR_MAIL", Default: "on", set: into(&s.VisitorMail, onOff)},
		{Name: "VISITOR_MAILS_PER_HOUR", Default: "200", set: into(&s.VisitorMailsPerHour, number)},
		{Name: "SITE_URL", set: into(&s.SiteURL, webAddress)},
		{
			Name:        "CONTENT_TYPES",
			Development: "heroSection,quoteOption,consentText",
			set:         into(&s.ContentTypes, documentTypes),
		},
		{Name: "CONTENT_TTL", Default: "10m", set: into(&s.ContentTTL, contentTTL)},

		{Name: "CDN_MAX_AGE", Default: "0s", set: into(&s.CDNMaxAge, duration(0, 366*24*time.Hour))},
		{Name: "CDN_PURGE_KIND", set: into(&s.PurgeKind, oneOf(purgeKinds()...))},
		{Name: "CDN_PURGE_URL", set: into(&s.PurgeURLs, addresses)},
		{Name: "CDN_PURGE_TOKEN", Secret: true, set: into(&s.PurgeToken, text)},
		{Name: "REVALIDATE_URLS", Secret: true, set: into(&s.RevalidateURLs, addresses)},
		{Name: "REVALIDATE_SECRET", Secret: true, set: into(&s.RevalidateSecret, webhookSecrets)},

		{Name: "CORS_ALLOWED_ORIGINS", Development: "*", set: into(&s.CORSOrigins, origins)},
		{Name: "TRUSTED_PROXIES", set: into(&s.TrustedProxies, networks)},
		{Name: "RATE_LIMITS", Default: "on", set: into(&s.RateLimits, onOff)},

		{Name: "TRACK_RETENTION", Default: "90d", set: into(&s.TrackRetention, Duration)},
		{Name: "AUDIT_RETENTION", Default: "730d", set: into(&s.AuditRetention, Duration)},
		{Name: "TRACK_CONTACT", Default: "on", set: into(&s.TrackContact, oneOf("on", "consent", "off"))},
		{Name: "LEAD_RETENTION", Default: "0s", set: into(&s.LeadRetention, leadRetention)},

		{Name: "SPAM_MIN_TIME", Default: "0s", set: into(&s.SpamMinTime, Duration)},
		{Name: "TURNSTILE_SECRET", Secret: true, set: into(&s.TurnstileKey, text)},
		{
			Name:    "TURNSTILE_API_URL",
			Default: "https://challenges.cloudflare.com",
			set:     into(&s.TurnstileURL, webAddress),
		},

		{
			Name:    "DELIVERY_RETRY_MAX",
			Default: "15m",
			set:     into(&s.DeliveryRetryMax, duration(100*time.Millisecond, 24*time.Hour)),
		},
		{Name: "DELIVERY_RATE", set: s.deliveryRates},

		{Name: "LOGO_HOSTS", Default: "cdn.sanity.io", set: into(&s.LogoHosts, logoHosts)},
		{Name: "FRONT_PAGE", Default: "off", Development: "on", set: into(&s.FrontPage, onOff)},

		{
			Name:        "GRAPHQL_INTROSPECTION",
			Default:     "off",
			Development: "on",
			set:         into(&s.Introspection, onOff),
		},
		{Name: "GRAPHQL_PLAYGROUND", Default: "off", Development: "on", set: into(&s.Playground, onOff)},
		{Name: "MCP", Default: "off", Development: "on", set: into(&s.MCP, onOff)},
		{Name: "GRAPHQL_OPERATIONS", Default: "any", set: into(&s.Operations, oneOf("any", "trusted"))},
		{Name: "GRAPHQL_DOCUMENTS", set: into(&s.OperationsPath, existing)},
	}
}

// standard lists the variables of OpenTelemetry that decide whether and how traces are
// sent. The OpenTelemetry library reads the others itself.
func standard() []Setting {
	return []Setting{
		{Name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", set: WebAddress},
		{Name: "OTEL_EXPORTER_OTLP_PROTOCOL", set: into(new(string), oneOf("http/protobuf"))},
		{Name: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", set: into(new(string), oneOf("http/protobuf"))},
		{Name: "OTEL_TRACES_EXPORTER", set: into(new(string), anyCase("otlp", "none"))},
		{Name: "OTEL_SDK_DISABLED", set: into(new(string), anyCase("true", "false"))},
	}
}
