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
		{Name: "LISTEN_ADDR", Default: ":8080", Help: "address the service listens on", set: listenAddress(&s.ListenAddr)},
		{Name: "LISTEN_REUSEPORT", Default: "off",
			Help: "on or off; on: a new process may listen on the same addresses while this one stops, for a restart without a " +
				"refused connection (Linux)", set: onOff(&s.ReusePort)},
		{Name: "DRAIN_DELAY", Default: "2s", Development: "0s",
			Help: "how long a service that is told to stop goes on taking requests: /readyz says so meanwhile, and each " +
				"connection is closed with its next answer", set: duration(&s.DrainDelay, 0, time.Hour)},
		{Name: "MAX_CONNECTIONS", Default: "2048",
			Help: "most connections at a time, an eighth of them of one address; a further one takes the place of an idle one, " +
				"or is refused with 503", set: number(&s.MaxConns, 1_000_000)},
		{Name: "MAX_REQUESTS", Default: "512",
			Help: "most GraphQL requests, and most others, that are worked on at a time; a further one is refused with 503",
			set:  number(&s.MaxRequests, 1_000_000)},
		{Name: "ADMIN_ADDR", Default: "127.0.0.1:9090",
			Help: "address of metrics and profiles; off: none", set: adminAddress(&s.AdminAddr)},
		{Name: "ENVIRONMENT", Default: Production,
			Help: "production or development; development brings its own tokens, content and introspection",
			set:  choice(&s.Environment, Production, Development)},
		{Name: "LOG_LEVEL", Default: "info", Help: "trace, debug, info, warn or error", set: logLevel(&s.LogLevel)},
		{Name: "LOG_FORMAT", Default: "json", Development: "console",
			Help: "json or console", set: choice(&s.LogFormat, "json", "console")},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT",
			Help: "address of an OpenTelemetry collector that traces are sent to by OTLP over HTTP; left out: nothing is traced",
			set:  webAddress(new(string))},
		{Name: "DATA_DIR", Default: "data",
			Help: "folder of the database and of everything else that is kept", set: text(&s.DataDir)},
		{Name: "DATABASE_URL", Secret: true,
			Help: "postgres://user:password@host/database; left out: SQLite in DATA_DIR", set: databaseURL(&s.DatabaseURL)},
		{Name: "CACHE_URL", Default: "memory://", Secret: true,
			Help: "memory://, or valkey://, valkeys://, redis://, rediss:// with host, port, user and database",
			set:  cacheURL(&s.CacheURL)},
		{Name: "CACHE_PREFIX", Default: "siteapi:",
			Help: "begins every key on a shared server; never seen in answers", set: text(&s.CachePrefix)},
		{Name: "CACHE_API_TOKEN", Development: DevCacheToken, Secret: true,
			Help: "tokens of the cache routes, comma-separated", set: list(&s.CacheTokens)},
		{Name: "CMS_WEBHOOK_SECRET", Development: DevWebhookSecret, Secret: true,
			Help: "tokens of the CMS webhook, comma-separated", set: list(&s.WebhookSecrets)},
		{Name: "CMS_WEBHOOK_SIGNING_SECRET", Secret: true,
			Help: "secrets that sign webhooks, comma-separated; left out: no signature is asked for", set: list(&s.SigningSecrets)},
		{Name: "CMS_DRIVER", Default: "file", Help: "file or sanity", set: choice(&s.CMSDriver, "file", "sanity")},
		{Name: "CMS_FILE",
			Help: "JSON file of the file driver; left out: DATA_DIR/content.json, begun with a sample", set: existing(&s.CMSFile)},
		{Name: "SANITY_PROJECT_ID",
			Help: "project of the Sanity driver",
			set:  matching(&s.SanityProjectID, `[a-z0-9][a-z0-9-]{0,63}`, "a project id: lower-case letters, digits and hyphens")},
		{Name: "SANITY_DATASET", Default: "production",
			Help: "dataset of the Sanity driver",
			set:  matching(&s.SanityDataset, `~?[a-z0-9][a-z0-9_-]{0,63}`, "a dataset's name: lower-case letters, digits, hyphens and underscores")},
		{Name: "SANITY_API_VERSION", Default: "2025-02-19",
			Help: "API version of the Sanity driver, a date",
			set:  matching(&s.SanityAPIVersion, `v?20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`, "a date such as 2025-02-19")},
		{Name: "SANITY_TOKEN", Secret: true,
			Help: "token of the Sanity driver, with the right to write", set: text(&s.SanityToken)},
		{Name: "SANITY_API_URL", Help: "address of the Sanity API; left out: the project's own", set: webAddress(&s.SanityAPIURL)},
		{Name: "CRM_DRIVER", Default: "file", Help: "file or hubspot", set: choice(&s.CRMDriver, "file", "hubspot")},
		{Name: "HUBSPOT_TOKEN", Secret: true, Help: "access token of the HubSpot driver", set: text(&s.HubSpotToken)},
		{Name: "HUBSPOT_API_URL", Default: "https://api.hubapi.com",
			Help: "address of the HubSpot API", set: webAddress(&s.HubSpotAPIURL)},
		{Name: "SITE_URL",
			Help: "absolute address of this service, for the PDF link the CRM gets; left out: the link is relative",
			set:  webAddress(&s.SiteURL)},
		{Name: "CONTENT_TYPES", Development: "heroSection,quoteOption",
			Help: "document types that the field `content` serves, comma-separated", set: list(&s.ContentTypes)},
		{Name: "CONTENT_TTL", Default: "10m",
			Help: "how long content is served before it is refreshed", set: duration(&s.ContentTTL, 0, durationMax)},
		{Name: "CORS_ALLOWED_ORIGINS", Development: "*",
			Help: "origins of the sites that may call the service from a browser, comma-separated, or *",
			set:  origins(&s.CORSOrigins)},
		{Name: "TRUSTED_PROXIES",
			Help: "addresses and networks of proxies whose Forwarded and X-Forwarded-For headers are believed, comma-separated",
			set:  networks(&s.TrustedProxies)},
		{Name: "RATE_LIMITS", Default: "on",
			Help: "on or off; off also lifts the limit of requests in flight of one client", set: onOff(&s.RateLimits)},
		{Name: "TRACK_RETENTION", Default: "90d",
			Help: "how long a tracked session is kept after its last sign of life; 0s: for good",
			set:  duration(&s.TrackRetention, 0, durationMax)},
		{Name: "SUBMISSION_RETENTION", Default: "0s",
			Help: "how long a submission is kept in the database, 1d at least; 0s: for good. One that is on its way stays " +
				"until it arrived", set: leadRetention(&s.LeadRetention)},
		{Name: "SPAM_MIN_TIME", Default: "0s",
			Help: "a quote submitted sooner than this after its session's first tracked state is held for review; 0s: none is",
			set:  duration(&s.SpamMinTime, 0, durationMax)},
		{Name: "TURNSTILE_SECRET", Secret: true,
			Help: "secret key of Cloudflare Turnstile: a quote submitted without a good token is held for review; left out: no " +
				"token is asked for", set: text(&s.TurnstileKey)},
		{Name: "TURNSTILE_API_URL", Default: "https://challenges.cloudflare.com",
			Help: "address of the Turnstile API", set: webAddress(&s.TurnstileURL)},
		{Name: "DELIVERY_RETRY_MAX", Default: "15m",
			Help: "longest pause between two tries of a delivery that the target did not ask for, from 1s to 24h",
			set:  duration(&s.DeliveryRetryMax, time.Second, 24*time.Hour)},
		{Name: "DELIVERY_RATE",
			Help: "most leads a second that one instance brings to the CMS, and to the CRM; 0: any number; left out: 20 for " +
				"Sanity, 5 for HubSpot, any for files", set: s.deliveryRate},
		{Name: "LOGO_HOSTS", Default: "cdn.sanity.io",
			Help: "hosts that a PDF's logo may be fetched from, comma-separated", set: hosts(&s.LogoHosts)},
		{Name: "GRAPHQL_INTROSPECTION", Default: "off", Development: "on", Help: "on or off", set: onOff(&s.Introspection)},
		{Name: "GRAPHQL_PLAYGROUND", Default: "off", Development: "on", Help: "on or off", set: onOff(&s.Playground)},
		{Name: "GRAPHQL_OPERATIONS", Default: "any",
			Help: "any: clients may send any document; trusted: only those in GRAPHQL_DOCUMENTS",
			set:  choice(&s.Operations, "any", "trusted")},
		{Name: "GRAPHQL_DOCUMENTS",
			Help: "folder of .graphql files, or a JSON manifest, of documents that clients may name by their hash",
			set:  existing(&s.OperationsPath)},
	}
}
