package storetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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

// migrate brings the tables from one version to a later one, as an earlier release did.
func migrate(t *testing.T, s Subject, from, to int) {
	t.Helper()
	if from == 0 {
		s.Exec(t, `CREATE TABLE store_migrations (version bigint PRIMARY KEY, name text NOT NULL)`)
	}
	files, err := os.ReadDir(s.Migrations)
	if err != nil {
		t.Fatal(err)
	}

	for i, f := range files[from:to] {
		text, err := os.ReadFile(filepath.Join(s.Migrations, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		s.Exec(t, string(text))
		s.Exec(t, fmt.Sprintf(`INSERT INTO store_migrations VALUES (%d, '%s')`, from+i+1, f.Name()))
	}
}

// An address is removed that outlived its erasure by an earlier release.
func startAgreements(t *testing.T, s Subject) {
	migrate(t, s, 0, 21)
	for id, state := range map[string]string{"erased": "{}", "kept": `{"hints":{"email":"kept@y.test","agreed":true}}`} {
		s.Exec(t, fmt.Sprintf(`INSERT INTO sessions (id, state, first_seen, last_seen, visits, saved_email, saved_at)
VALUES ('%s', '%s', 1, 2, 1, '%[1]s@y.test', 2)`, id, state))
	}

	db := s.MustOpen(t, nil)
	none(t, s, "after the start", "erased")
	if got := visitors(t, db, store.VisitorFilter{Before: When(), Limit: 9}); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("the visitors are %v, want the one who still agrees", got)
	}
}

// A database of the first or the second release is brought up to date with its contents:
// content that was stored as a repetition under a used idempotency key becomes a lead in
// review.
func startReleased(t *testing.T, s Subject, release int64) {
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
	migrate(t, s, 0, 1)
	row(insert+`)`, 1)
	row(`INSERT INTO submission_keys VALUES ('key-1', '$id', $at)`, 1)
	row(`INSERT INTO submission_repeats VALUES ('id-000001', '$content', 'key-1', '$body', $at)`, 2)
	// This one is a lead already.
	row(`INSERT INTO submission_repeats VALUES ('id-000001', 'content-1', 'key-1', '$body', $at)`, 9)

	want := []lead.Lead{Lead(1).Lead, Lead(2).Lead}
	want[1].InReview = true
	if release == 2 {
		migrate(t, s, 1, 2)
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
