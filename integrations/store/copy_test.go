package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/store/storetest"
	"siteapi/integrations/store/storetest/pgserver"
)

// TestCopy checks that a copy preserves the stored data, that only deliveries that have
// not ended get a job, and that rows added after the copy get unused ids.
func TestCopy(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hasJob := map[string]bool{}
	from := storetest.SQLite(filepath.Join(t.TempDir(), "copy.db")).MustOpen(t, &storetest.Jobs{})
	to := storetest.PostgreSQL(pgserver.Start(t).NewDatabase(t)).MustOpen(t, &storetest.Jobs{
		Fail: func(leadID string) error { hasJob[leadID] = true; return nil },
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	const leads = 130 // more than are written in one transaction
	for i := range leads {
		n := storetest.Lead(i)
		n.Lead.Consents = []lead.Consent{{Purpose: "news", Given: true, Text: "Send me news"}}
		_, _, err := from.Submit(ctx, n)
		must(err)
	}
	id, note := storetest.Lead(7).Lead.ID, lead.Note{Author: "ana", At: storetest.When(), Text: "called"}
	must(from.AddNote(ctx, id, note))
	must(from.UseRevision(ctx, store.Revision{Revision: "r1", Kind: store.Prices, Locale: "en", Body: "{}"}, storetest.When()))
	must(from.SetOutcome(ctx, id, lead.Outcome{Value: lead.Won, At: storetest.When(), By: "ana"}))

	deliveries, err := from.ListDeliveries(ctx, store.DeliveryFilter{})
	must(err)
	for i, d := range deliveries {
		d.State = []lead.DeliveryState{lead.Delivered, lead.Failed, lead.NotSent, lead.Retrying, lead.Pending}[i%5]
		must(from.EndAttempt(ctx, d))
	}
	_, err = from.CopyTo(ctx, to.Store)
	must(err)

	copies := 0
	for got, err := range to.Leads(ctx, store.Filter{}) {
		must(err)
		want, err := from.Lead(ctx, got.ID)
		must(err)
		if hasJob[got.ID] == want.Deliveries[0].State.Ended() {
			t.Errorf("%+v has a job: %t", want.Deliveries, hasJob[got.ID])
		}

		want.Deliveries[0].ID, want.Deliveries[0].Job = got.Deliveries[0].ID, got.Deliveries[0].Job
		if copies++; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}

	must(to.AddNote(ctx, id, note))
	noted, err := to.Lead(ctx, id)
	_, errRules := to.CurrentRevision(ctx, store.Prices, "en")
	if copies != leads || len(noted.Notes) != 2 || err != nil || errRules != nil {
		t.Errorf("%d leads, the notes %+v; %v, %v", copies, noted.Notes, err, errRules)
	}
}

// TestCopyKeepsItsTarget checks that a row in any table is a reason to refuse a copy, apart
// from those of a new database.
func TestCopyKeepsItsTarget(t *testing.T) {
	t.Parallel()
	server := pgserver.Start(t)
	from := storetest.SQLite(filepath.Join(t.TempDir(), "copy.db")).MustOpen(t, &storetest.Jobs{})
	empty := storetest.PostgreSQL(server.NewDatabase(t)).MustOpen(t, &storetest.Jobs{})
	copied, err := from.CopyTo(t.Context(), empty.Store)
	if err != nil {
		t.Fatal(err)
	}

	if at, err := empty.CopiedAt(t.Context()); err != nil || at == "" {
		t.Errorf("the copy was complete at %q, %v", at, err)
	}

	target := storetest.PostgreSQL(server.NewDatabase(t))
	to := target.MustOpen(t, &storetest.Jobs{})
	for _, c := range copied {
		if c.Rows > 0 || c.Table == "service_notes" {
			continue // one of a new database
		}
		target.Exec(t, fmt.Sprintf(`SET session_replication_role = replica; -- no foreign keys
DO $$ BEGIN EXECUTE (SELECT format('INSERT INTO %[1]s (%%s) VALUES (%%s)', string_agg(column_name, ','),
  string_agg(CASE data_type WHEN 'text' THEN '''x''' ELSE '1' END, ','))
FROM information_schema.columns WHERE table_name = '%[1]s' AND is_nullable = 'NO' AND column_default IS NULL
  AND is_identity = 'NO' AND is_generated = 'NEVER'); END $$`, c.Table))

		_, err := from.CopyTo(t.Context(), to.Store)
		if !errors.Is(err, store.ErrNotEmpty) || !strings.Contains(err.Error(), c.Table+" has 1 rows") {
			t.Errorf("%s has a row: %v", c.Table, err)
		}
		target.Exec(t, "DELETE FROM "+c.Table)
	}
}
