package config

import "time"

// Setting is one environment variable.
type Setting struct {
	Name        string
	Default     string
	Development string // default in development, where it differs
	Secret      bool
	Help        string

	set func(value string) error // checks a value and stores it
}

// table lists every setting in the order of the manual, bound to the fields of s.
func (s *Settings) table() []Setting {
	return []Setting{
		{Name: "LISTEN_ADDR", Default: ":8080", set: into(&s.ListenAddr, listenAddress),
			Help: "address the service listens on"},
		{Name: "DRAIN_DELAY", Default: "2s", Development: "0s", set: into(&s.DrainDelay, duration(0, time.Hour)),
			Help: "how long the service accepts requests after SIGTERM: /readyz answers 503, and each connection " +
				"is closed with its next answer"},
		{Name: "MAX_CONNECTIONS", Default: "2048", set: into(&s.MaxConns, number(1_000_000)),
			Help: "most connections at a time, an eighth of them of one address; a further one takes the place of an idle one, " +
				"or is closed"},
		{Name: "MAX_REQUESTS", Default: "512", set: into(&s.MaxRequests, number(1_000_000)),
			Help: "most requests that are worked on at a time; a further one is refused with 503"},
		{Name: "ADMIN_ADDR", Default: "127.0.0.1:9090", set: into(&s.AdminAddr, adminAddress),
			Help: "address of metrics, profiles and the inbox; off: none"},
		{Name: "ENVIRONMENT", Default: Production, set: into(&s.Environment, oneOf(Production, Development)),
			Help: "production or development; development brings its own tokens, content and introspection"},
		{Name: "LOG_LEVEL", Default: "info", Help: "trace, debug, info, warn or error", set: into(&s.LogLevel, logLevel)},
		{Name: "LOG_FORMAT", Default: "json", Development: "console", set: into(&s.LogFormat, oneOf("json", "console")),
			Help: "json or console"},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", set: into(new(string), webAddress),
			Help: "address of an OpenTelemetry collector that traces are sent to by OTLP over HTTP; left out: nothing is traced"},
		{Name: "DATA_DIR", Default: "data", set: into(&s.DataDir, text),
			Help: "folder of the database and all other files"},
		{Name: "DATABASE_URL", Secret: true, set: into(&s.DatabaseURL, databaseURL),
			Help: "postgres://user:password@host/database; left out: SQLite in DATA_DIR"},
		{Name: "CACHE_URL", Default: "memory://", Secret: true, set: into(&s.CacheURL, cacheURL),
			Help: "memory://, or valkey://, valkeys://, redis://, rediss:// with host, port, user and database"},
		{Name: "CACHE_PREFIX", Default: "siteapi:", set: into(&s.CachePrefix, text),
			Help: "prefix of all keys on a shared server; never part of an answer"},
		{Name: "CACHE_API_TOKEN", Development: DevCacheToken, Secret: true,
			set:  into(&s.CacheTokens, s.tokens(DevCacheToken, true, 1)),
			Help: "tokens of the cache routes, comma-separated"},
		{Name: "ADMIN_API_TOKEN", Development: DevAdminToken, Secret: true,
			set: into(&s.AdminTokens, s.tokens(DevAdminToken, false, 16)),
			Help: "tokens of the operator's part of GraphQL and of the inbox, comma-separated, 16 characters or more each in " +
				"production; left out: they are closed"},
		{Name: "ADMIN_PAGE", Default: "off", set: into(&s.AdminPage, onOff),
			Help: "on or off; on: the inbox and the operator's part of GraphQL are at LISTEN_ADDR too, not at ADMIN_ADDR alone"},
		{Name: "CMS_WEBHOOK_SECRET", Development: DevWebhookSecret, Secret: true,
			set:  into(&s.WebhookSecrets, s.tokens(DevWebhookSecret, true, 1)),
			Help: "tokens of the CMS webhook, comma-separated"},
		{Name: "CMS_WEBHOOK_SIGNING_SECRET", Secret: true, set: into(&s.SigningSecrets, list),
			Help: "secrets that sign webhooks, comma-separated; left out: no signature is needed"},
		{Name: "CMS_DRIVER", Default: "file", Help: "file or sanity", set: into(&s.CMSDriver, oneOf("file", "sanity"))},
		{Name: "CMS_FILE", set: into(&s.CMSFile, existing),
			Help: "JSON file of the file driver; left out: DATA_DIR/content.json, which is created with sample content"},
		{Name: "SANITY_PROJECT_ID",
			set: into(&s.SanityProjectID, matching(`[a-z0-9][a-z0-9-]{0,63}`,
				"a project id: lower-case letters, digits and hyphens")),
			Help: "project of the Sanity driver"},
		{Name: "SANITY_DATASET", Default: "production",
			set: into(&s.SanityDataset, matching(`~?[a-z0-9][a-z0-9_-]{0,63}`,
				"a dataset's name: lower-case letters, digits, hyphens and underscores")),
			Help: "dataset of the Sanity driver"},
		{Name: "SANITY_API_VERSION", Default: "2025-02-19",
			set: into(&s.SanityAPIVersion, matching(`v?20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`,
				"a date such as 2025-02-19")),
			Help: "API version of the Sanity driver, a date"},
		{Name: "SANITY_TOKEN", Secret: true, set: into(&s.SanityToken, text),
			Help: "token of the Sanity driver, with the right to write"},
		{Name: "SANITY_API_URL", set: into(&s.SanityAPIURL, webAddress),
			Help: "address of the Sanity API; left out: the project's own"},
		{Name: "CRM_DRIVER", Default: "file", Help: "file or hubspot", set: into(&s.CRMDriver, oneOf("file", "hubspot"))},
		{Name: "HUBSPOT_TOKEN", Secret: true, Help: "access token of the HubSpot driver", set: into(&s.HubSpotToken, text)},
		{Name: "HUBSPOT_API_URL", Default: "https://api.hubapi.com", set: into(&s.HubSpotAPIURL, webAddress),
			Help: "address of the HubSpot API"},
		{Name: "HUBSPOT_API_VERSION", Default: "v3",
			set: into(&s.HubSpotVersion, matching(`v3|20\d\d-(0[1-9]|1[0-2])`, "v3 or a month such as 2026-03")),
			Help: "version of the HubSpot API: v3, which HubSpot supports until September 2027, or a later one by its date, such as " +
				"2026-03"},
		{Name: "LEAD_WEBHOOK_URL", Secret: true, set: into(&s.LeadWebhookURL, s.leadWebhookURL),
			Help: "address that new leads are posted to, https outside development; left out: none"},
		{Name: "LEAD_WEBHOOK_FORMAT", Default: "json", set: into(&s.LeadWebhookFormat, oneOf("json", "slack")),
			Help: "json: an event signed according to Standard Webhooks; slack: a message"},
		{Name: "LEAD_WEBHOOK_SECRET", Secret: true, set: into(&s.LeadWebhookSecrets, webhookSecrets),
			Help: "whsec_ and 24 to 64 bytes in base64, comma-separated; signs events, required with json"},
		{Name: "SITE_URL", set: into(&s.SiteURL, webAddress),
			Help: "absolute address of this service, for the PDF link the CRM gets; left out: the link is relative"},
		{Name: "CONTENT_TYPES", Development: "heroSection,quoteOption", set: into(&s.ContentTypes, list),
			Help: "document types that the field `content` serves, comma-separated"},
		{Name: "CONTENT_TTL", Default: "10m", set: into(&s.ContentTTL, duration(0, durationMax)),
			Help: "how long content is served before it is refreshed"},
		{Name: "CORS_ALLOWED_ORIGINS", Development: "*", set: into(&s.CORSOrigins, origins),
			Help: "origins of the sites that may call the service from a browser, comma-separated, or *"},
		{Name: "TRUSTED_PROXIES", set: into(&s.TrustedProxies, networks),
			Help: "addresses and networks of proxies whose X-Forwarded-For header is trusted, comma-separated"},
		{Name: "RATE_LIMITS", Default: "on", set: into(&s.RateLimits, onOff),
			Help: "on or off; off also lifts the limit of requests in flight of one client"},
		{Name: "TRACK_RETENTION", Default: "90d", set: into(&s.TrackRetention, duration(0, durationMax)),
			Help: "how long a tracked session is stored after its last request; 0s: without limit"},
		{Name: "SUBMISSION_RETENTION", Default: "0s", set: into(&s.LeadRetention, leadRetention),
			Help: "how long a submission is stored, at least 1d; 0s: without limit. An undelivered one stays until it " +
				"arrived"},
		{Name: "SPAM_MIN_TIME", Default: "0s", set: into(&s.SpamMinTime, duration(0, durationMax)),
			Help: "a quote submitted sooner than this after its session's first tracked state is put in review; 0s: off"},
		{Name: "TURNSTILE_SECRET", Secret: true, set: into(&s.TurnstileKey, text),
			Help: "secret key of Cloudflare Turnstile: a quote submitted without a valid token is put in review; left out: no token" +
				" is needed"},
		{Name: "TURNSTILE_API_URL", Default: "https://challenges.cloudflare.com", set: into(&s.TurnstileURL, webAddress),
			Help: "address of the Turnstile API"},
		{Name: "DELIVERY_RETRY_MAX", Default: "15m", set: into(&s.DeliveryRetryMax, duration(time.Second, 24*time.Hour)),
			Help: "longest pause between two tries of a delivery that the target did not ask for, from 1s to 24h"},
		{Name: "DELIVERY_RATE", set: s.deliveryRate,
			Help: "most leads a second that one instance brings to the CMS, and to the CRM; 0: any number; left out: 20 for Sanity, " +
				"5 for HubSpot, any for files"},
		{Name: "LOGO_HOSTS", Default: "cdn.sanity.io", set: into(&s.LogoHosts, logoHosts),
			Help: "hosts that a PDF's logo may be fetched from, comma-separated"},
		{Name: "FRONT_PAGE", Default: "off", Development: "on", set: into(&s.FrontPage, onOff),
			Help: "on or off; on: / links to all there is, /docs is the API reference, /calculator the example site"},
		{Name: "GRAPHQL_INTROSPECTION", Default: "off", Development: "on", set: into(&s.Introspection, onOff),
			Help: "on or off"},
		{Name: "GRAPHQL_PLAYGROUND", Default: "off", Development: "on", Help: "on or off", set: into(&s.Playground, onOff)},
		{Name: "GRAPHQL_OPERATIONS", Default: "any", set: into(&s.Operations, oneOf("any", "trusted")),
			Help: "any: clients may send any document; trusted: only those in GRAPHQL_DOCUMENTS, and any within a session of the " +
				"inbox"},
		{Name: "GRAPHQL_DOCUMENTS", set: into(&s.OperationsPath, existing),
			Help: "folder of .graphql files, or a JSON manifest, of documents that clients may name by their hash"},
	}
}
