package storecopy_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storecopy"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

func openSQLite(t *testing.T) *storecopy.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	pool, err := sqlite.OpenDB(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{
		Path:  path,
		Pool:  pool,
		Log:   slog.New(slog.DiscardHandler),
		Queue: func(*sql.Tx) store.Jobs { return storetest.Queue{Jobs: &storetest.Jobs{}} },
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := errors.Join(s.Close(), pool.Close()); err != nil {
			t.Error(err)
		}
	})
	return s.Store
}

func openPostgres(t *testing.T, jobs *storetest.Jobs) *storecopy.Store {
	t.Helper()
	pool, err := postgres.OpenPool(t.Context(), pgserver.Start(t).NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), postgres.Options{
		Pool:  pool,
		Log:   slog.New(slog.DiscardHandler),
		Queue: func(pgx.Tx) store.Jobs { return storetest.Queue{Jobs: jobs} },
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = s.Close() })
	return s.Store
}

// What is stored is the same after a copy, whose rows are counted. A delivery that has not
// ended gets a job, and no other does.
func TestCopy(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	from := openSQLite(t)
	const leads = 250
	for i := range leads {
		n := storetest.Lead(i)
		n.Lead.InReview = i == 9
		n.Lead.Consents = []lead.Consent{{Purpose: "news", Given: i%2 == 0, Text: "Send me news"}}
		_, _, err := from.Submit(ctx, n)
		must(err)
		must(from.Track(ctx, storetest.Visit(n.Lead.SessionID, storetest.When())))
	}
	id := storetest.Lead(7).Lead.ID
	entry := store.AuditEntry{At: storetest.When(), Actor: "ana", Action: "ASSIGNED", Lead: id, Detail: "{}"}
	_, err := from.Assign(ctx, id, "ana@example.com", entry)
	must(err)
	must(from.AddNote(ctx, id, lead.Note{Author: "ana", At: storetest.When(), Text: "called"}))
	must(from.UsePriceRules(ctx, store.PriceRules{Revision: "r1", Locale: "en", Rules: "{}"}, storetest.When()))
	must(from.SetOutcome(ctx, id, lead.Outcome{Value: lead.Won, At: storetest.When(), By: "ana"}))

	waiting := map[string]bool{}
	before, err := from.ListDeliveries(ctx, store.DeliveryFilter{})
	must(err)
	for i, d := range before {
		states := []lead.DeliveryState{lead.Delivered, lead.Failed, lead.NotSent, lead.Retrying, lead.Pending}
		d.State, d.FinishedAt, d.NextAt = states[i%5], storetest.When(), storetest.When()
		if d.State == lead.NotSent {
			d.Reason = "no mail server"
		}
		must(from.EndAttempt(ctx, d))
		waiting[d.LeadID] = !d.State.Ended()
	}
	before, err = from.ListDeliveries(ctx, store.DeliveryFilter{})
	must(err)

	given := map[string]bool{}
	to := openPostgres(t, &storetest.Jobs{Fail: func(leadID string) error { given[leadID] = true; return nil }})
	copied, err := storecopy.Copy(ctx, from, to)
	must(err)
	rows := map[string]int64{}
	for _, c := range copied {
		rows[c.Table] = c.Rows
	}
	if rows["sessions"] != leads || rows["lead_notes"] != 1 || rows["consents"] != leads || rows["audit"] != 1 ||
		rows["deliveries"] != leads-1 || rows["price_rules"] != 1 {
		t.Errorf("copied %v", rows)
	}

	for i := range leads {
		id := storetest.Lead(i).Lead.ID
		was, errWas := from.Lead(ctx, id)
		is, errIs := to.Lead(ctx, id)
		if errWas != nil || errIs != nil || !reflect.DeepEqual(was, is) {
			t.Errorf("%+v %v, was %+v %v", is, errIs, was, errWas)
		}
		if given[id] != waiting[id] {
			t.Errorf("%s has a job: %t", id, given[id])
		}
	}
	after, err := to.ListDeliveries(ctx, store.DeliveryFilter{})
	must(err)
	for i, d := range after {
		if before[i].State.Ended() != (d.Job == before[i].Job) && d.Job == 0 {
			t.Errorf("the job of %+v", d)
		}
		d.ID, d.Job = before[i].ID, before[i].Job
		if !reflect.DeepEqual(d, before[i]) {
			t.Errorf("%+v, was %+v", d, before[i])
		}
	}

	report, err := to.VerifyAudit(ctx, "")
	if err != nil || report.Problem != "" || report.Entries != 1 {
		t.Errorf("the audit is %+v, %v", report, err)
	}
	// Repetitions are recognized, and what is new gets numbers of its own.
	if again, created, err := to.Submit(ctx, storetest.Lead(7)); err != nil || created || again.ID != id {
		t.Errorf("a lead that was copied is accepted again: %v, %v", created, err)
	}
	must(to.AddNote(ctx, id, lead.Note{Author: "ana", At: time.Now(), Text: "called again"}))
	if w, err := to.WithdrawConsent(ctx, storetest.Lead(6).Lead.Contact.Email, "news", time.Now()); w.Leads == 0 || err != nil {
		t.Errorf("consents in %d leads were withdrawn, %v", w, err)
	}

	if _, err := storecopy.Copy(ctx, from, to); !errors.Is(err, storecopy.ErrNotEmpty) {
		t.Errorf("a copy into a database that is not empty: %v", err)
	}
}
