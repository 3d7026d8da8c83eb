package command

import (
	"slices"

	"siteapi/schema/operations"
)

// System is what the command of an operation works on.
type System string

// The systems that a command opens, and no others.
const (
	OnDatabase System = "database"
	OnContent  System = "content" // the CMS's documents, without the database
	OnLeads    System = "leads"   // the database, the CMS, the CRM and the cache
	OnService  System = "service" // a running service, whose memory may be the cache
)

// Needs is what the command of an operation needs.
type Needs struct {
	System   System
	Settings []string // settings that have to be valid
}

// NeedsOf returns what the command of an operation needs, which its root field decides.
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

// upstreamSettings are the settings of the CMS and the CRM, and those that locate the
// database.
func upstreamSettings() []string {
	return append(databaseSettings(), "CMS_DRIVER", "CMS_FILE", "SANITY_*", "CRM_DRIVER", "HUBSPOT_*")
}
