package resolvers

import (
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// stateOf returns the state of an argument; empty means any state.
func stateOf(s *lead.State) lead.State { return schema.ValueOr(s, "") }

// deliveryFilter converts the arguments of a field to a filter of the store.
func deliveryFilter(states []schema.DeliveryState, target *schema.DeliveryTarget) store.DeliveryFilter {
	f := store.DeliveryFilter{Target: targetOf(schema.ValueOr(target, ""))}
	for _, s := range states {
		f.States = append(f.States, lead.DeliveryState(strings.ToLower(string(s))))
	}
	return f
}

// targetOf converts a target of the schema to one of the domain.
func targetOf(t schema.DeliveryTarget) lead.Target { return lead.Target(strings.ToLower(string(t))) }

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
