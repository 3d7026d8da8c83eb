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

// trimmed returns an argument without surrounding white space, the form that its
// @constraint checks, or nil without an argument.
func trimmed(s *string) *string {
	if s == nil {
		return nil
	}
	text := schema.Clean(*s)
	return &text
}
