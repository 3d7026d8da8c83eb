package store

import (
	"context"
	"time"

	"siteapi/integrations/lead"
)

// FunnelFilter selects the sessions and leads that a funnel counts. Zero fields are
// ignored.
type FunnelFilter struct {
	Since, Until     time.Time // sessions last seen and leads submitted in [Since, Until)
	Locale           string    // only leads in this language, and their sessions
	Source, Campaign *string   // parts of the touch; empty: none
	FirstTouch       bool      // uses the first touch of a visitor, not the last
}

// FunnelStep is a step of the calculator.
type FunnelStep int

// The steps, in order.
const (
	Visited   FunnelStep = iota // the calculator was opened
	Chose                       // a project type was chosen
	Estimated                   // an estimate was seen
	Typed                       // the contact form was started
	Submitted                   // the lead was submitted and is neither in review nor rejected
	Qualified                   // the lead turned out to be worth an offer
	Won                         // the lead became a customer

	FunnelSteps = iota
)

// SessionCount is the number of sessions with the same attributes.
type SessionCount struct {
	Sessions         int
	Week             time.Time // the Monday of the week in which they were last seen, 00:00 UTC
	Source, Campaign string    // parts of their touch

	Selections lead.Selections
	Step       FunnelStep // the furthest step that the sessions or their leads reached
	Locale     string     // language of their latest lead; empty: none or unknown
}

// LeadCount is the number of leads with the same attributes.
type LeadCount struct {
	Leads            int
	Untracked        int    // leads whose session is not stored
	Source, Campaign string // parts of their touch
	InReview         bool

	Currency string
	Amount   float64 // sum of the lower ends of their ranges

	WonCurrency string  // empty: no lead was won, or its amount is unknown
	WonAmount   float64 // sum of the amounts of won leads
}

// Funnel counts sessions and leads.
type Funnel interface {
	// FunnelSessions counts sessions. Their leads count whenever they were submitted.
	FunnelSessions(ctx context.Context, f FunnelFilter) ([]SessionCount, error)

	// FunnelLeads counts leads, except for rejected ones.
	FunnelLeads(ctx context.Context, f FunnelFilter) ([]LeadCount, error)
}
