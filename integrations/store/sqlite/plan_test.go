package sqlite_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// planner is a database that runs no query and records SQLite's plan for it instead.
type planner struct {
	*sql.DB
	steps []string
}

func (p *planner) Query(ctx context.Context, query string, args []any, _ func(store.Scan) error) error {
	rows, err := p.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()

	for rows.Next() {
		var step string
		if err := rows.Scan(new(int), new(int), new(int), &step); err != nil {
			return err
		}
		p.steps = append(p.steps, step)
	}
	return rows.Err()
}

func (*planner) Exec(context.Context, string, ...any) (int64, error) { return 0, nil }

func (*planner) Write(context.Context, func(context.Context, store.Tx) error) error { return nil }

// TestPagesOfLeadsUseAnIndex checks that listing a page of leads scans no table, however
// many leads there are.
func TestPagesOfLeadsUseAnIndex(t *testing.T) {
	t.Parallel()
	_, pool := open(t, t.TempDir()+"/plan.db", nil)

	now := time.Now()
	for name, f := range map[string]store.Filter{
		"next page": {After: &store.Position{SubmittedAt: now, ID: "x"}},
		"in review": {State: lead.StateInReview},
		"failed":    {State: lead.StateFailed},
		"delivered": {State: lead.StateDelivered},
		"address":   {Email: "ana@example.com"},
		"reference": {Reference: "lr4lb5ak"},
		"search":    {Search: "ana pop"},
		"due":       {Due: true},
		"won":       {Results: []lead.Result{lead.ResultWon}, AnsweredInTime: true},
		"all": {
			Search: "ana",
			Locale: "ro",
			State:  lead.StateInReview,
			Since:  now,
			After:  &store.Position{SubmittedAt: now, ID: "x"},
		},
	} {
		for _, newest := range []bool{false, true} {
			f.Newest, f.Limit = newest, 50

			p := &planner{DB: pool}
			for _, err := range store.New(p).Leads(t.Context(), f) {
				t.Fatalf("%s: %v", name, err)
			}

			scans := 0
			for _, step := range p.steps {
				switch {
				case step == "SCAN leads", strings.HasPrefix(step, "SCAN search_terms"),
					strings.HasPrefix(step, "SCAN ") && f.Email+f.Reference != "":
					scans++
				}
			}

			if len(p.steps) == 0 || scans > 0 {
				t.Errorf("%s (newest first: %v) reads every row: %s",
					name, newest, strings.Join(p.steps, "; "))
			}
		}
	}
}
