package storecopy_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/internal/sqlstore"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storecopy"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

// queue calls enqueue with the ids that are enqueued, and returns its error.
type queue struct{ enqueue func(ids []string) error }

func (q queue) Enqueue(_ context.Context, ids []string) ([]store.Delivery, error) {
	return nil, q.enqueue(ids)
}

func (q queue) ResendChanged(_ context.Context, ids []string) ([]store.Delivery, error) {
	return nil, q.enqueue(ids)
}

func (queue) Remove(context.Context, []store.Delivery) (int, int, error) { return 0, 0, nil }

func (q queue) Restore(_ context.Context, list []store.Delivery) ([]store.Delivery, error) {
	var ids []string
	for _, d := range list {
		ids = append(ids, d.LeadID)
	}
	return list, q.enqueue(ids)
}

func nothing([]string) error { return nil }

func everything(_ context.Context, ids []string) (list []store.Delivery, err error) {
	for _, id := range ids {
		list = append(list, store.Delivery{LeadID: id, Target: "crm"})
	}
	return list, nil
}

func unless3(ctx context.Context, ids []string) ([]store.Delivery, error) {
	return everything(ctx, slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return strings.HasSuffix(id, "3")
	}))
}

func openSQLite(t *testing.T, enqueue func(ids []string) error) *storecopy.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	pool, err := sqlite.OpenDB(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}

	deliveries := func(*sql.Tx) store.Deliveries { return queue{enqueue} }
	s, err := sqlite.Open(t.Context(), sqlite.Options{
		Path: path,
		Pool: pool,
		Log:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.UseQueue(deliveries)

	t.Cleanup(func() {
		if err := errors.Join(s.Close(), pool.Close()); err != nil {
			t.Error(err)
		}
	})
	return s.Store
}

func openPostgres(t *testing.T, enqueue func(ids []string) error) *storecopy.Store {
	t.Helper()
	url := pgserver.Start(t).NewDatabase(t)
	deliveries := func(pgx.Tx) store.Deliveries { return queue{enqueue} }
	pool, err := postgres.OpenPool(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), postgres.Options{Pool: pool, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.UseQueue(deliveries)

	t.Cleanup(func() { _ = s.Close() })
	return s.Store
}

// works gives a lead an owner, a status and a note.
func works(t *testing.T, s *storecopy.Store, id, owner string) {
	t.Helper()
	_, assigned := s.Assign(t.Context(), id, owner)
	_, moved := s.SetStatus(t.Context(), id, lead.StatusWaiting)
	noted := s.AddNote(t.Context(), id, lead.Note{Author: "ana", At: storetest.When(), Text: "called"})
	if err := errors.Join(assigned, moved, noted); err != nil {
		t.Fatal(err)
	}
}

// A copy is interrupted, repeated, and repeated once more after new traffic. A lead
// in review stays in review, and gets its deliveries when it is released.
func TestCopy(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		from, to func(t *testing.T, enqueue func(ids []string) error) *storecopy.Store
	}{
		"SQLite to PostgreSQL": {openSQLite, openPostgres},
		"PostgreSQL to SQLite": {openPostgres, openSQLite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var enqueued []string
			stop, interrupted := errors.New("pulled the plug"), true
			from := way.from(t, nothing)
			to := way.to(t, func(ids []string) error {
				if interrupted && len(enqueued) > 50 {
					return stop
				}
				enqueued = append(enqueued, ids...)
				return nil
			})

			const leads, sessions = 250, 700
			for i := range leads - 1 {
				n := storetest.Lead(i)
				if i < 2 {
					n.Lead.Consents = []lead.Consent{{Purpose: "news", Given: i == 0, Text: "Send me news"}}
				}
				submit(t, from, n)
			}
			submit(t, from, storetest.Suspicious(999))
			said := lead.Outcome{Value: lead.Won, Amount: new(float64), Currency: "EUR", At: storetest.When(), By: "ana"}
			outcome(t, from, "id-000000", said)
			for i := range sessions {
				track(t, from, i, 0)
			}
			rules := store.PriceRules{Revision: "r1", Locale: "en", Rules: "{}"}
			for _, revision := range []string{"r1", "r2"} {
				rules.Revision = revision
				if err := from.UsePriceRules(t.Context(), rules, storetest.When()); err != nil {
					t.Fatal(err)
				}
			}

			for db, after := range map[*storecopy.Store]int64{from: 7, to: 5} {
				if _, err := db.NextGenerations(t.Context(), []string{"en"}, after); err != nil {
					t.Fatal(err)
				}
			}

			if r, err := storecopy.Copy(t.Context(), from, to, unless3); !errors.Is(err, stop) ||
				r.Created != 100 {
				t.Fatalf("the interrupted copy gives %+v, %v", r, err)
			}

			interrupted = false
			want := storecopy.Report{Sessions: sessions, Leads: leads, Created: 150, Enqueued: 134}
			if r, err := storecopy.Copy(t.Context(), from, to, unless3); err != nil || r != want ||
				len(enqueued) != 224 {
				t.Errorf("the copy reports %+v, %v and enqueued %d, want %+v", r, err, len(enqueued), want)
			}

			if a, b := contents(t, from), contents(t, to); !reflect.DeepEqual(a, b) ||
				len(a) != leads+sessions+3 {
				t.Errorf("%d rows differ from the %d they were copied from", len(b), len(a))
			}
			if p, err := to.PriceRules(t.Context(), "r1"); err != nil || !p.ReplacedAt.Equal(storetest.When()) {
				t.Errorf("the rules of prices were copied as %+v, %v", p, err)
			}
			if ok, err := to.Release(t.Context(), "id-000999", false); err != nil || !ok ||
				!slices.Contains(enqueued, "id-000999") {
				t.Errorf("released %v, %v", ok, err)
			}

			// Both stores stay in use for a while. What was said last of an outcome counts.
			said.Value, said.Amount, said.Currency, said.At = lead.Lost, nil, "", said.At.Add(time.Hour)
			outcome(t, from, "id-000001", said)
			outcome(t, to, "id-000000", said)
			submit(t, from, storetest.Lead(500))
			works(t, from, "id-000000", "ana@example.com")
			works(t, from, "id-000500", "ana@example.com")
			works(t, to, "id-000001", "paul@example.com")
			track(t, from, 5, time.Hour)
			track(t, to, 7, time.Hour)
			if r, err := storecopy.Copy(t.Context(), from, to, unless3); err != nil || r.Created != 1 ||
				r.Enqueued != 1 {
				t.Errorf("the last copy reports %+v, %v, want one new submission", r, err)
			}

			for i, visits := range map[int]int64{5: 2, 7: 2, 8: 1} {
				if got, err := to.Session(t.Context(), fmt.Sprint("session-", i)); err != nil ||
					got.Visits != visits {
					t.Errorf("session %d has %d visits, %v, want %d", i, got.Visits, err, visits)
				}
			}

			for _, id := range []string{"id-000000", "id-000001"} {
				if got, err := to.Lead(t.Context(), id); err != nil || got.Outcome != said {
					t.Errorf("%s has the outcome %+v, %v, want %+v", id, got.Outcome, err, said)
				}
			}

			for id, owner := range map[string]string{
				"id-000000": "ana@example.com",
				"id-000500": "ana@example.com",
				"id-000001": "paul@example.com",
			} {
				got, err := to.Lead(t.Context(), id)
				notes, notesErr := to.Notes(t.Context(), []string{id})
				if errors.Join(err, notesErr) != nil || got.Owner != owner || got.Status != lead.StatusWaiting ||
					len(notes[id]) != 1 {
					t.Errorf("%s was copied as %s, %s with %d notes, %v", id, got.Owner, got.Status, len(notes[id]), err)
				}
			}

			// A consent that was copied is the same person's, with its wording.
			copied, err := to.Lead(t.Context(), "id-000000")
			agreed := lead.Consent{Purpose: "news", Given: true, Text: "Send me news"}
			if err != nil || len(copied.Consents) != 1 || copied.Consents[0] != agreed {
				t.Errorf("the consents were copied as %+v, %v", copied.Consents, err)
			}
			n, deleted, err := to.WithdrawConsent(t.Context(), "ana.0@example.com", "news", storetest.When())
			if err != nil || n != 1 || deleted != 0 || enqueued[len(enqueued)-1] != "id-000000" {
				t.Errorf("a copied consent is withdrawn in %d, %d, %v", n, deleted, err)
			}

			// A repetition of a copied lead is recognized, by content and key.
			again := storetest.Lead(3)
			again.Lead.ID = "another"
			if got, created, err := to.Submit(t.Context(), again); err != nil || created ||
				got.ID != "id-000003" {
				t.Errorf("a repetition after the move: %q, new %v, %v", got.ID, created, err)
			}
		})
	}
}

// A later copy brings what was withdrawn meanwhile, and takes back no withdrawal. What either
// store keeps of a consent once its lead is deleted is kept once.
func TestCopyConsents(t *testing.T) {
	t.Parallel()
	var enqueued []string
	from, to := openSQLite(t, nothing), openPostgres(t, func(ids []string) error {
		enqueued = append(enqueued, ids...)
		return nil
	})
	copied := func() {
		t.Helper()
		if _, err := storecopy.Copy(t.Context(), from, to, everything); err != nil {
			t.Fatal(err)
		}
	}
	withdraw := func(db *storecopy.Store, n int) {
		t.Helper()
		email := fmt.Sprintf("ana.%d@example.com", n)
		if n, _, err := db.WithdrawConsent(t.Context(), email, "news", storetest.When()); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	}

	const leads = 4
	for i := range leads {
		n := storetest.Lead(i)
		n.Lead.Consents = []lead.Consent{{Purpose: "news", Given: true, Text: "Send me news"}}
		submit(t, from, n)
	}
	copied()
	withdraw(from, 1)
	withdraw(to, 2)
	if n, err := from.PruneLeads(t.Context(), storetest.Lead(1).Lead.SubmittedAt); err != nil || n != 1 {
		t.Fatalf("%d leads were deleted, %v", n, err)
	}
	enqueued = nil
	copied()
	copied()
	if !slices.Equal(enqueued, []string{"id-000001"}) {
		t.Errorf("%v are delivered again, want the one that was withdrawn meanwhile", enqueued)
	}

	for i := range leads {
		got, err := to.Lead(t.Context(), storetest.Lead(i).Lead.ID)
		if err != nil || len(got.Consents) != 1 || (got.Consents[0].WithdrawnAt != nil) != (i == 1 || i == 2) {
			t.Errorf("lead %d has the consents %+v, %v", i, got.Consents, err)
		}
	}

	if _, err := to.PruneLeads(t.Context(), storetest.When().AddDate(1, 0, 0)); err != nil {
		t.Error(err)
	}
	for i, want := range []int64{1, 0, 0, 1} {
		n, err := to.CountConsents(t.Context(), fmt.Sprintf("ana.%d@example.com", i))
		if err != nil || n != want {
			t.Errorf("%d consents of person %d are kept, %v, want %d", n, i, err, want)
		}
	}
}

// The same content may have been submitted to both stores. Both ids and both keys stay
// valid.
func TestCopyDouble(t *testing.T) {
	t.Parallel()
	from, to := openSQLite(t, nothing), openSQLite(t, nothing)
	mine, theirs := storetest.Lead(1), storetest.Lead(1)
	theirs.Lead.ID, theirs.IdempotencyKey = "theirs", "another key"

	submit(t, from, mine)
	submit(t, to, theirs)

	for round, want := range []int64{1, 0} {
		if r, err := storecopy.Copy(t.Context(), from, to, everything); err != nil || r.Created != want ||
			r.Enqueued != want {
			t.Errorf("round %d: %+v, %v, want %d new", round, r, err, want)
		}
	}

	for _, n := range []store.NewLead{mine, theirs} {
		if got, created, err := to.Submit(t.Context(), n); err != nil || created ||
			got.ID != n.Lead.ID {
			t.Errorf("repeated: %q, new %v, %v, want %q", got.ID, created, err, n.Lead.ID)
		}
	}
}

// The chain of the audit is copied as it is, without what was pruned. Where the other database
// has recorded entries of its own, the copy says so after everything else.
func TestCopyAudit(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		from, to func(t *testing.T, enqueue func(ids []string) error) *storecopy.Store
	}{
		"SQLite to PostgreSQL": {openSQLite, openPostgres},
		"PostgreSQL to SQLite": {openPostgres, openSQLite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := way.from(t, nothing), way.to(t, nothing)
			record := func(db *storecopy.Store, from, n int) {
				t.Helper()
				for i := from; i < from+n; i++ {
					at := storetest.When().Add(time.Duration(i) * time.Second)
					e := store.AuditEntry{At: at, Actor: "person-1", Action: "OPENED", Lead: fmt.Sprint("id-", i), Detail: "{}"}
					if err := db.Record(t.Context(), e); err != nil {
						t.Fatal(err)
					}
				}
			}
			copied := func(entries int64) {
				t.Helper()
				if _, err := storecopy.Copy(t.Context(), from, to, everything); err != nil {
					t.Fatal(err)
				}
				want, err := from.VerifyAudit(t.Context(), "")
				got, err2 := to.VerifyAudit(t.Context(), want.Head)
				if err != nil || err2 != nil || got != want || got.Problem != "" || got.Entries != entries {
					t.Errorf("the copy verifies as %+v, %v, want %+v, %v", got, err2, want, err)
				}
			}

			record(from, 0, 250)
			if n, err := from.PruneAudit(t.Context(), storetest.When().Add(20*time.Second)); err != nil || n != 20 {
				t.Fatalf("%d pruned, %v", n, err)
			}
			copied(230)
			copied(230)
			record(from, 250, 3)
			copied(233)

			record(to, 900, 1)
			record(from, 300, 2)
			submit(t, from, storetest.Lead(1))
			r, err := storecopy.Copy(t.Context(), from, to, everything)
			if err == nil || !strings.Contains(err.Error(), "an audit of its own") || r.Created != 1 {
				t.Errorf("a copy to an audit of its own: %+v, %v", r, err)
			}
			if r, err := to.VerifyAudit(t.Context(), ""); err != nil || r.Problem != "" || r.Entries != 234 {
				t.Errorf("the other audit: %+v, %v", r, err)
			}
		})
	}
}

func TestCopyFails(t *testing.T) {
	t.Parallel()
	from, to := openSQLite(t, nothing), openSQLite(t, nothing)
	submit(t, from, storetest.Lead(1))

	broken := errors.New("no queue")
	failing := func(context.Context, []string) ([]store.Delivery, error) { return nil, broken }
	if _, err := storecopy.Copy(t.Context(), from, to, failing); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the queue", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := storecopy.Copy(ctx, from, to, everything); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the request", err)
	}

	if n, err := to.CountLeads(t.Context()); err != nil || n != 0 {
		t.Errorf("%d submissions were copied, %v", n, err)
	}
}

func submit(t *testing.T, db store.Quotes, n store.NewLead) {
	t.Helper()
	if _, created, err := db.Submit(t.Context(), n); err != nil || !created {
		t.Fatalf("%s: new %v, %v", n.Lead.ID, created, err)
	}
}

func outcome(t *testing.T, db store.Outcomes, id string, o lead.Outcome) {
	t.Helper()
	if err := db.SetOutcome(t.Context(), id, o); err != nil {
		t.Fatal(err)
	}
}

func track(t *testing.T, db store.Quotes, n int, later time.Duration) {
	t.Helper()
	if err := db.Track(t.Context(),
		storetest.Visit(fmt.Sprint("session-", n), storetest.When().Add(later))); err != nil {
		t.Fatal(err)
	}
}

// contents returns all rows of a store.
func contents(t *testing.T, s *storecopy.Store) (rows []any) {
	t.Helper()
	err := sqlstore.InChunks(s.KeyedLeads(t.Context()), func(leads []sqlstore.KeyedLead) error {
		for _, l := range leads {
			rows = append(rows, l)
		}
		return nil
	})
	for r, rowErr := range s.SessionRows(t.Context()) {
		rows, err = append(rows, r), errors.Join(err, rowErr)
	}

	key, consents, consentErr := s.ConsentRows(t.Context())
	rows, err = append(rows, key, consents), errors.Join(err, consentErr)

	generations, genErr := s.Generations(t.Context())
	rows, err = append(rows, generations), errors.Join(err, genErr)

	if err != nil {
		t.Fatal(err)
	}
	return rows
}
