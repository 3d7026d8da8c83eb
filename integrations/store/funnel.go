package store

import (
	"context"
	"fmt"
	"time"

	"siteapi/integrations/lead"
)

// FunnelFilter selects the sessions and leads that a funnel counts. Zero fields are
// ignored.
type FunnelFilter struct {
	Since, Until       time.Time // sessions last seen and leads submitted in [Since, Until)
	Locale             string    // only leads in this language, and their sessions
	Sources, Campaigns []string  // any of these parts of the touch; an empty one: none
	FirstTouch         bool      // uses the first touch of a visitor, not the last
	TimeZone           *time.Location
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
	Week             time.Time // the Monday of the week in which they were last seen
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

// The length of a week, and the Monday of the week of 1970-01-01, a Thursday, in
// milliseconds.
const (
	week        = 7 * 24 * 60 * 60 * 1000
	firstMonday = -3 * 24 * 60 * 60 * 1000
)

// FunnelSessions groups the sessions in the database. The first column is a number,
// because SQLite then sorts faster. The locale is that of a session's newest lead.
// Selections are grouped as one string: that takes a fifth longer than numeric columns for
// its parts, some 100 ms for 100,000 sessions, but needs no stored copies that must stay
// equal to it.
func (s *Store) FunnelSessions(ctx context.Context, f FunnelFilter) ([]SessionCount, error) {
	var leads conditions
	leads.add("review = 0")
	join := "LEFT JOIN"
	if f.Locale != "" {
		leads.add("locale = ?", f.Locale)
		join = "JOIN"
	}

	sessions := conditions{args: leads.args}
	touch := sessions.matchFunnel(f, "last_seen")

	query := fmt.Sprintf(`WITH converted AS MATERIALIZED (
  SELECT session_id,
    CASE count(*) WHEN 1 THEN max(locale) ELSE (
      SELECT locale FROM leads AS same%[4]s AND same.session_id = leads.session_id
      ORDER BY submitted_at DESC, id DESC LIMIT 1
    ) END AS spoken,
    max(CASE outcome WHEN 'WON' THEN %[1]d WHEN 'QUALIFIED' THEN %[2]d ELSE %[3]d END) AS reached
  FROM leads%[4]s GROUP BY session_id
)
SELECT (last_seen + %[10]s - %[6]d) / %[7]d * %[7]d + %[6]d AS week,
%[5]scampaign AS campaign, %[5]ssource AS source,
  selections, coalesce(reached, step) AS step, coalesce(spoken, '') AS locale, count(*) AS sessions
FROM sessions %[8]s converted ON session_id = id%[9]s
GROUP BY 1, 2, 3, 4, 5, 6`,
		Won, Qualified, Submitted, leads.where(),
		touch, firstMonday, week, join, sessions.where(), offsetAt("last_seen", f),
	)
	return all[SessionCount](ctx, s.db, "counting the sessions", query, sessions.args...)
}

// offsetAt returns the SQL expression for the offset of the filter's time zone from UTC at
// the time in a column, in milliseconds.
func offsetAt(column string, f FunnelFilter) string {
	changes, at := "", time.Now().In(f.TimeZone)
	for {
		_, offset := at.Zone()
		begins, _ := at.ZoneBounds()
		if begins.UnixMilli() <= max(0, f.Since.UnixMilli()) {
			return fmt.Sprintf("CASE WHEN false THEN 0%s ELSE %d END", changes, offset*1000)
		}
		changes += fmt.Sprintf(" WHEN %s >= %d THEN %d", column, begins.UnixMilli(), offset*1000)
		at = begins.Add(-1)
	}
}

// FunnelLeads groups the leads in the database.
func (s *Store) FunnelLeads(ctx context.Context, f FunnelFilter) ([]LeadCount, error) {
	var c conditions
	c.add("review IN (0, 1)")
	c.given("locale = ?", f.Locale)
	touch := c.matchFunnel(f, "submitted_at")

	query := fmt.Sprintf(`SELECT %[1]ssource AS source, %[1]scampaign AS campaign, review = 1 AS in_review,
  currency, won_currency, count(*) AS leads,
  sum(amount) AS amount, coalesce(sum(won_amount), 0) AS won_amount,
  sum(CASE WHEN EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_id) THEN 0 ELSE 1 END) AS untracked
FROM leads%[2]s GROUP BY 1, 2, 3, 4, 5`, touch, c.where())
	return all[LeadCount](ctx, s.db, "counting the leads", query, c.args...)
}

// matchFunnel adds the conditions of a filter on the time, in the column at, and on the
// touch. It returns the prefix of the touch's columns.
func (c *conditions) matchFunnel(f FunnelFilter, at string) (touch string) {
	touch = "last_"
	if f.FirstTouch {
		touch = "first_"
	}

	c.given(at+" >= ?", f.Since)
	c.given(at+" < ?", f.Until)
	c.origin(touch, f.Sources, f.Campaigns)
	return touch
}

// origin adds the conditions on the source and the campaign of a touch.
func (c *conditions) origin(touch string, sources, campaigns []string) {
	givenIn(c, touch+"source", sources)
	givenIn(c, touch+"campaign", campaigns)
}
