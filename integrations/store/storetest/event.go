package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// wantEvents compares the deliveries of events of a lead, with the number that distinguishes
// each, in the order in which they were created.
func wantEvents(t *testing.T, db Store, id string, want ...string) {
	t.Helper()
	list, err := db.ListDeliveries(t.Context(), store.DeliveryFilter{Leads: []string{id}})
	var got []string
	for _, d := range list {
		if d.Event != lead.Created {
			got = append(got, fmt.Sprint(d.Target, " ", d.Event, ".", d.Number+d.Sending, d.Detail.Purpose, d.Detail.Outcome))
		}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s has the events %q, %v, want %q", id, got, err, want)
	}
}

// Each change of an announced lead has an event in its transaction, with a number of its own
// that no restart repeats. Without the announcement only people are notified.
func events(t *testing.T, s Subject) {
	jobs := &Jobs{}
	db := s.MustOpen(t, jobs)
	ids := []string{Lead(1).Lead.ID, Lead(2).Lead.ID}
	for i, id := range ids {
		n := Lead(i + 1)
		n.Lead.Contact.Email = "ana@example.com"
		n.Lead.Consents = []lead.Consent{{Purpose: "news", Given: true}, {Purpose: "calls", Given: i == 0}}
		submit(t, db, n)
		end(t, db, id, lead.Delivered)
	}
	known, err := db.Lead(t.Context(), ids[0])
	ok(t, err)
	ok(t, db.NoteAnnounced(t.Context(), &known))
	ok(t, db.NoteAnnounced(t.Context(), &known)) // a retry

	amount := 1200.5
	failed := errors.New("the queue fails")
	jobs.Fail = func(string) error { return failed }
	if asked, err := db.RequestDeletion(t.Context(), ids[0], When(), entry(0, ids[0])); asked || !errors.Is(err, failed) {
		t.Errorf("without the event the deletion is requested: %v, %v", asked, err)
	}
	wantEntries(t, db, 0)
	jobs.Fail = nil

	for _, id := range ids {
		for range 2 { // the second one changes nothing
			_, err := db.RequestDeletion(t.Context(), id, When())
			ok(t, err)
		}
		ok(t, db.SetOutcome(t.Context(), id, lead.Outcome{Value: lead.Won, Amount: &amount, Currency: "EUR", At: When()}))
		ok(t, db.SetOutcome(t.Context(), id, lead.Outcome{At: When()}))
	}
	for _, purpose := range []string{"news", "calls"} {
		withdrawn, err := db.WithdrawLeadConsent(t.Context(), ids[0], purpose, When(), entry(0, ""))
		if !withdrawn || err != nil {
			t.Errorf("withdrawing %s: %v, %v", purpose, withdrawn, err)
		}
	}
	ok(t, db.ResendLead(t.Context(), ids[0], lead.VisitorMail, "maria@example.com"))

	want := []string{
		"sales_mail deletion_requested.1", "webhook deletion_requested.1", "webhook outcome.1WON", "webhook outcome.2",
		"webhook consent_withdrawn.1news", "webhook consent_withdrawn.2calls", "webhook corrected.1",
	}
	wantEvents(t, db, ids[0], want...)
	wantEvents(t, db, ids[1], "sales_mail deletion_requested.1")

	// Deliveries of events do not decide the state of the lead, and are attempted and
	// restarted like others.
	list, err := db.ListDeliveries(t.Context(), store.DeliveryFilter{Leads: ids[:1], Event: lead.OutcomeChanged})
	ok(t, err)
	first := list[0]
	if *first.Detail.Amount != amount || first.Detail.Currency != "EUR" {
		t.Errorf("the outcome is %+v", first.Detail)
	}
	_, d, err := db.BeginAttempt(t.Context(), ids[0], lead.Webhook, first.Job)
	ok(t, err)
	if d.ID != first.ID {
		t.Errorf("the job of %d attempts %d", first.ID, d.ID)
	}
	d.State, d.FinishedAt = lead.Failed, When()
	ok(t, db.EndAttempt(t.Context(), d))
	if l, err := db.Lead(t.Context(), ids[0]); err != nil || l.Progress == lead.Failed {
		t.Errorf("a failed event makes the lead %s, %v", l.Progress, err)
	}
	ok(t, db.RetryDelivery(t.Context(), d.ID))
	want[2] = "webhook outcome.3WON"
	wantEvents(t, db, ids[0], want...)
}

// The erasure of a lead that the webhook may have got is an event, even after retention
// removed the lead. Events outlive the lead for a while; what needs the lead does not.
func eventsOfErased(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	for i := range 4 {
		n := Lead(i)
		n.Lead.Contact.Email = "ana@example.com"
		n.Lead.Consents = []lead.Consent{{Purpose: "news", Given: true}}
		submit(t, db, n)
		end(t, db, n.Lead.ID, lead.Delivered)
		if i < 3 {
			ok(t, db.NoteAnnounced(t.Context(), &n.Lead))
		}
	}
	id := func(n int) string { return Lead(n).Lead.ID }

	// Lead 0 has an open request, so retention keeps it; the others are removed.
	_, err := db.RequestDeletion(t.Context(), id(0), When())
	ok(t, err)
	number, oldest, err := db.OpenDeletions(t.Context())
	if number != 1 || !oldest.Equal(When()) || err != nil {
		t.Errorf("%d open requests, the oldest of %v, %v", number, oldest, err)
	}
	if n, err := db.PruneLeads(t.Context(), When().AddDate(1, 0, 0)); n != 3 || err != nil {
		t.Errorf("retention removed %d leads, %v, want 3", n, err)
	}
	wantEvents(t, db, id(1))

	// A withdrawal and an erasure reach the receivers of removed leads.
	w, err := db.WithdrawConsent(t.Context(), "ANA@example.com", "news", When(), entry(0, ""))
	if err != nil || w.Deleted != 3 || w.Leads != 1 {
		t.Errorf("withdrawn: %+v, %v", w, err)
	}
	if removed, running, err := db.EndDeliveries(t.Context(), []string{id(0), id(1)}); removed != 3 || running != 0 || err != nil {
		t.Errorf("%d deliveries ended, %d running, %v", removed, running, err)
	}
	ok(t, db.Erase(t.Context(), id(0)))
	wantEvents(t, db, id(0), "webhook deletion_requested.1", "webhook consent_withdrawn.1news", "webhook erased.1")
	_, _, err = db.EraseAddress(t.Context(), "ana@example.com")
	ok(t, err)
	for range 2 { // repeating it notifies nobody again
		_, _, err = db.EraseAddress(t.Context(), "ana@example.com")
		ok(t, err)
	}
	wantEvents(t, db, id(0), "webhook deletion_requested.1", "webhook consent_withdrawn.1news", "webhook erased.1")
	wantEvents(t, db, id(1), "webhook consent_withdrawn.1news", "webhook erased.1")
	wantEvents(t, db, id(2), "webhook consent_withdrawn.1news", "webhook erased.1")
	wantEvents(t, db, id(3))

	list, err := db.ListDeliveries(t.Context(), store.DeliveryFilter{Leads: []string{id(1)}, Event: lead.Erased})
	ok(t, err)
	l, d, err := db.BeginAttempt(t.Context(), id(1), lead.Webhook, list[0].Job)
	if err != nil || l.ID != id(1) || l.Contact != (lead.Contact{}) {
		t.Errorf("the event of an erased lead has %+v, %v", l, err)
	}
	d.State, d.FinishedAt = lead.Delivered, When()
	ok(t, db.EndAttempt(t.Context(), d))
	for wait, want := range map[time.Duration]int64{-time.Second: 0, time.Second: 1} {
		if n, err := db.PruneEvents(t.Context(), When().Add(wait)); n != want && want == 0 || err != nil {
			t.Errorf("%d events are pruned, %v, want %d", n, err, want)
		}
	}
	wantEvents(t, db, id(1), "webhook consent_withdrawn.1news")
}
