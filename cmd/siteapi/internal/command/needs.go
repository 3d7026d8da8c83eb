package command

import (
	"slices"

	"siteapi/schema/operations"
)

// system is what the command of an operation uses.
type system int

const (
	onDatabase system = iota
	onContent         // the CMS without the database
	onLeads           // the database, the CMS, the CRM and the cache
	onService         // a running service
)

// needsOf returns what the command of an operation uses, and the settings that must be valid
// for it. The schema decides: an operation with a route runs in the service, since its cache
// may be in its memory. A public field needs only the content, and a field with @auth the
// database. Only those with the owner of a lead, and the two that search every copy of one,
// need more.
func needsOf(op *operations.Operation) (system, []string) {
	service := []string{"ENVIRONMENT", "LISTEN_ADDR"}
	upstream := append(databaseSettings(), "CMS_DRIVER", "CRM_DRIVER")

	switch {
	case op.Rest != nil:
		return onService, service
	case op.Root.Definition.Directives.ForName("auth") == nil:
		return onContent, []string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CONTENT_TYPES", "CONTENT_TTL"}
	case op.Root.Name == "assignLead", op.Root.Name == "leads":
		return onDatabase, append(databaseSettings(), "ADMIN_TOKENS")
	case op.Root.Name == "verifyDeliveries":
		return onLeads, upstream
	case op.Root.Name == "eraseLeads":
		return onLeads, slices.Concat(upstream, service, []string{"CACHE_URL", "CACHE_PREFIX"})
	default:
		return onDatabase, databaseSettings()
	}
}

// databaseSettings are the settings that locate the database.
func databaseSettings() []string { return []string{"ENVIRONMENT", "DATA_DIR", "DATABASE_URL"} }
