package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/sqlite"
)

// Sizes of the database of the funnel.
const (
	funnelSessions = 100_000
	funnelLeads    = 20_000
)

// funnel compares the funnel of a large database with reading the rows of its sessions.
func funnel(ctx context.Context, b *bench) {
	path := filepath.Join(b.dir, "data", "siteapi.db")
	fillFunnel(ctx, path)

	db := harness.Must(sql.Open("sqlite", "file:"+path))
	defer func() { _ = db.Close() }()
	const token = "bench-admin-token"
	service := b.service(ctx, b.dir, "ADMIN_PAGE=on", "ADMIN_API_TOKEN="+token)
	const query = `{"query":"{ funnel { steps { count } choices { count } sources { submissions } } }"}`

	report("funnel-vs-scan", "ms", "value < 1000 ms", inTurn(b.rounds, func(side int) float64 {
		began := time.Now()
		if side == 0 {
			var size int
			harness.Check(db.QueryRowContext(ctx, `SELECT sum(length(state)) FROM sessions`).Scan(&size))
		} else {
			status, answer, err := harness.Do(ctx, "POST", service.Base+"/graphql", token, query)
			if err != nil || status != http.StatusOK || !bytes.Contains(answer, []byte("submissions")) {
				harness.Check(fmt.Errorf("the funnel answers %d %s: %w", status, answer, err))
			}
		}
		return time.Since(began).Seconds() * 1000
	}))
}

// fillFunnel makes a database of visitors who make different choices and come from
// different campaigns.
func fillFunnel(ctx context.Context, path string) {
	pool := harness.Must(sqlite.OpenDB(ctx, path))
	s := harness.Must(sqlite.Open(ctx, sqlite.Options{
		Path: path,
		Pool: pool,
		Log:  slog.New(slog.DiscardHandler),
	}))
	s.UseQueue(func(*sql.Tx) store.Deliveries { return noDeliveries{} })

	const writers = 64 // so that they share transactions
	var group errgroup.Group
	for w := range writers {
		group.Go(func() error {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := w; i < funnelSessions; i += writers {
				v := randomVisit(random, i)
				if err := s.Track(ctx, v); err != nil {
					return err
				}
				if i%(funnelSessions/funnelLeads) > 0 {
					continue
				}
				if _, _, err := s.Submit(ctx, leadOf(v)); err != nil {
					return err
				}
			}
			return nil
		})
	}

	harness.Check(group.Wait())
	harness.Check(s.Close())
	harness.Check(pool.Close())
}

func randomVisit(random *rand.Rand, n int) lead.Visit {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	v := lead.Visit{
		SessionID: fmt.Sprintf("funnel-%x-%d", random.Uint64(), n),
		Attribution: lead.Attribution{
			Source:      fmt.Sprint("source-", random.IntN(12)),
			Medium:      "cpc",
			Campaign:    fmt.Sprint("campaign-", random.IntN(20)),
			LandingPage: "https://www.example.com/ro/servicii",
		},
		At: time.Now().Add(-time.Duration(random.IntN(84*24)) * time.Hour),
	}
	if random.IntN(3) == 0 {
		return v // opened the calculator only
	}

	v.Selections = lead.Selections{
		ProjectType: pick("web-app", "shop", "landing", "cms", "mobile", "other"),
		Complexity:  pick("simple", "medium", "complex"),
		Timeline:    pick("asap", "1-3-months", "3-6-months", "flexible"),
	}
	for _, feature := range []string{"blog", "multilingual", "payments", "seo", "crm", "booking", "analytics"} {
		if random.IntN(3) == 0 {
			v.Selections.Features = append(v.Selections.Features, feature)
		}
	}
	low, high := 18100.0, 24400.0
	v.Estimate = lead.PartialEstimate{Min: &low, Max: &high, Currency: "EUR"}
	return v
}

func leadOf(v lead.Visit) store.NewLead {
	return store.NewLead{
		ContentKey: v.SessionID,
		Lead: lead.Lead{
			ID:               v.SessionID,
			SessionID:        v.SessionID,
			Contact:          lead.Contact{FirstName: "Ana", LastName: "Pop", Email: "ana@example.com"},
			Selections:       v.Selections,
			Estimate:         lead.Estimate{Min: 18100, Max: 24400, Currency: "EUR"},
			Attribution:      v.Attribution,
			FirstAttribution: v.Attribution,
			Locale:           "ro",
			SubmittedAt:      v.At,
		},
	}
}

// noDeliveries is a queue that delivers nothing.
type noDeliveries struct{ store.Deliveries }

// Enqueue creates nothing.
func (noDeliveries) Enqueue(context.Context, []string) ([]store.Delivery, error) { return nil, nil }
