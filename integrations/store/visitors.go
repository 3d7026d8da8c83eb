package store

import (
	"context"
	"time"

	"siteapi/integrations/lead"
)

// VisitorFilter selects a part of the visitors who left. Limit is required.
type VisitorFilter struct {
	Before time.Time        // only those last seen before this time, or at it
	After  *VisitorPosition // only visitors after this one in the order of the listing
	Limit  int
}

// VisitorPosition is the place of a visitor in the order of a listing.
type VisitorPosition struct {
	LastSeen  time.Time
	SessionID string
}

// Visitors lists visitors who left without asking for a quote.
type Visitors interface {
	// VisitorsWhoLeft returns sessions, the last seen first, whose latest state has an
	// e-mail address and the consent to its being kept, and from which no lead came.
	// Neither did one from that address after the session was last seen.
	VisitorsWhoLeft(ctx context.Context, f VisitorFilter) ([]lead.Session, error)
}
