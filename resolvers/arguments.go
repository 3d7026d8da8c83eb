package resolvers

import (
	"strings"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// stateOf returns the state that an argument names; an empty one is any.
func stateOf(s *lead.State) lead.State { return schema.ValueOr(s, "") }

// deliveryFilter returns the filter for arguments about deliveries.
func deliveryFilter(states []schema.DeliveryState, target *schema.DeliveryTarget) store.DeliveryFilter {
	f := store.DeliveryFilter{Target: targetOf(schema.ValueOr(target, ""))}
	for _, s := range states {
		f.States = append(f.States, lead.DeliveryState(strings.ToLower(string(s))))
	}
	return f
}

// targetOf returns the target that an argument names.
func targetOf(t schema.DeliveryTarget) lead.Target { return lead.Target(strings.ToLower(string(t))) }

// orderOf translates the order of a list.
func orderOf(sort schema.LeadSort) (byAmount, newest bool) {
	return sort == schema.LeadSortLargest || sort == schema.LeadSortSmallest,
		sort == schema.LeadSortNewest || sort == schema.LeadSortLargest
}

// trimmed returns an argument without the white space around it, as its @constraint checks
// it. It is nil if there is no argument.
func trimmed(s *string) *string {
	if s == nil {
		return nil
	}
	text := schema.Trim(*s)
	return &text
}
