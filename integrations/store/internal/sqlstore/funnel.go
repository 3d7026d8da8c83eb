package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// choices returns what a funnel counts of a state, as the column of that name has it: the
// last step, project type, complexity, timeline and features, such as 2|web-app|medium||blog,seo.
// They are slugs.
func choices(st state, typed lead.Hints) string {
	step := store.Visited
	switch {
	case typed != lead.Hints{}:
		step = store.Typed
	case st.Estimate.Min != nil || st.Estimate.Max != nil:
		step = store.Estimated
	case st.Selections.ProjectType != "":
		step = store.Chose
	}

	c := st.Selections
	return strings.Join([]string{
		strconv.Itoa(int(step)), c.ProjectType, c.Complexity, c.Timeline, strings.Join(c.Features, ","),
	}, "|")
}

// chosen reads what choices returned.
func chosen(choices string) (step store.FunnelStep, c lead.Selections, err error) {
	parts := strings.SplitN(choices, "|", 5)
	if len(parts) != 5 {
		return 0, c, fmt.Errorf("the choices of a session are malformed: %q", choices)
	}

	n, err := strconv.Atoi(parts[0])
	c = lead.Selections{ProjectType: parts[1], Complexity: parts[2], Timeline: parts[3]}
	if parts[4] != "" {
		c.Features = strings.Split(parts[4], ",")
	}
	return store.FunnelStep(n), c, err
}

// Weeks are numbered from the Monday before 1970, which began on a Thursday.
const (
	week        = 7 * 24 * time.Hour
	firstMonday = -3 * 24 * time.Hour
)

// FunnelSessions has the database group the sessions.
func (s *Store) FunnelSessions(
	ctx context.Context, f store.FunnelFilter, counted func(store.SessionCount),
) error {
	query, args := sessionsOfFunnel(f)
	err := s.db.Query(ctx, query, args, func(scan Scan) error {
		var row struct {
			store.SessionCount
			Choices string
			Number  int64  // of the week
			Spoken  string // locale of the latest lead
			Reached int64  // step of the leads; 0: there are none
		}
		err := scan(&row)
		if err != nil {
			return err
		}

		c := row.SessionCount
		if c.Step, c.Selections, err = chosen(row.Choices); err != nil {
			return err
		}
		if row.Reached > 0 {
			c.Step, c.Locale = store.FunnelStep(row.Reached), row.Spoken
		}
		c.Week = time.UnixMilli(row.Number*week.Milliseconds() + firstMonday.Milliseconds()).UTC()
		counted(c)
		return nil
	})
	if err != nil {
		return fmt.Errorf("counting the sessions: %w", err)
	}
	return nil
}

// sessionsOfFunnel returns the query of FunnelSessions. Its columns come in an order in which
// SQLite sorts fast: those first in which rows differ. Of several leads of a session the
// newest has the locale.
func sessionsOfFunnel(f store.FunnelFilter) (query string, args []any) {
	var leads conditions
	leads.add("review = 0")
	join := "LEFT JOIN"
	if f.Locale != "" {
		leads.add("locale = ?", f.Locale)
		join = "JOIN"
	}

	touch := "last_"
	if f.FirstTouch {
		touch = "first_"
	}
	sessions := conditions{args: leads.args}
	sessions.ofFunnel(f, "last_seen", touch)

	return fmt.Sprintf(`WITH converted AS MATERIALIZED (
  SELECT session_id,
    CASE count(*) WHEN 1 THEN max(locale) ELSE (
      SELECT locale FROM leads AS same%[4]s AND same.session_id = leads.session_id
      ORDER BY submitted_at DESC, id DESC LIMIT 1
    ) END AS locale,
    max(CASE outcome WHEN 'WON' THEN %[1]d WHEN 'QUALIFIED' THEN %[2]d ELSE %[3]d END) AS reached
  FROM leads%[4]s GROUP BY session_id
)
SELECT choices, %[5]scampaign AS campaign, %[5]ssource AS source, (last_seen - %[6]d) / %[7]d AS number,
  coalesce(locale, '') AS spoken, coalesce(reached, 0) AS reached, count(*) AS sessions
FROM sessions %[8]s converted ON session_id = id%[9]s
GROUP BY 1, 2, 3, 4, 5, 6`,
		store.Won, store.Qualified, store.Submitted, leads.where(),
		touch, firstMonday.Milliseconds(), week.Milliseconds(), join, sessions.where(),
	), sessions.args
}

// FunnelLeads has the database group the leads.
func (s *Store) FunnelLeads(
	ctx context.Context, f store.FunnelFilter, counted func(store.LeadCount),
) error {
	var c conditions
	c.add("review IN (0, 1)")
	if f.Locale != "" {
		c.add("locale = ?", f.Locale)
	}
	touch := ""
	if f.FirstTouch {
		touch = "first_"
	}
	c.ofFunnel(f, "submitted_at", touch)

	query := fmt.Sprintf(`SELECT %[1]ssource AS source, %[1]scampaign AS campaign, review, currency, won_currency,
  count(*) AS leads, sum(amount) AS amount, coalesce(sum(won_amount), 0) AS won_amount,
  sum(CASE WHEN EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_id) THEN 0 ELSE 1 END) AS untracked
FROM leads%[2]s GROUP BY 1, 2, 3, 4, 5`, touch, c.where())

	type row struct {
		store.LeadCount
		Review int64
	}
	rows, err := all[row](ctx, s.db, "counting the leads", query, c.args...)
	for _, r := range rows {
		r.InReview = r.Review == inReview
		counted(r.LeadCount)
	}
	return err
}

// ofFunnel adds the conditions of a filter on time and touch, given the name of the column
// with the time, and the beginning of the names of those with the touch.
func (c *conditions) ofFunnel(f store.FunnelFilter, at, touch string) {
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
}
