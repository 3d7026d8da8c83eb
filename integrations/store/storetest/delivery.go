package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// end records the result of a lead's delivery to the CMS.
func end(t *testing.T, db Store, id string, state lead.DeliveryState) {
	t.Helper()
	endAt(t, db, id, lead.CMS, state)
}

// endAt records the result of a lead's delivery to a target.
func endAt(t *testing.T, db Store, id string, target lead.Target, state lead.DeliveryState) {
	t.Helper()
	d := theDelivery(t, db, id, target)
	d.State, d.FinishedAt = state, When()
	ok(t, db.EndAttempt(t.Context(), d))
}

// theDelivery returns the delivery of a lead to a target.
func theDelivery(t *testing.T, db Store, id string, target lead.Target) lead.Delivery {
	t.Helper()
	list, err := db.ListDeliveries(t.Context(), store.DeliveryFilter{Leads: []string{id}, Target: target})
	if err != nil || len(list) != 1 {
		t.Fatalf("the deliveries of %s to the %s are %+v, %v", id, target, list, err)
	}
	return list[0]
}

// The Progress of a lead is that of the delivery that needs the most attention, ignoring
// the mail to the visitor. Deliveries are listed and counted by state.
func deliveries(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	for i, state := range []lead.DeliveryState{lead.Failed, lead.Retrying, lead.Pending, lead.Delivered, lead.NotSent} {
		submit(t, db, Lead(i+1))
		end(t, db, Lead(i+1).Lead.ID, state)
	}

	// Lead 5 gets further deliveries.
	for _, target := range []lead.Target{lead.VisitorMail, lead.CRM} {
		ok(t, db.ResendLead(t.Context(), "id-000005", target, ""))
	}
	endAt(t, db, "id-000005", lead.VisitorMail, lead.Failed)

	var progress []lead.DeliveryState
	for _, l := range all(t, db.Leads(t.Context(), store.Filter{})) {
		progress = append(progress, l.Progress)
	}
	if !slices.Equal(progress, []lead.DeliveryState{lead.Failed, lead.Retrying, lead.Pending, lead.Delivered, lead.Pending}) {
		t.Errorf("the leads are %v", progress)
	}

	counts, err := db.CountDeliveries(t.Context())
	var got []string
	for _, n := range counts {
		if n.Number > 0 {
			got = append(got, fmt.Sprint(n.Target, " ", n.State, " ", n.Number, " ", n.Oldest.Equal(When())))
		}
	}
	want := []string{
		"cms pending 1 true", "cms retrying 1 true", "cms failed 1 true", "crm pending 1 true", "visitor_mail failed 1 true",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("counted %q, %v, want %q", got, err, want)
	}

	third := theDelivery(t, db, "id-000003", lead.CMS).ID
	for want, filter := range map[int]store.DeliveryFilter{
		2: {After: third, Newest: true},
		3: {Leads: []string{"id-000005", "other"}, After: 1, Limit: 3},
		4: {States: []lead.DeliveryState{lead.Pending, lead.Failed}},
		7: {},
	} {
		if list, err := db.ListDeliveries(t.Context(), filter); len(list) != want || err != nil {
			t.Errorf("%+v returned %+v, %v, want %d", filter, list, err, want)
		}
	}

	for _, want := range []int{4, 0} {
		ended, running, err := db.EndDeliveries(t.Context(), []string{"id-000005", "id-000001"})
		if ended != want || running != 0 || err != nil {
			t.Errorf("%d ended, %d running, %v, want %d", ended, running, err, want)
		}
	}
	l, err := db.Lead(t.Context(), "id-000005")
	if l.Progress != lead.Delivered || len(l.Deliveries) == 0 || err != nil {
		t.Errorf("with ended deliveries the lead is %s, %v", l.Progress, err)
	}
	for _, d := range l.Deliveries {
		if _, _, err := db.BeginAttempt(t.Context(), l.ID, d.Target, 0); !errors.Is(err, store.ErrNotFound) || !d.State.Settled() {
			t.Errorf("an ended delivery is %+v, %v", d, err)
		}
	}
}

// Only the current job of a delivery makes attempts, one at a time. A delivery that has
// ended is sent again only on request.
func attempts(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	id := Lead(1).Lead.ID
	submit(t, db, Lead(1))
	begin := func(job int64, want error) lead.Delivery {
		t.Helper()
		l, d, err := db.BeginAttempt(t.Context(), id, lead.CMS, job)
		if !errors.Is(err, want) || want == nil && l.ID != id {
			t.Errorf("beginning an attempt of job %d: %+v, %v, want %v", job, d, err, want)
		}
		return d
	}
	is := func(state lead.DeliveryState) lead.Delivery {
		t.Helper()
		d := theDelivery(t, db, id, lead.CMS)
		if d.State != state {
			t.Errorf("the delivery is %+v, want %s", d, state)
		}
		return d
	}

	first := is(lead.Pending)
	begin(first.Job+1, store.ErrNotFound)
	d := begin(first.Job, nil)
	is(lead.Running)
	begin(first.Job, store.ErrUnderWay)
	if err := db.ResendLead(t.Context(), id, lead.CMS, "", entry(1, id)); !errors.Is(err, store.ErrUnderWay) {
		t.Errorf("resending a running delivery: %v", err)
	}
	wantEntries(t, db, 0) // since it was refused
	if _, running, err := db.EndDeliveries(t.Context(), []string{id}); running != 1 || err != nil {
		t.Errorf("%d are running, %v", running, err)
	}

	d.Arrived = append(d.Arrived, "a")
	d.HandedOver = map[string]lead.HandOver{"b": {Times: 1, At: When(), Job: d.Job}}
	ok(t, db.NoteParts(t.Context(), d))
	d.State, d.NextAt = lead.Retrying, When()
	d.Errors = append(d.Errors, lead.Attempt{Number: 1, At: When(), Error: "away"})
	d.Records.Contact = lead.Record{ID: "101", URL: "https://crm.example/101"}
	ok(t, db.EndAttempt(t.Context(), d))
	if got := is(lead.Retrying); !reflect.DeepEqual(got, d) {
		t.Errorf("the delivery is %+v, want %+v", got, d)
	}

	// A killed process records no result, and its attempt does not end the delivery.
	begin(d.Job, nil)
	s.Exec(t, `UPDATE deliveries SET running_until = 1`)
	begin(is(lead.Retrying).Job, nil)
	end(t, db, id, lead.Delivered)
	begin(is(lead.Delivered).Job, store.ErrNotFound)

	ok(t, db.ResendLead(t.Context(), id, lead.CMS, "", entry(2, id)))
	wantEntries(t, db, 1)
	d = begin(is(lead.Pending).Job, nil)
	if d.Attempts != 1 || d.Sending != 1 || len(d.Arrived)+len(d.HandedOver) != 0 {
		t.Errorf("the resent delivery is %+v", d)
	}
	if err := db.RetryDelivery(t.Context(), 4711); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown delivery: %v", err)
	}
}
