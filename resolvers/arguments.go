package resolvers

import (
	"siteapi/integrations/lead"
	"siteapi/schema"
)

// stateOf returns the state of an argument; empty means any state.
func stateOf(s *lead.State) lead.State { return schema.ValueOr(s, "") }

// orderOf converts a sort argument to the flags of the store's filter.
func orderOf(sort schema.LeadSort) (byAmount, newest bool) {
	return sort == schema.LeadSortLargest || sort == schema.LeadSortSmallest,
		sort == schema.LeadSortNewest || sort == schema.LeadSortLargest
}

// phoneLink returns the link that dials a number, or nil if it has none.
func phoneLink(number string) *string {
	link := lead.TelephoneLink(number)
	if link == "" {
		return nil
	}
	return &link
}
