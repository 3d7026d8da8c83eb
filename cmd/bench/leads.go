package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/cmd/internal/harness"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
)

// stored is the number of leads, and also of sessions, in the database that the inbox is
// measured on.
const stored = 100_000

// people generates leads with varied values in all fields that the inbox filters,
// searches and counts.
type people struct{ *rand.Rand }

func (p people) pick(from string) string {
	words := strings.Fields(from)
	return words[p.IntN(len(words))]
}

// words is the vocabulary of the messages.
const words = `magazin online pentru miere naturală cu plata rezervări calendar blog în trei limbi avem nevoie
de un site nou până la toamnă queremos una tienda con reservas y pagos our current shop is slow please call after
noon budget includes photos texts hosting support migrare clienți facturi newsletter catálogo envíos sucursales`

func (p people) lead(n int) lead.Lead {
	last := p.pick("Popa Marin Ion Stan Dumitr Rus Barb Gheorgh Mold Vas Herr Gonzal Mart Torr Hill Ward") +
		p.pick("escu eanu oiu ache ez er son an a")
	company := p.pick("Atelier Casa Studio Green Nord Alfa Vector Luna Terra Delta Prima Vila") +
		p.pick("Verde Media Design Trade Mobil Food Travel Dent Auto Garden Sport Print")
	message := make([]string, p.IntN(20))
	for i := range message {
		message[i] = p.pick(words)
	}

	l := lead.Lead{
		ID:        fmt.Sprintf("%08x-0000-4000-8000-%012x", p.Uint32(), n),
		SessionID: fmt.Sprint("session-", n),
		Contact: lead.Contact{
			FirstName: p.pick("Ana Ștefania Mihai Andrei Elena Ioana Cristina Paul Lucía Jorge Marta David Emma Tom"),
			LastName:  last,
			Email:     fmt.Sprintf("%s%d@%s", strings.ToLower(last), n%30, p.pick("gmail.com yahoo.com "+company+".ro")),
			Company:   company + " " + p.pick("SRL SRL SRL SA GmbH Ltd"),
		},
		Selections: lead.Selections{
			ProjectType: p.pick("web-app shop landing cms mobile other"),
			Features:    strings.Fields("blog multilingual payments seo crm booking analytics")[:p.IntN(7)],
		},
		Estimate: lead.Estimate{Min: float64(100 * (5 + p.IntN(400))), Max: 50_000, Currency: p.pick("EUR EUR RON")},
		Attribution: lead.Attribution{
			Source:   p.pick("google google facebook newsletter instagram partner"),
			Campaign: fmt.Sprint("campaign-", p.IntN(20)),
		},
		Message:     strings.Join(message, " "),
		Locale:      p.pick("ro ro ro es en"),
		SubmittedAt: time.UnixMilli(time.Now().UnixMilli() - p.Int64N(60_000_000_000)).UTC(), // within two years
	}
	l.FirstAttribution = l.Attribution
	return l
}

// worked sets the status, owner and outcome of all leads.
const worked = `UPDATE leads SET status = submitted_at % 4,
  owner = CASE submitted_at % 3 WHEN 0 THEN 'ana@example.com' WHEN 1 THEN 'paul@example.com' ELSE 'ben@example.com' END,
  outcome = CASE submitted_at % 5 WHEN 0 THEN 'WON' WHEN 1 THEN 'QUALIFIED' WHEN 2 THEN 'LOST' ELSE '' END,
  outcome_at = submitted_at + 86400000`

func fillSQLite(ctx context.Context, path string) {
	pool := harness.Must(sqlite.NewPool(path))
	db := harness.Must(sqlite.New(path, pool, func(*sql.Tx) store.Jobs { return noQueue{} }))
	defer func() { _ = db.Close() }()
	harness.Check(db.Connect(ctx, slog.New(slog.DiscardHandler)))

	fill(ctx, store.New(db))
	harness.Must(pool.ExecContext(ctx, worked))
}

func fillPostgres(ctx context.Context, url string) {
	pool := harness.Must(postgres.NewPool(ctx, url))
	db := postgres.New(pool, func(pgx.Tx) store.Jobs { return noQueue{} })
	defer func() { _ = db.Close() }()

	harness.Check(db.Connect(ctx, slog.New(slog.DiscardHandler)))
	fill(ctx, store.New(db))

	// Connections of the pool have short timeouts.
	conn := harness.Must(pgx.Connect(ctx, url))
	defer func() { _ = conn.Close(ctx) }()
	harness.Must(conn.Exec(ctx, worked))
	harness.Must(conn.Exec(ctx, "VACUUM ANALYZE")) // as PostgreSQL does within a minute
}

// fill stores sessions, and leads without deliveries. On SQLite, concurrent writers share
// transactions.
func fill(ctx context.Context, db *store.Store) {
	const writers = 200
	var writing sync.WaitGroup
	for w := range uint64(writers) {
		writing.Go(func() {
			p := people{rand.New(rand.NewPCG(2, w))}
			for n := int(w); n < stored; n += writers {
				l := p.lead(n)
				l.InReview = p.IntN(50) > 47
				_, _, err := db.Submit(ctx, store.NewLead{Lead: l, ContentKey: l.ID})
				harness.Check(err)

				v := lead.Visit{
					SessionID:   fmt.Sprint("session-", n+4*stored/5), // a fifth has a lead
					Attribution: l.Attribution,
					At:          time.UnixMilli(time.Now().UnixMilli() - p.Int64N(7_000_000_000)).UTC(), // within 81 days
				}
				if p.IntN(3) > 0 { // the others only opened the calculator
					v.Selections, v.Estimate.Min = l.Selections, &l.Estimate.Min
				}
				harness.Check(db.Track(ctx, v))
			}
		})
	}
	writing.Wait()
}

// noQueue creates no deliveries.
type noQueue struct{ store.Jobs }

// Enqueue implements [store.Jobs].
func (noQueue) Enqueue(context.Context, []string, ...lead.Target) ([]lead.Delivery, error) {
	return nil, nil
}
