package crmtest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"siteapi/integrations/crm"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

const ana = "ana.pop@example.com"

func createsAContact(t *testing.T, s Subject) {
	upsert(t, s, Lead(ana, nil))
	expect(t, s, ana, Want(ana))
	expectCount(t, s, 1)
}

func leavesOutWhatIsUnknown(t *testing.T, s Subject) {
	upsert(t, s, Lead(ana, bare))
	want := Want(ana)
	for _, name := range []string{"phone", "company", "quote_features", "quote_complexity", "quote_timeline"} {
		delete(want, name)
	}
	expect(t, s, ana, want)
}

// bare takes everything optional away from a submission.
func bare(q *quote.Submission) {
	q.Contact.Phone, q.Contact.Company = "", "  "
	q.Selections.Features, q.Selections.Complexity, q.Selections.Timeline = nil, "", ""
}

func updatesWithoutClearing(t *testing.T, s Subject) {
	upsert(t, s, Lead(ana, nil))
	upsert(t, s, Lead(ana, func(q *quote.Submission) {
		bare(q)
		q.SubmittedAt = q.SubmittedAt.Add(time.Hour)
		q.Contact.LastName = "Pop-Núñez"
		q.Estimate = quote.Estimate{Min: 0, Max: 0.5, Currency: "RON"}
	}))
	want := Want(ana)
	maps.Copy(want, map[string]string{
		"lastname": "Pop-Núñez", "quote_min": "0", "quote_max": "0.5", "quote_currency": "RON",
	})
	expect(t, s, ana, want)
	expectCount(t, s, 1)
}

func repeatChangesNothing(t *testing.T, s Subject) {
	l := Lead(ana, nil)
	upsert(t, s, l)
	before, _ := s.Contact(ana)
	before = maps.Clone(before)
	upsert(t, s, l)
	if after, _ := s.Contact(ana); !maps.Equal(before, after) {
		t.Errorf("before %v\nafter  %v", before, after)
	}
	expectCount(t, s, 1)
}

func olderAfterNewer(t *testing.T, s Subject) {
	upsert(t, s, Lead(ana, func(q *quote.Submission) { q.Contact.Company = "" }))
	upsert(t, s, Lead(ana, func(q *quote.Submission) {
		q.ID = "ffffffff-6c1b-4a27-9d10-0c9a3f6c2b01"
		q.SubmittedAt = q.SubmittedAt.Add(-time.Millisecond)
		q.Contact.FirstName = "Old"
		q.Selections = quote.Selections{ProjectType: "old", Features: []string{"old"}, Complexity: "old", Timeline: "old"}
		q.Estimate = quote.Estimate{Min: 1, Max: 2, Currency: "USD"}
	}))
	// The newer lead did not know the company: the older one may fill that gap.
	expect(t, s, ana, Want(ana))
}

func sameInstant(t *testing.T, s Subject) {
	upsert(t, s, Lead(ana, nil))
	upsert(t, s, Lead(ana, func(q *quote.Submission) { q.ID = "00000000-lower"; q.Estimate.Max = 1 }))
	expect(t, s, ana, Want(ana))
	upsert(t, s, Lead(ana, func(q *quote.Submission) { q.ID = "ffffffff-higher"; q.Estimate.Min = 1 }))
	if got, _ := s.Contact(ana); got["quote_submission_id"] != "ffffffff-higher" || got["quote_min"] != "1" {
		t.Errorf("the greater id did not win: %v", got)
	}
}

func letterCaseOfAddresses(t *testing.T, s Subject) {
	upsert(t, s, Lead("Ana.Pop@Example.COM", nil))
	upsert(t, s, Lead(ana, func(q *quote.Submission) { q.SubmittedAt = q.SubmittedAt.Add(time.Second) }))
	upsert(t, s, Lead("ANA.POP@EXAMPLE.COM ", nil))
	expect(t, s, ana, Want(ana))
	expectCount(t, s, 1)
}

// Addresses returns valid addresses with characters that need care in a URL, in a
// file name or in JSON.
func Addresses() []string {
	return []string{
		"ana+quote@example.com", "o'neill@example.com", "a/b@example.com", "100%@example.com", "%2e%2e@example.com",
		"a?b=c&d#e@example.com", "a/./b@example.com", "ștefania@example.com", "josé@exámple.com", "{a}|b~c@example.com", "a=b*c@example.com",
	}
}

func oddAddresses(t *testing.T, s Subject) {
	for _, email := range Addresses() {
		upsert(t, s, Lead(email, nil))
		// The second time the contact is there: another way through a driver.
		upsert(t, s, Lead(email, func(q *quote.Submission) { q.SubmittedAt = q.SubmittedAt.Add(time.Second) }))
		expect(t, s, email, Want(email))
	}
	expectCount(t, s, len(Addresses()))
	if got, err := s.Contacts.Missing(context.Background(), Addresses()); err != nil || len(got) != 0 {
		t.Errorf("missing: %q, %v; want none", got, err)
	}
	for _, email := range Addresses() {
		if err := s.Contacts.Erase(context.Background(), email); err != nil {
			t.Errorf("erasing %q: %v", email, err)
		}
	}
	expectCount(t, s, 0)
}

func noAddress(t *testing.T, s Subject) {
	for _, email := range []string{"", " ", "ana", "@example.com", "ana@"} {
		if err := s.Contacts.Upsert(context.Background(), Lead(email, nil)); upstream.KindOf(err) != upstream.Rejected || err == nil {
			t.Errorf("upserting %q: %v, want rejected", email, err)
		}
	}
	expectCount(t, s, 0)
}

func concurrentUpserts(t *testing.T, s Subject) {
	const writers = 20
	upsertAll(t, s, writers, func(i int) crm.Lead {
		return Lead(ana, func(q *quote.Submission) {
			q.ID = fmt.Sprintf("id-%02d", i)
			q.SubmittedAt = q.SubmittedAt.Add(time.Duration(i) * time.Minute)
			q.Estimate.Min = float64(i)
		})
	})
	expectCount(t, s, 1)
	got, _ := s.Contact(ana)
	if got["quote_submission_id"] != "id-19" || got["quote_min"] != "19" {
		t.Errorf("the newest of %d submissions did not win: %v", writers, got)
	}
}

func concurrentContacts(t *testing.T, s Subject) {
	upsertAll(t, s, 20, func(i int) crm.Lead { return Lead(Visitor(i), nil) })
	expectCount(t, s, 20)
	for i := range 20 {
		expect(t, s, Visitor(i), Want(Visitor(i)))
	}
}

// upsertAll upserts n leads at the same time.
func upsertAll(t *testing.T, s Subject, n int, lead func(int) crm.Lead) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := s.Contacts.Upsert(context.Background(), lead(i)); err != nil {
				t.Errorf("upserting lead %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}
