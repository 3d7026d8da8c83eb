package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"siteapi/integrations/store"
)

// Ten instances start concurrently on an empty database.
func startMany(t *testing.T, s Subject) {
	concurrently(10, func(i int) {
		db, err := s.Open(t.Context(), nil)
		ok(t, err)
		ok(t, db.Track(t.Context(), Visit(fmt.Sprint("s", i), When())))
		ok(t, db.Close())
	})

	s.MustOpen(t, nil)
	if got := len(s.Strings(t, `SELECT id FROM sessions`)); got != 10 {
		t.Errorf("%d sessions, want 10", got)
	}
}

// During a rolling restart an older program uses the tables of a newer one.
func startNewer(t *testing.T, s Subject) {
	first := s.MustOpen(t, nil)
	submit(t, first, Lead(1))
	s.Exec(t, `INSERT INTO store_migrations (version, name, checksum) VALUES (9999, 'of the future', '');
ALTER TABLE leads ADD COLUMN later text`)

	submit(t, s.MustOpen(t, nil), Lead(2))
	wantCount(t, first, 2)
}

// A database created by other migrations is rejected and left unchanged.
func startOther(t *testing.T, s Subject) {
	for _, recorded := range []string{
		`CREATE TABLE store_migrations (version bigint PRIMARY KEY, name text NOT NULL);
INSERT INTO store_migrations VALUES (1, '0001_quotes.sql')`,
		`ALTER TABLE store_migrations ADD COLUMN checksum text; UPDATE store_migrations SET name = '0001_baseline.sql', checksum = 'other'`,
	} {
		s.Exec(t, recorded)
		db, err := s.Open(t.Context(), nil)
		if err == nil {
			_ = db.Close()
		}
		if err == nil || errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "siteapi leads export") {
			t.Errorf("after %s: %v", recorded, err)
		}
	}
	s.Exec(t, `CREATE TABLE leads (id text); CREATE TABLE sessions (id text)`) // neither exists
}
