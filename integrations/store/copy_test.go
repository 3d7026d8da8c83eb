package store_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/postgres"
	"siteapi/integrations/store/sqlite"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

// open opens a database to copy from and an empty one to copy to. The latter calls onJob
// for each job that it inserts.
func open(t *testing.T, onJob func(leadID string)) (from, to *store.Store) {
	t.Helper()
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	jobs := &storetest.Jobs{Fail: func(leadID string) error { onJob(leadID); return nil }}

	path := filepath.Join(t.TempDir(), "copy.db")
	file, err := sqlite.OpenDB(ctx, path)
	must(t, err)
	one, err := sqlite.Open(ctx, sqlite.Options{
		Path:  path,
		Pool:  file,
		Log:   log,
		Queue: func(*sql.Tx) store.Jobs { return storetest.Queue{Jobs: &storetest.Jobs{}} },
	})
	must(t, err)

	pool, err := postgres.OpenPool(ctx, pgserver.Start(t).NewDatabase(t))
	must(t, err)
	other, err := postgres.Open(ctx, postgres.Options{
		Pool:  pool,
		Log:   log,
		Queue: func(pgx.Tx) store.Jobs { return storetest.Queue{Jobs: jobs} },
	})
	must(t, err)
	t.Cleanup(func() { _ = errors.Join(one.Close(), file.Close(), other.Close()) })
	return one.Store, other.Store
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestCopy checks that a copy preserves the stored data, that only deliveries that have
// not ended get a job, and that rows added after the copy get unused ids.
func TestCopy(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hasJob := map[string]bool{}
	from, to := open(t, func(leadID string) { hasJob[leadID] = true })

	const leads = 130 // more than are written in one transaction
	for i := range leads {
		n := storetest.Lead(i)
		n.Lead.Consents = []lead.Consent{{Purpose: "news", Given: true, Text: "Send me news"}}
		_, _, err := from.Submit(ctx, n)
		must(t, err)
	}
	id, note := storetest.Lead(7).Lead.ID, lead.Note{Author: "ana", At: storetest.When(), Text: "called"}
	must(t, from.AddNote(ctx, id, note))
	must(t, from.UseRevision(ctx, store.Revision{Revision: "r1", Kind: store.Prices, Locale: "en", Body: "{}"}, storetest.When()))
	must(t, from.SetOutcome(ctx, id, lead.Outcome{Value: lead.Won, At: storetest.When(), By: "ana"}))

	before, err := from.ListDeliveries(ctx, store.DeliveryFilter{})
	must(t, err)
	for i, d := range before {
		d.State = []lead.DeliveryState{lead.Delivered, lead.Failed, lead.NotSent, lead.Retrying, lead.Pending}[i%5]
		must(t, from.EndAttempt(ctx, d))
	}
	before, err = from.ListDeliveries(ctx, store.DeliveryFilter{})
	must(t, err)
	_, err = from.CopyTo(ctx, to)
	must(t, err)

	after, err := to.ListDeliveries(ctx, store.DeliveryFilter{})
	must(t, err)
	for i, d := range after {
		want, errFrom := from.Lead(ctx, d.LeadID)
		got, errTo := to.Lead(ctx, d.LeadID)
		if errFrom != nil || errTo != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%+v %v, want %+v %v", got, errTo, want, errFrom)
		}

		if hasJob[d.LeadID] == d.State.Ended() {
			t.Errorf("%+v has a job: %t", d, hasJob[d.LeadID])
		}
		d.ID, d.Job = before[i].ID, before[i].Job
		if !reflect.DeepEqual(d, before[i]) {
			t.Errorf("%+v, want %+v", d, before[i])
		}
	}

	must(t, to.AddNote(ctx, id, note))
	copied, err := to.Lead(ctx, id)
	_, errRules := to.CurrentRevision(ctx, store.Prices, "en")
	if len(after) != leads || len(copied.Notes) != 2 || err != nil || errRules != nil {
		t.Errorf("%d deliveries, the notes %+v; %v, %v", len(after), copied.Notes, err, errRules)
	}
}
