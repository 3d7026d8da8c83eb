package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// end records what becomes of the delivery of a lead to the CMS.
func end(t *testing.T, db Store, id string, p lead.Progress) {
	t.Helper()
	if err := db.SaveDelivery(t.Context(), store.Delivery{LeadID: id, Target: "cms", Progress: p}); err != nil {
		t.Error(err)
	}
}

// The Progress of a lead is that of its delivery that is furthest behind, except for the
// visitor's mail. Leads are selected, and deliveries counted, by it.
func deliveries(t *testing.T, s Subject) {
	db := s.WithJobs(t, &Jobs{})
	progress := map[int]lead.Progress{1: lead.Failed, 2: lead.Retrying, 3: lead.Pending, 4: lead.Ended, 5: lead.Ended}
	for i, p := range progress {
		wantSubmit(t, db, Lead(i), Lead(i), true)
		end(t, db, Lead(i).Lead.ID, p)
	}
	wantSubmit(t, db, Suspicious(6), Suspicious(6), true)

	// Further deliveries are of the lead 5.
	add := func(target string, p lead.Progress) {
		t.Helper()
		d := store.Delivery{ID: 10, LeadID: "id-000005", Target: target, Progress: p, CreatedAt: When()}
		err := db.ChangeDelivery(t.Context(),
			func(context.Context, store.Deliveries) (store.Delivery, error) { return d, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	add(store.BestEffort, lead.Failed)
	add("crm", lead.Pending)
	progress[5] = lead.Pending

	err := db.ChangeDelivery(t.Context(), func(context.Context, store.Deliveries) (store.Delivery, error) {
		return store.Delivery{ID: 11, LeadID: "erased", Target: "crm", CreatedAt: When()}, nil
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a delivery whose lead has been erased: %v", err)
	}

	for _, tt := range []struct {
		filter []lead.Progress
		want   []string
	}{
		{[]lead.Progress{lead.Failed}, []string{"id-000001"}},
		{[]lead.Progress{lead.Retrying, lead.Pending}, []string{"id-000002", "id-000003", "id-000005"}},
		{[]lead.Progress{lead.Ended}, []string{"id-000004"}},
	} {
		var got []string
		for _, l := range all(t, db.Leads(t.Context(), store.Filter{Progress: tt.filter})) {
			got = append(got, l.ID)
			if l.Progress != progress[int(l.ID[len(l.ID)-1]-'0')] {
				t.Errorf("%s has the progress %d", l.ID, l.Progress)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v selects %q, want %q", tt.filter, got, tt.want)
		}
	}

	counts, err := db.CountDeliveries(t.Context())
	got := map[string]int64{}
	for _, n := range counts {
		got[fmt.Sprint(n.Target, " ", n.Progress)] = n.Number
		if !n.Oldest.Equal(When()) {
			t.Errorf("the oldest of %+v is not of %v", n, When())
		}
	}
	want := map[string]int64{"cms 1": 1, "cms 2": 1, "cms 3": 1, "crm 3": 1, "visitor_mail 1": 1}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, %v, want %v", got, err, want)
	}

	if removed, running, err := db.RemoveDeliveries(
		t.Context(), []string{"id-000005", "id-000001"}); removed != 4 || running != 0 || err != nil {
		t.Errorf("%d removed, %d running, %v, want 4", removed, running, err)
	}
	list, err := db.RecordedDeliveries(t.Context(), store.DeliveryFilter{Unended: true, After: 2, Limit: 5})
	if err != nil || len(list) != 1 || list[0].LeadID != "id-000003" {
		t.Errorf("left are %+v, %v", list, err)
	}
}

// Deliveries that an earlier release made are recorded, unless they are already or their
// lead has been erased.
func deliveriesImported(t *testing.T, s Subject) {
	db := s.WithJobs(t, &Jobs{})
	for i := range 3 {
		wantSubmit(t, db, Lead(i), Lead(i), true)
	}
	s.Exec(t, `DELETE FROM deliveries WHERE submission_id <> 'id-000000'`)

	var list []store.Delivery
	for i := range 4 {
		list = append(list, store.Delivery{
			ID:        int64(i + 7),
			LeadID:    Lead(i).Lead.ID,
			Target:    "cms",
			Progress:  lead.Failed,
			CreatedAt: When(),
		})
	}
	for _, some := range [][]store.Delivery{list, list[:1]} {
		if err := db.ImportDeliveries(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}

	got, err := db.RecordedDeliveries(t.Context(), store.DeliveryFilter{After: 0})
	if err != nil || len(got) != 3 || got[0].Progress != lead.Pending || got[2] != list[2] {
		t.Errorf("recorded are %+v, %v", got, err)
	}
	if last, err := db.LastImported(t.Context()); err != nil || last != 10 {
		t.Errorf("recorded up to %d, %v, want 10", last, err)
	}
}
