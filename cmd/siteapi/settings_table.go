package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
)

// settings lists every environment variable in the order it is documented.
func settings() []setting {
	return []setting{
		{name: "LISTEN_ADDR", def: ":8080", help: "address the service listens on",
			parse: func(s *Settings, v string) error { s.ListenAddr = v; return listenAddress(v) }},
		{name: "LISTEN_REUSEPORT", def: "off", help: "on or off; on: a new process may listen on the same addresses while this one stops, for a restart without a refused connection (Linux)",
			parse: func(s *Settings, v string) (err error) { s.ReusePort, err = onOff(v); return err }},
		{name: "DRAIN_DELAY", def: "2s", devDef: "0s", help: "how long a service that is told to stop goes on taking requests: /readyz says so meanwhile, and each connection is closed with its next answer",
			parse: func(s *Settings, v string) (err error) { s.DrainDelay, err = duration(v); return err }},
		{name: "MAX_CONNECTIONS", def: "2048", help: "most connections at a time; while all are busy a further one is refused with 503",
			parse: func(s *Settings, v string) error { return atLeastOne(v, &s.MaxConns) }},
		{name: "MAX_REQUESTS", def: "512", help: "most GraphQL requests, and most others, that are worked on at a time; a further one is refused with 503",
			parse: func(s *Settings, v string) error { return atLeastOne(v, &s.MaxRequests) }},
		{name: "ADMIN_ADDR", def: "127.0.0.1:9090", help: "address of metrics and profiles; off: none",
			parse: func(s *Settings, v string) error {
				if v == "off" {
					return nil
				}
				s.AdminAddr = v
				return listenAddress(v)
			}},
		{name: "ENVIRONMENT", def: production, help: "production or development; development brings its own tokens, content and introspection",
			parse: func(_ *Settings, v string) error { return oneOf(v, production, development) }},
		{name: "LOG_LEVEL", def: "info", help: "trace, debug, info, warn or error",
			parse: func(s *Settings, v string) (err error) {
				if s.LogLevel, err = zerolog.ParseLevel(v); err != nil {
					return errors.New("must be one of trace, debug, info, warn, error")
				}
				return nil
			}},
		{name: "LOG_FORMAT", def: "json", devDef: "console", help: "json or console",
			parse: func(s *Settings, v string) error { s.LogFormat = v; return oneOf(v, "json", "console") }},
		{name: "OTEL_EXPORTER_OTLP_ENDPOINT", help: "address of an OpenTelemetry collector that traces are sent to; left out: nothing is traced",
			parse: func(s *Settings, v string) error { s.Tracing.endpoint = v; return webAddress(v) }},
		{name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", help: "the same for traces alone, with the whole path",
			parse: func(s *Settings, v string) error { s.Tracing.tracesEndpoint = v; return webAddress(v) }},
		{name: "OTEL_EXPORTER_OTLP_PROTOCOL", def: "http/protobuf", help: "http/protobuf or grpc",
			parse: func(s *Settings, v string) error { s.Tracing.protocol = v; return oneOf(v, "http/protobuf", "grpc") }},
		{name: "OTEL_SERVICE_NAME", def: "siteapi", help: "what the service is called in traces",
			parse: func(s *Settings, v string) error { s.Tracing.service = v; return nil }},
		{name: "OTEL_SDK_DISABLED", def: "false", help: "true: nothing is traced, whatever else is set",
			parse: func(s *Settings, v string) (err error) { s.Tracing.disabled, err = onOff(v); return err }},
		{name: "DATA_DIR", def: "data", help: "folder of the database and of everything else that is kept",
			parse: func(s *Settings, v string) error { s.DataDir = v; return nil }},
		{name: "DATABASE_URL", def: "", secret: true, help: "postgres://…; left out: SQLite in DATA_DIR",
			parse: func(s *Settings, v string) (err error) {
				if v != "" {
					s.DatabaseURL, err = address([]string{"postgres", "postgresql"}, v)
				}
				return err
			}},
		{name: "CACHE_URL", def: "memory://", secret: true, help: "memory://, or valkey://, valkeys://, redis://, rediss:// with host, port, user and database",
			parse: func(s *Settings, v string) (err error) {
				s.CacheURL, err = address([]string{"memory", "valkey", "valkeys", "redis", "rediss"}, v)
				return err
			}},
		{name: "CACHE_PREFIX", def: "siteapi:", help: "begins every key on a shared server; never seen in answers",
			parse: func(s *Settings, v string) error { s.CachePrefix = v; return nil }},
		{name: "CACHE_API_TOKEN", devDef: devCacheToken, secret: true, help: "tokens of the cache routes, comma-separated",
			parse: func(s *Settings, v string) error { s.CacheTokens = list(v); return nil }},
		{name: "CMS_WEBHOOK_SECRET", devDef: devWebhookSecret, secret: true, help: "tokens of the CMS webhook, comma-separated",
			parse: func(s *Settings, v string) error { s.WebhookSecrets = list(v); return nil }},
		{name: "CMS_WEBHOOK_SIGNING_SECRET", secret: true, help: "secrets that sign webhooks, comma-separated; left out: no signature is asked for",
			parse: func(s *Settings, v string) error { s.SigningSecrets = list(v); return nil }},
		{name: "CMS_DRIVER", def: "file", help: "file or sanity",
			parse: func(s *Settings, v string) error { s.CMSDriver = v; return oneOf(v, "file", "sanity") }},
		{name: "CMS_FILE", help: "JSON file of the file driver; left out: DATA_DIR/content.json, begun with a sample",
			parse: func(s *Settings, v string) error { s.CMSFile = v; return nil }},
		{name: "SANITY_PROJECT_ID", help: "project of the Sanity driver",
			parse: func(s *Settings, v string) error { s.SanityProjectID = v; return nil }},
		{name: "SANITY_DATASET", def: "production", help: "dataset of the Sanity driver",
			parse: func(s *Settings, v string) error { s.SanityDataset = v; return nil }},
		{name: "SANITY_API_VERSION", def: "2025-02-19", help: "API version of the Sanity driver, a date",
			parse: func(s *Settings, v string) error { s.SanityAPIVersion = v; return nil }},
		{name: "SANITY_TOKEN", secret: true, help: "token of the Sanity driver, with the right to write",
			parse: func(s *Settings, v string) error { s.SanityToken = v; return nil }},
		{name: "SANITY_API_URL", help: "address of the Sanity API; left out: the project's own",
			parse: func(s *Settings, v string) error { s.SanityAPIURL = v; return webAddress(v) }},
		{name: "CRM_DRIVER", def: "file", help: "file or hubspot",
			parse: func(s *Settings, v string) error { s.CRMDriver = v; return oneOf(v, "file", "hubspot") }},
		{name: "HUBSPOT_TOKEN", secret: true, help: "access token of the HubSpot driver",
			parse: func(s *Settings, v string) error { s.HubSpotToken = v; return nil }},
		{name: "HUBSPOT_API_URL", def: "https://api.hubapi.com", help: "address of the HubSpot API",
			parse: func(s *Settings, v string) error { s.HubSpotAPIURL = v; return webAddress(v) }},
		{name: "HUBSPOT_OBJECTS_PATH", def: "/crm/v3/objects", help: "versioned path of objects in the HubSpot API",
			parse: func(s *Settings, v string) error { s.HubSpotObjectsPath = v; return nil }},
		{name: "HUBSPOT_PROPERTIES_PATH", def: "/crm/v3/properties", help: "versioned path of property definitions in the HubSpot API",
			parse: func(s *Settings, v string) error { s.HubSpotPropertiesPath = v; return nil }},
		{name: "CMS_RATE", help: "most leads a second that one instance brings to the CMS, 0: any; left out: 20 for Sanity, any for files",
			parse: func(s *Settings, v string) (err error) {
				s.CMSRate, err = rate(v, s.CMSDriver, "sanity", 20)
				return err
			}},
		{name: "CRM_RATE", help: "most leads a second that one instance brings to the CRM, 0: any; left out: 5 for HubSpot, any for files",
			parse: func(s *Settings, v string) (err error) {
				s.CRMRate, err = rate(v, s.CRMDriver, "hubspot", 5)
				return err
			}},
		{name: "SITE_URL", help: "absolute address of this service, for the PDF link the CRM gets; left out: the link is relative",
			parse: func(s *Settings, v string) error { s.SiteURL = strings.TrimSuffix(v, "/"); return webAddress(v) }},
		{name: "CONTENT_TYPES", devDef: "heroSection,quoteOption", help: "document types that the field `content` serves, comma-separated",
			parse: func(s *Settings, v string) error { s.ContentTypes = list(v); return nil }},
		{name: "CONTENT_TTL", def: "10m", help: "how long content is served before it is refreshed",
			parse: func(s *Settings, v string) (err error) { s.ContentTTL, err = duration(v); return err }},
		{name: "CORS_ALLOWED_ORIGINS", devDef: "*", help: "origins of the sites that may call the service from a browser, comma-separated, or *",
			parse: func(s *Settings, v string) error { s.CORSOrigins = list(v); return origins(s.CORSOrigins) }},
		{name: "TRUSTED_PROXIES", help: "networks of proxies whose Forwarded and X-Forwarded-For headers are believed, comma-separated",
			parse: func(s *Settings, v string) error { return s.setProxies(list(v)) }},
		{name: "RATE_LIMITS", def: "on", help: "on or off",
			parse: func(s *Settings, v string) (err error) { s.RateLimits, err = onOff(v); return err }},
		{name: "TRACK_RETENTION", def: "90d", help: "how long a tracked session is kept after its last sign of life; 0s: for good",
			parse: func(s *Settings, v string) (err error) { s.TrackRetention, err = duration(v); return err }},
		{name: "SUBMISSION_RETENTION", def: "0s", help: "how long a submission is kept in the database, 1d at least; 0s: for good. One that is on its way stays until it arrived",
			parse: func(s *Settings, v string) (err error) {
				if s.LeadRetention, err = duration(v); err == nil && s.LeadRetention > 0 && s.LeadRetention < leadRetentionLeast {
					err = errors.New("must be 1d at least, or 0s: visitors still fetch their PDF on the first day")
				}
				return err
			}},
		{name: "SPAM_MIN_TIME", def: "0s", help: "a quote submitted sooner than this after its session's first tracked state is held for review; 0s: none is",
			parse: func(s *Settings, v string) (err error) { s.SpamMinTime, err = duration(v); return err }},
		{name: "TURNSTILE_SECRET", secret: true, help: "secret key of Cloudflare Turnstile: a quote submitted without a good token is held for review; left out: no token is asked for",
			parse: func(s *Settings, v string) error { s.TurnstileKey = v; return nil }},
		{name: "TURNSTILE_API_URL", def: "https://challenges.cloudflare.com", help: "address of the Turnstile API",
			parse: func(s *Settings, v string) error { s.TurnstileURL = v; return webAddress(v) }},
		{name: "DELIVERY_RETRY_MAX", def: "15m", help: "longest pause between two tries of a delivery that the target did not ask for, from 1s to 24h",
			parse: func(s *Settings, v string) (err error) {
				if s.DeliveryRetryMax, err = duration(v); err == nil && (s.DeliveryRetryMax < retryMaxLeast || s.DeliveryRetryMax > retryMaxMost) {
					err = errors.New("must be between 1s and 24h")
				}
				return err
			}},
		{name: "DELIVERY_OVERDUE", def: "1h", help: "age at which a lead that is not delivered is reported in the log, at level error",
			parse: func(s *Settings, v string) (err error) {
				if s.DeliveryOverdue, err = duration(v); err == nil && s.DeliveryOverdue == 0 {
					err = errors.New("must be longer than 0s")
				}
				return err
			}},
		{name: "LOGO_HOSTS", def: "cdn.sanity.io", help: "hosts that a PDF's logo may be fetched from, comma-separated",
			parse: func(s *Settings, v string) error { s.LogoHosts = list(v); return nil }},
		{name: "PDF_ACCENT", def: "#1f4fd8", help: "accent colour of PDFs where the site settings name none, #rrggbb",
			parse: func(s *Settings, v string) error { s.PDFAccent = v; return colour(v) }},
		{name: "GRAPHQL_INTROSPECTION", def: "off", devDef: "on", help: "on or off",
			parse: func(s *Settings, v string) (err error) { s.Introspection, err = onOff(v); return err }},
		{name: "GRAPHQL_PLAYGROUND", def: "off", devDef: "on", help: "on or off",
			parse: func(s *Settings, v string) (err error) { s.Playground, err = onOff(v); return err }},
		{name: "GRAPHQL_OPERATIONS", def: "any", help: "any: clients may send any document; trusted: only those in GRAPHQL_DOCUMENTS",
			parse: func(s *Settings, v string) error { s.Operations = v; return oneOf(v, "any", "trusted") }},
		{name: "GRAPHQL_DOCUMENTS", help: "folder of .graphql files, or a JSON manifest, of documents that clients may name by their hash",
			parse: func(s *Settings, v string) error { s.OperationsPath = v; return nil }},
		{name: "GRAPHQL_MAX_BODY", def: "1048576", help: "largest GraphQL request, in bytes",
			parse: func(s *Settings, v string) error { return atLeastOne(v, &s.GraphQLLimits.Body) }},
		{name: "GRAPHQL_MAX_TOKENS", def: "2000", help: "most lexical tokens of a GraphQL document",
			parse: func(s *Settings, v string) error { return atLeastOne(v, &s.GraphQLLimits.Tokens) }},
		{name: "GRAPHQL_MAX_DEPTH", def: "20", help: "how deep fields may be nested",
			parse: func(s *Settings, v string) error { return atLeastOne(v, &s.GraphQLLimits.Depth) }},
		{name: "GRAPHQL_MAX_ALIASES", def: "50", help: "most aliases of a GraphQL document",
			parse: func(s *Settings, v string) error { return atLeastOne(v, &s.GraphQLLimits.Aliases) }},
		{name: "GRAPHQL_MAX_ROOT_FIELDS", def: "20", help: "most root fields of one operation",
			parse: func(s *Settings, v string) error { return atLeastOne(v, &s.GraphQLLimits.RootFields) }},
		{name: "GRAPHQL_MAX_DIRECTIVES", def: "50", help: "most directives of a GraphQL document",
			parse: func(s *Settings, v string) error { return atLeastOne(v, &s.GraphQLLimits.Directives) }},
		{name: "GRAPHQL_MAX_COST", def: "2000", help: "most an operation may cost: the sum of its fields' weights (@cost in the schema: 5 to 400 for root fields, else 1), times ten below each list",
			parse: func(s *Settings, v string) error { return atLeastOne(v, &s.GraphQLLimits.Cost) }},
		{name: "GRAPHQL_TIMEOUT", def: "10s", help: "how long one operation may take",
			parse: func(s *Settings, v string) (err error) { s.GraphQLLimits.Time, err = duration(v); return err }},
		{name: "GRAPHQL_ANSWER_CACHE", def: "16777216", help: "memory for finished answers of public queries, in bytes; 0: none are kept",
			parse: func(s *Settings, v string) (err error) {
				s.AnswerBytes, err = strconv.ParseInt(v, 10, 64)
				if err != nil || s.AnswerBytes < 0 {
					return errors.New("must be a number of bytes, or 0")
				}
				return nil
			}},
	}
}

// rate reads a number per second; left out it depends on the driver.
func rate(v, driver, limited string, def float64) (float64, error) {
	if v == "" {
		if driver == limited {
			return def, nil
		}
		return 0, nil
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || n < 0 || n > 1e6 {
		return 0, errors.New("must be a number of leads a second, or 0")
	}
	return n, nil
}

func colour(v string) error {
	if !regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`).MatchString(v) {
		return errors.New("must be a colour such as #1f4fd8")
	}
	return nil
}

func atLeastOne(v string, to *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return errors.New("must be a whole number of at least 1")
	}
	*to = n
	return nil
}

func listenAddress(v string) error {
	if _, _, err := net.SplitHostPort(v); err != nil {
		return errors.New("must be host:port or :port")
	}
	return nil
}

// origins checks that each is an origin as browsers send it.
func origins(list []string) error {
	for _, o := range list {
		if o == "*" {
			continue
		}
		u, err := address([]string{"http", "https"}, o)
		if err != nil || u.Path != "" {
			return fmt.Errorf("%q is not an origin: scheme and host only, such as https://example.com", o)
		}
	}
	return nil
}

func (s *Settings) setProxies(list []string) error {
	for _, item := range list {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			addr, err := netip.ParseAddr(item)
			if err != nil {
				return fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", item)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		s.TrustedProxies = append(s.TrustedProxies, prefix.Masked())
	}
	return nil
}
