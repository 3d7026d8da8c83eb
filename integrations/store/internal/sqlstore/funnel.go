package sqlstore

import (
	"context"
	"fmt"

	"siteapi/integrations/store"
)

// Milliseconds of a week, and of its first Monday: 1970 began on a Thursday.
const (
	week        = 7 * 24 * 60 * 60 * 1000
	firstMonday = -3 * 24 * 60 * 60 * 1000
)

// FunnelSessions has the database group the sessions. The columns come in an order in which
// SQLite sorts fast: a number first. Of several leads of a session the newest has the locale.
// Choices are one text. Sorting by it takes a fifth longer than by numbers of its parts would,
// some 100 ms for 100,000 sessions, and those would be stored and kept equal to it.
func (s *Store) FunnelSessions(ctx context.Context, f store.FunnelFilter) ([]store.SessionCount, error) {
	var leads conditions
	leads.add("review = 0")
	join := "LEFT JOIN"
	if f.Locale != "" {
		leads.add("locale = ?", f.Locale)
		join = "JOIN"
	}

	sessions := conditions{args: leads.args}
	touch := sessions.ofFunnel(f, "last_seen")

	query := fmt.Sprintf(`WITH converted AS MATERIALIZED (
  SELECT session_id,
    CASE count(*) WHEN 1 THEN max(locale) ELSE (
      SELECT locale FROM leads AS same%[4]s AND same.session_id = leads.session_id
      ORDER BY submitted_at DESC, id DESC LIMIT 1
    ) END AS spoken,
    max(CASE outcome WHEN 'WON' THEN %[1]d WHEN 'QUALIFIED' THEN %[2]d ELSE %[3]d END) AS reached
  FROM leads%[4]s GROUP BY session_id
)
SELECT (last_seen - %[6]d) / %[7]d * %[7]d + %[6]d AS week, %[5]scampaign AS campaign, %[5]ssource AS source,
  selections, coalesce(reached, step) AS step, coalesce(spoken, '') AS locale, count(*) AS sessions
FROM sessions %[8]s converted ON session_id = id%[9]s
GROUP BY 1, 2, 3, 4, 5, 6`,
		store.Won, store.Qualified, store.Submitted, leads.where(),
		touch, firstMonday, week, join, sessions.where(),
	)
	return all[store.SessionCount](ctx, s.db, "counting the sessions", query, sessions.args...)
}

// FunnelLeads has the database group the leads.
func (s *Store) FunnelLeads(ctx context.Context, f store.FunnelFilter) ([]store.LeadCount, error) {
	var c conditions
	c.add("review IN (0, 1)")
	if f.Locale != "" {
		c.add("locale = ?", f.Locale)
	}
	touch := c.ofFunnel(f, "submitted_at")

	query := fmt.Sprintf(`SELECT %[1]ssource AS source, %[1]scampaign AS campaign, review = 1 AS in_review,
  currency, won_currency, count(*) AS leads,
  sum(amount) AS amount, coalesce(sum(won_amount), 0) AS won_amount,
  sum(CASE WHEN EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_id) THEN 0 ELSE 1 END) AS untracked
FROM leads%[2]s GROUP BY 1, 2, 3, 4, 5`, touch, c.where())
	return all[store.LeadCount](ctx, s.db, "counting the leads", query, c.args...)
}

// ofFunnel adds the conditions of a filter on time and touch, given the name of the column
// with the time. It returns the beginning of the names of the columns with the touch.
func (c *conditions) ofFunnel(f store.FunnelFilter, at string) (touch string) {
	touch = "last_"
	if f.FirstTouch {
		touch = "first_"
	}

	if !f.Since.IsZero() {
		c.add(at+" >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		c.add(at+" < ?", f.Until)
	}
	if f.Source != nil {
		c.add(touch+"source = ?", *f.Source)
	}
	if f.Campaign != nil {
		c.add(touch+"campaign = ?", *f.Campaign)
	}
	return touch
}
