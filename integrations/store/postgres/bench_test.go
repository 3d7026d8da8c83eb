package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"siteapi/integrations/quote"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/storebench"
	"siteapi/integrations/store/storetest/pgserver"
)

// Visits of 32 clients: through the store, where they share statements, and each with
// a statement and a commit of its own.
func BenchmarkTrack(b *testing.B) {
	server := pgserver.Start(b)
	for name, open := range map[string]func(b *testing.B, url string) storebench.Tracker{
		"store": func(b *testing.B, url string) storebench.Tracker {
			s, err := postgres.Open(b.Context(), postgres.Options{URL: url})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			})
			return s
		},
		"single": func(b *testing.B, url string) storebench.Tracker {
			pool, err := postgres.OpenPool(b.Context(), url+"&pool_max_conns=16")
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(pool.Close)
			_, err = pool.Exec(b.Context(), `CREATE TABLE single
				(id text PRIMARY KEY, state text NOT NULL, first_seen bigint, last_seen bigint, visits bigint)`)
			if err != nil {
				b.Fatal(err)
			}
			return single{pool}
		},
	} {
		b.Run(name, func(b *testing.B) {
			t := open(b, server.NewDatabase(b))
			b.ResetTimer()
			f, err := storebench.Run(b.Context(), t, storebench.Load{Clients: 32, Visits: max(b.N, 32), Sessions: 20_000})
			if err != nil {
				b.Fatal(err)
			}
			f.Report(b)
		})
	}
}

// single commits each visit on its own.
type single struct{ pool *pgxpool.Pool }

func (s single) Track(ctx context.Context, v quote.Visit) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO single VALUES ($1, $2, $3, $3, 1) ON CONFLICT (id) DO UPDATE
		SET state = excluded.state, last_seen = excluded.last_seen, visits = single.visits + 1`,
		v.SessionID, `{"projectType":"`+v.Selections.ProjectType+`"}`, v.At.UnixMilli())
	return err
}
