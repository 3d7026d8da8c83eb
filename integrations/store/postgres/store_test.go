package postgres_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

func TestStore(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	storetest.Run(t, func(t *testing.T) storetest.Subject { return subject(server.NewDatabase(t)) })
}

// subject is a database for the conformance suite.
func subject(url string) storetest.Subject {
	connect := func(t testing.TB) *pgx.Conn {
		t.Helper()
		c, err := pgx.Connect(t.Context(), url)
		must(t, err)
		return c
	}

	return storetest.Subject{
		Open: func(ctx context.Context, jobs *storetest.Jobs) (storetest.Store, error) {
			pool, err := postgres.OpenPool(ctx, url)
			if err != nil {
				return storetest.Store{}, err
			}
			s, err := postgres.Open(ctx, postgres.Options{
				Pool:  pool,
				Log:   slog.New(slog.DiscardHandler),
				Queue: func(pgx.Tx) store.Jobs { return storetest.Queue{Jobs: jobs} },
			})
			if err != nil {
				pool.Close()
				return storetest.Store{}, err
			}
			return storetest.Store{Store: s.Store, Closer: s}, nil
		},
		Exec: func(t testing.TB, query string) {
			t.Helper()
			c := connect(t)
			defer c.Close(t.Context())

			if _, err := c.Exec(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		},
		Strings: func(t testing.TB, query string) []string {
			t.Helper()
			c := connect(t)
			defer c.Close(t.Context())

			rows, err := c.Query(t.Context(), query)
			must(t, err)
			all, err := pgx.CollectRows(rows, pgx.RowTo[string])
			must(t, err)
			return all
		},
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
