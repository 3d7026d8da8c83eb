package store

import (
	"context"
	"time"

	"siteapi/integrations/lead"
)

// FunnelFilter narrows what a funnel counts. Zero fields don't narrow.
type FunnelFilter struct {
	Since, Until     time.Time // sessions last seen, and leads submitted, from Since to before Until
	Locale           string    // only leads in this language, and the sessions that they came from
	Source, Campaign *string   // parts of the touch; empty: it has none
	FirstTouch       bool      // the first touch of a visitor counts, not the last
}

// FunnelStep is a step of the calculator.
type FunnelStep int

// The steps in their order.
const (
	Visited   FunnelStep = iota // the calculator was opened
	Chose                       // a project type was chosen
	Estimated                   // an estimate was seen
	Typed                       // something of the contact form was typed
	Submitted                   // the quote was submitted, and is not in review or rejected
	Qualified                   // the lead turned out to be worth an offer
	Won                         // it became a customer

	FunnelSteps = iota
)

// SessionCount is a number of sessions that are alike.
type SessionCount struct {
	Sessions         int
	Week             time.Time // the Monday of the week in which they were last seen, 00:00 UTC
	Source, Campaign string    // parts of their touch

	Selections lead.Selections
	Step       FunnelStep // the last one that they show, or that a lead of theirs has reached
	Locale     string     // language of their latest lead; empty: none, or not known
}

// LeadCount is a number of leads that are alike.
type LeadCount struct {
	Leads            int
	Untracked        int    // number of them whose session is not stored
	Source, Campaign string // parts of their touch
	InReview         bool

	Currency string
	Amount   float64 // the lower ends of their ranges, added up

	WonCurrency string  // empty: none was won, or it is not known what it brings
	WonAmount   float64 // the amounts of those that were won, added up
}

// Funnel counts sessions and leads.
type Funnel interface {
	// FunnelSessions counts sessions, whose leads may have been submitted at any time.
	FunnelSessions(ctx context.Context, f FunnelFilter) ([]SessionCount, error)

	// FunnelLeads counts leads, except for those that were rejected.
	FunnelLeads(ctx context.Context, f FunnelFilter) ([]LeadCount, error)
}
