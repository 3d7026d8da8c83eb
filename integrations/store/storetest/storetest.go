// Package storetest is the conformance suite of the store: what every driver must do,
// including concurrency and failures.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/lead/leadtest"
	"siteapi/integrations/store"
)

// Jobs is a fake queue that only numbers its jobs. By default each lead gets a delivery
// to the CMS; without Jobs it gets none.
type Jobs struct {
	// Fail is called for each lead or owner that gets a job, and the queue returns its
	// error. If Fail is nil, no job fails.
	Fail func(id string) error

	last atomic.Int64
}

// Enqueue numbers jobs.
func (j *Jobs) Enqueue(
	_ context.Context, ids []string, targets ...lead.Target,
) (list []lead.Delivery, err error) {
	if j == nil {
		return nil, nil
	}
	if len(targets) == 0 {
		targets = []lead.Target{lead.CMS}
	}

	for _, id := range ids {
		err = errors.Join(err, j.fail(id))
		for _, target := range targets {
			d := lead.Delivery{LeadID: id, Target: target, State: lead.Pending, MaxAttempts: 9, CreatedAt: When()}
			d.Job = j.last.Add(1)
			list = append(list, d)
		}
	}
	return list, err
}

// TargetsOf returns the webhook for announced leads, and for requests for deletion and their
// refusals a mail as well.
func (j *Jobs) TargetsOf(event lead.Event, announced bool) (targets []lead.Target) {
	mails := map[lead.Event]lead.Target{lead.DeletionRequested: lead.SalesMail, lead.DeletionDeclined: lead.VisitorMail}
	if mail, ok := mails[event]; ok && j != nil {
		targets = append(targets, mail)
	}
	if announced && event != lead.DeletionDeclined {
		targets = append(targets, lead.Webhook)
	}
	return targets
}

// NotifyOwner stores no job.
func (j *Jobs) NotifyOwner(_ context.Context, owner string, _ []string) error { return j.fail(owner) }

func (j *Jobs) fail(id string) error {
	if j == nil || j.Fail == nil {
		return nil
	}
	return j.Fail(id)
}

// IsDue finds no job, because none are stored.
func (*Jobs) IsDue(context.Context, int64) (bool, error) { return false, nil }

// Complete does nothing, because no jobs are stored.
func (*Jobs) Complete(context.Context, int64) error { return nil }

// Run runs the suite. fresh is called once for each test.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"audit":                     audit,
		"logins":                    logins,
		"notes":                     notes,
		"revisions":                 revisions,
		"track":                     track,
		"track/late":                trackLate,
		"submit/round trip":         submitRoundTrip,
		"submit/repeated":           submitRepeated,
		"submit/at once":            submitAtOnce,
		"submit/failing deliveries": submitFailing,
		"review":                    review,
		"outcomes":                  outcomes,
		"search":                    search,
		"prune/leads":               pruneLeads,
		"prune/sessions":            pruneSessions,
		"hints":                     hints,
		"unfinished":                unfinished,
		"withdrawals":               withdrawals,
		"events":                    events,
		"events/erased":             eventsOfErased,
		"deliveries":                deliveries,
		"attempts":                  attempts,
		"work/assignment":           assignment,
		"work/filters":              workFilters,
		"work/answers":              answers,
		"mails/address":             mailsPerAddress,
		"mails/network":             mailsPerNetwork,
		"mails/stuck":               mailsStuck,
		"mails/pruned":              mailsPruned,
		"request ended":             requestEnded,
		"changes of leads":          leadChanges,
		"start/many at once":        startMany,
		"start/newer tables":        startNewer,
		"start/other tables":        startOther,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// WantWaiting compares the leads whose deliveries have not all ended.
func (s Subject) WantWaiting(t testing.TB, want ...string) {
	t.Helper()
	if got := s.Strings(t,
		`SELECT DISTINCT lead_id FROM deliveries WHERE progress > 1 ORDER BY lead_id`); !slices.Equal(got, want) {
		t.Errorf("%d leads have deliveries that wait, %q, want %d %q", len(got), got, len(want), want)
	}
}

// When is the fixed time of the suite.
func When() time.Time { return time.Date(2026, 3, 1, 12, 30, 0, 123e6, time.UTC) }

// Lead returns a lead with all fields set, different for each n.
func Lead(n int) store.NewLead {
	return store.NewLead{
		Lead: lead.Lead{
			ID:        fmt.Sprintf("id-%06d", n),
			SessionID: fmt.Sprintf("session-%d", n),
			Contact: lead.Contact{
				FirstName: "Ștefania",
				LastName:  `O'Brien "Ñ" 😀`,
				Email:     fmt.Sprintf("Ana.%d@Example.com", n),
				Phone:     "+40 721 000 000",
				Company:   "Țară & Sons; DROP TABLE leads",
			},
			Selections: lead.Selections{
				ProjectType: "web-app",
				Features:    []string{"auth", "payments"},
				Complexity:  "medium",
				Timeline:    "3-months",
			},
			Estimate:    lead.Estimate{Min: 1234.56, Max: 1e9, Currency: "EUR"},
			Locale:      "ro",
			Status:      lead.StatusNew,
			Progress:    lead.Delivered,
			SubmittedAt: When().Add(time.Duration(n) * time.Second),
		},
		ContentKey:     fmt.Sprintf("content-%d", n),
		IdempotencyKey: fmt.Sprintf("key-%d", n),
	}
}

// Suspicious returns a lead in review.
func Suspicious(n int) store.NewLead {
	s := Lead(n)
	s.Lead.Signals, s.Lead.InReview = []lead.Signal{lead.Honeypot, lead.Untracked}, true
	return s
}

// Visit returns a visit with all fields set.
func Visit(session string, at time.Time) lead.Visit {
	var v lead.Visit
	leadtest.Fill(&v, func(string) {})
	v.SessionID, v.At, v.Locale = session, at, "ro"
	v.Hints.Email = "ana@example.com"
	return v
}

func seenOnce(v lead.Visit) lead.Session {
	return lead.Session{
		ID:         v.SessionID,
		Selections: v.Selections,
		Estimate:   v.Estimate,
		Hints:      v.Hints,
		Locale:     v.Locale,
		FirstTouch: v.Attribution,
		LastTouch:  v.Attribution,
		FirstSeen:  v.At,
		LastSeen:   v.At,
		Visits:     1,
	}
}

func mustTrack(t *testing.T, db Store, visits ...lead.Visit) {
	t.Helper()
	for _, v := range visits {
		ok(t, db.Track(t.Context(), v))
	}
}

func wantSession(t *testing.T, db Store, want lead.Session) {
	t.Helper()
	if got, err := db.Session(t.Context(), want.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("session, %v\n got %+v\nwant %+v", err, got, want)
	}
}

// wantSubmit submits n and expects the lead want in return.
func wantSubmit(t *testing.T, db Store, n, want store.NewLead, wantCreated bool) {
	t.Helper()
	got, created, err := db.Submit(t.Context(), n)
	got.Progress = want.Lead.Progress // a repeated lead may have deliveries
	if err != nil || created != wantCreated || !reflect.DeepEqual(got, want.Lead) {
		t.Errorf("submit, %v\n got %+v, new %v\nwant %+v, new %v",
			err, got, created, want.Lead, wantCreated)
	}
}

// Total returns the number of counted leads.
func Total(counts []store.WorkCount) (n int) {
	for _, c := range counts {
		n += int(c.Number)
	}
	return n
}

func wantCount(t *testing.T, db Store, want int) {
	t.Helper()
	counts, err := db.CountWork(t.Context(), store.Filter{})
	if got := Total(counts); err != nil || got != want {
		t.Errorf("%d leads, %v, want %d", got, err, want)
	}
}

// ok reports an error as a failure of the test.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// submit stores a lead.
func submit(t testing.TB, db Store, n store.NewLead) {
	t.Helper()
	_, _, err := db.Submit(t.Context(), n)
	ok(t, err)
}

// concurrently calls do for each number, with several calls running at once.
func concurrently(n int, do func(i int)) {
	const clients = 16
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := c; i < n; i += clients {
				do(i)
			}
		})
	}
	wg.Wait()
}

// all collects the rows of a listing.
func all[T any](t *testing.T, rows iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for row, err := range rows {
		ok(t, err)
		list = append(list, row)
	}
	return list
}
