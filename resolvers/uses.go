package resolvers

import (
	"slices"
	"strings"
)

// System is something outside the resolvers that a root field uses.
type System string

// Systems that root fields use.
const (
	Content  System = "content"  // the documents of the CMS
	Database System = "database" // leads, deliveries and operators
	Owners   System = "owners"   // operators with a token of their own
	Copies   System = "copies"   // the CMS and the CRM, which have copies of leads
	PDFs     System = "pdfs"     // the cache with the rendered leads
	Health   System = "health"   // all systems, which are checked
	Service  System = "service"  // what only a running service has, such as its cache and limits
)

// Uses returns the systems that a root field uses. Commands and assistants on this machine
// open only these.
func Uses(field string) (list []System) {
	for system, fields := range systemUsers() {
		if slices.Contains(strings.Fields(fields), field) {
			list = append(list, system)
		}
	}
	return list
}

// systemUsers lists the root fields that use a system.
func systemUsers() map[System]string {
	return map[System]string{
		Content: `SiteSettings content contentPage estimateQuote quoteOptions`,

		Database: `lead leads deliveries funnel person operatorNames audit verifyAudit logins endLogins
			releaseLeads rejectLeads assignLeads setLeadStatuses
			setLeadOutcome setLeadFollowUp markLeadAnswered leadReport addLeadNote withdrawConsent eraseLeads resendLead retryLeads
			retryDeliveries dismissDelivery verifyDeliveries serviceHealth
			declineDeletion unfinishedQuotes leadOwners`,

		Owners: `leads leadOwners operatorNames assignLeads`,
		Copies: `verifyDeliveries eraseLeads`,
		PDFs:   `eraseLeads`,
		Health: `serviceHealth`,

		Service: `cacheStats clearCache invalidateCache receiveCmsWebhook contentHealth contentChanged leadEvents
			quotePdf quotePage trackQuote submitQuote withdrawQuoteConsent requestQuoteDeletion`,
	}
}
