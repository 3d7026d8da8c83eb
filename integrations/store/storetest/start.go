package storetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Ten instances start on an empty database at the same moment.
func startMany(t *testing.T, s Subject) {
	together(10, func(i int) {
		db, err := s.Open(t.Context(), nil)
		if err != nil {
			t.Error(err)
			return
		}

		if err := db.Track(t.Context(), Visit(fmt.Sprint("s", i), When())); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})

	if got := len(all(t, s.MustOpen(t, nil).Sessions(t.Context()))); got != 10 {
		t.Errorf("%d sessions, want 10", got)
	}

	files, err := os.ReadDir(s.Migrations)
	if names := s.Strings(t, `SELECT name FROM store_migrations`); err != nil || len(names) != len(files) {
		t.Errorf("migrations %q were applied, want each of %d once (%v)", names, len(files), err)
	}
}

// During a rolling restart an older program meets tables of a newer one.
func startNewer(t *testing.T, s Subject) {
	first := s.MustOpen(t, nil)
	wantSubmit(t, first, Lead(1), Lead(1), true)
	s.Exec(t, `INSERT INTO store_migrations (version, name) VALUES (9999, 'of the future');
ALTER TABLE submissions ADD COLUMN later text`)

	wantSubmit(t, s.MustOpen(t, nil), Lead(2), Lead(2), true)
	wantCount(t, first, 2)
}

// A database of the first or the second release is brought up to date with its contents:
// content that was stored as a repetition under a used idempotency key becomes a lead in
// review.
func startReleased(t *testing.T, s Subject, release int64) {
	s.Exec(t, `CREATE TABLE store_migrations (version bigint PRIMARY KEY, name text NOT NULL)`)
	migration := func(version int, name string) {
		text, err := os.ReadFile(filepath.Join(s.Migrations, name))
		if err != nil {
			t.Fatal(err)
		}
		s.Exec(t, string(text))
		s.Exec(t, fmt.Sprintf(`INSERT INTO store_migrations VALUES (%d, '%s')`, version, name))
	}

	row := func(query string, n int) {
		sub := Lead(n)
		body, err := json.Marshal(sub.Lead)
		if err != nil {
			t.Fatal(err)
		}

		s.Exec(t, strings.NewReplacer(
			"$id", sub.Lead.ID,
			"$session", sub.Lead.SessionID,
			"$email", strings.ToLower(sub.Lead.Contact.Email),
			"$content", sub.ContentKey,
			"$body", strings.ReplaceAll(string(body), "'", "''"),
			"$at", fmt.Sprint(sub.Lead.SubmittedAt.UnixMilli()),
		).Replace(query))
	}

	const insert = `INSERT INTO submissions VALUES ('$id', '$session', '$email', '$body', '$content', $at`
	migration(1, "0001_quotes.sql")
	row(insert+`)`, 1)
	row(`INSERT INTO submission_keys VALUES ('key-1', '$id', $at)`, 1)
	row(`INSERT INTO submission_repeats VALUES ('id-000001', '$content', 'key-1', '$body', $at)`, 2)
	// This one is a lead already.
	row(`INSERT INTO submission_repeats VALUES ('id-000001', 'content-1', 'key-1', '$body', $at)`, 9)

	want := []lead.Lead{Lead(1).Lead, Lead(2).Lead}
	want[1].InReview = true
	if release == 2 {
		migration(2, "0002_held.sql")
		row(insert+`, 1)`, 3)
		want = append(want, Lead(3).Lead)
		want[2].InReview = true
	}

	db := s.MustOpen(t, nil)
	if got := all(t, db.Leads(t.Context(), store.Filter{})); !reflect.DeepEqual(got, want) {
		t.Errorf("stored are\n%+v\nwant\n%+v", got, want)
	}
	if got := all(t, db.Leads(t.Context(), store.Filter{Email: "Ana.2@example.com"})); len(got) != 1 {
		t.Errorf("%d are found by the address of what was a repetition, want 1", len(got))
	}
	if got := all(t,
		db.Leads(t.Context(), store.Filter{Search: "stefania obrien"})); len(got) != len(want) {
		t.Errorf("%d are found by their name, want %d", len(got), len(want))
	}

	wantSubmit(t, db, Lead(1), Lead(1), false)
	wantInReview(t, db, release, When().Add(2*time.Second))
}
