package store_test

import (
	"path/filepath"
	"reflect"
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
	from := storetest.SQLite(t, filepath.Join(t.TempDir(), "copy.db")).MustOpen(t, &storetest.Jobs{})
	to := storetest.PostgreSQL(t, pgserver.Start(t).NewDatabase(t)).MustOpen(t, &storetest.Jobs{
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

	before, err := from.ListDeliveries(ctx, store.DeliveryFilter{})
	must(err)
	for i, d := range before {
		d.State = []lead.DeliveryState{lead.Delivered, lead.Failed, lead.NotSent, lead.Retrying, lead.Pending}[i%5]
		must(from.EndAttempt(ctx, d))
	}
	before, err = from.ListDeliveries(ctx, store.DeliveryFilter{})
	must(err)
	_, err = from.CopyTo(ctx, to.Store)
	must(err)

	after, err := to.ListDeliveries(ctx, store.DeliveryFilter{})
	must(err)
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

	must(to.AddNote(ctx, id, note))
	copied, err := to.Lead(ctx, id)
	_, errRules := to.CurrentRevision(ctx, store.Prices, "en")
	if len(after) != leads || len(copied.Notes) != 2 || err != nil || errRules != nil {
		t.Errorf("%d deliveries, the notes %+v; %v, %v", len(after), copied.Notes, err, errRules)
	}
}
