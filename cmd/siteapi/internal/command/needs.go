package command

import (
	"slices"

	"siteapi/schema/operations"
)

// System is the system that the command of an operation uses.
type System string

// These are the systems that commands use.
const (
	OnDatabase System = "database"
	OnContent  System = "content" // the CMS without the database
	OnLeads    System = "leads"   // the database, the CMS, the CRM and the cache
	OnService  System = "service" // a running service, since its cache may be in its memory
)

// Needs holds the requirements of an operation's command.
type Needs struct {
	System   System
	Settings []string // settings that must be valid
}

// NeedsOf returns the requirements of an operation's command, which depend on its root
// field.
func NeedsOf(op *operations.Operation) Needs {
	service := []string{"ENVIRONMENT", "LISTEN_ADDR"}

	switch op.Root.Name {
	case "content", "SiteSettings", "estimateQuote":
		return Needs{OnContent, []string{
			"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CMS_FILE", "SANITY_*", "CONTENT_TYPES", "CONTENT_TTL",
		}}
	case "verifyDeliveries":
		return Needs{OnLeads, upstreamSettings()}
	case "eraseLeads":
		return Needs{OnLeads, slices.Concat(upstreamSettings(), service, []string{"CACHE_URL", "CACHE_PREFIX"})}
	case "cacheStats", "clearCache", "invalidateCache":
		return Needs{OnService, service}
	default:
		return Needs{OnDatabase, databaseSettings()}
	}
}

// databaseSettings are the settings that locate the database.
func databaseSettings() []string { return []string{"ENVIRONMENT", "DATA_DIR", "DATABASE_URL"} }

// upstreamSettings are the settings of the database, the CMS and the CRM.
func upstreamSettings() []string {
	return append(databaseSettings(), "CMS_DRIVER", "CMS_FILE", "SANITY_*", "CRM_DRIVER", "HUBSPOT_*")
}
