package storetest

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Several leads are assigned together with the job of the mail about them, or not at all.
// Leads that already have the owner, or do not exist, are neither counted nor audited. The
// same status is no change, and the number of notes is limited.
func assignment(t *testing.T, s Subject) {
	broken := false
	db := s.MustOpen(t, &Jobs{Fail: func(id string) error {
		if broken && id == "owner" {
			return errors.New("no job is stored")
		}
		return nil
	}})
	var ids []string
	var entries []store.AuditEntry
	for i := range 5 {
		submit(t, db, Lead(i))
		ids, entries = append(ids, Lead(i).Lead.ID), append(entries, entry(i, Lead(i).Lead.ID))
	}

	broken = true
	if assigned, err := db.Assign(t.Context(), ids, "ana@example.com", "owner", entries...); err == nil || len(assigned) != 0 {
		t.Errorf("without the job of the mail: assigned %v, %v", assigned, err)
	}
	wantEntries(t, db, 0)
	for _, id := range ids {
		if l, err := db.Lead(t.Context(), id); err != nil || l.Owner != "" {
			t.Errorf("%s belongs to %q, %v", id, l.Owner, err)
		}
	}

	broken = false
	_, err := db.Assign(t.Context(), ids[:2], "ana@example.com", "owner", entries[:2]...)
	ok(t, err)
	assigned, err := db.Assign(t.Context(), append(ids, "id-nobody"), "Ana@example.com", "owner", entries...)
	if err != nil || !slices.Equal(assigned, ids[2:]) {
		t.Errorf("assigned %v, %v", assigned, err)
	}
	wantEntries(t, db, 5)

	for _, want := range []bool{true, false} { // a status that it has is no change
		if changed, err := db.SetStatus(t.Context(), ids[0], lead.StatusWaiting, When()); changed != want || err != nil {
			t.Errorf("the status was changed: %v, %v, want %v", changed, err, want)
		}
	}
	for range store.MostNotes {
		ok(t, db.AddNote(t.Context(), ids[0], lead.Note{Text: "called"}))
	}
	if err := db.AddNote(t.Context(), ids[0], lead.Note{}); !errors.Is(err, store.ErrTooManyNotes) {
		t.Errorf("one note too many: %v", err)
	}
}

// Leads are filtered, sorted and counted by the columns that repeat fields of the body,
// and by owner, however many pages they fill.
func workFilters(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	const n = 16
	for i := range n {
		l := Lead(i)
		l.Lead.Estimate.Min = float64(i % 7 * 1000)
		l.Lead.Attribution.Source = []string{"", "ads", "Newsletter"}[i%3]
		l.Lead.Selections.ProjectType = []string{"web-app", "web_app", "shop"}[i%3]
		l.Lead.Consents = []lead.Consent{{Purpose: "marketing", Given: i%4 == 0}, {Purpose: "news", Given: true}}
		l.Lead.Locale = []string{"en", "ro"}[i%2]
		l.Lead.InReview = i%10 == 0
		submit(t, db, l)

		if i%4 == 1 {
			end(t, db, l.Lead.ID, lead.Delivered)
		}
		_, err := db.Assign(t.Context(), []string{l.Lead.ID}, []string{"", "Ana@example.com"}[i%5/4], "")
		ok(t, err)
		_, err = db.SetFollowUp(t.Context(), l.Lead.ID, []time.Time{{}, When(), time.Now().Add(time.Hour)}[i%7%3])
		ok(t, err)
		if value := []lead.OutcomeValue{"", lead.Won, lead.Lost, lead.Qualified}[i%5%4]; value != "" {
			ok(t, db.SetOutcome(t.Context(), l.Lead.ID, lead.Outcome{Value: value, At: When()}))
		}
		_, err = db.SetAnswered(t.Context(), l.Lead.ID, l.Lead.SubmittedAt.Add(24*time.Hour+time.Duration(i-3)*time.Millisecond))
		ok(t, err)
	}
	_, err := db.WithdrawConsent(t.Context(), Lead(8).Lead.Contact.Email, "marketing", When(), entry(0, ""))
	ok(t, err)

	ana := "ANA@example.com"
	searched := store.Filter{Search: "stefania obrien", State: lead.StateDelivered, Sources: []string{"ads"}}
	for name, tt := range map[string]struct {
		filter store.Filter
		want   []int
	}{
		"all":       {store.Filter{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
		"newest":    {store.Filter{Newest: true, Locale: "ro"}, []int{15, 13, 11, 9, 7, 5, 3, 1}},
		"largest":   {store.Filter{Newest: true, ByAmount: true, Locale: "ro"}, []int{13, 5, 11, 3, 9, 15, 1, 7}},
		"smallest":  {store.Filter{ByAmount: true, Locale: "ro"}, []int{7, 1, 15, 9, 3, 11, 5, 13}},
		"reference": {store.Filter{Reference: "ID-00001"}, []int{10, 11, 12, 13, 14, 15}},
		"ids":       {store.Filter{IDs: []string{"id-000007", "none"}}, []int{7}},
		"between":   {store.Filter{Since: When().Add(5 * time.Second), Until: When().Add(7 * time.Second)}, []int{5, 6}},
		"owner":     {store.Filter{Owner: &ana}, []int{4, 9, 14}},
		"no source": {store.Filter{Sources: []string{""}}, []int{0, 3, 6, 9, 12, 15}},
		"project":   {store.Filter{ProjectType: "web_app"}, []int{1, 4, 7, 10, 13}},
		"consent":   {store.Filter{Consent: "marketing"}, []int{0, 4, 12}},
		"under way": {store.Filter{State: lead.StateUnderWay, Locale: "en"}, []int{2, 4, 6, 8, 12, 14}},
		"searched":  {searched, []int{1, 13}},
		"due":       {store.Filter{Due: true}, []int{1, 4, 8, 11, 15}},
		"won":       {store.Filter{Results: []lead.Result{lead.ResultWon}}, []int{1, 6, 11}},
		"in time":   {store.Filter{AnsweredInTime: true}, []int{0, 1, 2, 3}},
		"released": {store.Filter{Results: []lead.Result{lead.ResultOpen, lead.ResultWon, lead.ResultLost}},
			[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15}},
		"open": {store.Filter{Results: []lead.Result{lead.ResultOpen}}, []int{3, 4, 5, 8, 9, 13, 14, 15}},
	} {
		if got := pageByPage(t, db, tt.filter); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		counts, err := db.CountWork(t.Context(), tt.filter)
		if total := Total(counts); err != nil || total != len(tt.want) {
			t.Errorf("%s: counted %d, %v, want %d", name, total, err, len(tt.want))
		}
		due := slices.DeleteFunc(counts, func(c store.WorkCount) bool { return !c.Due })
		if total := Total(due); tt.filter.Due && total != len(tt.want) || name == "all" && total != 5 {
			t.Errorf("%s: %d leads are due", name, total)
		}
	}
}

// The first answer of a person is stored once, whatever it was, and reports count the
// released leads of a period.
func answers(t *testing.T, s Subject) {
	db := s.MustOpen(t, &Jobs{})
	at := func(hours int) time.Time { return When().Add(time.Duration(hours) * time.Hour) }
	amount := 80.5
	status := func(status lead.Status) func(string, time.Time) error {
		return func(id string, at time.Time) error {
			_, err := db.SetStatus(t.Context(), id, status, at)
			return err
		}
	}
	note := func(id string, at time.Time) error {
		return db.AddNote(t.Context(), id, lead.Note{At: at, Text: "called"})
	}
	mail := func(id string, at time.Time) error {
		recorded := entry(0, id)
		recorded.Action, recorded.At = "ANSWERED", at
		_, err := db.SetAnswered(t.Context(), id, at, recorded)
		return err
	}
	for i, tt := range []struct {
		act  []func(id string, at time.Time) error // one an hour, beginning with the first
		want int                                   // hour of the first answer; 0: none
	}{
		{nil, 0},
		{[]func(string, time.Time) error{note, mail, status(lead.StatusClosed)}, 1},
		{[]func(string, time.Time) error{mail, note}, 1},
		{[]func(string, time.Time) error{status(lead.StatusNew), status(lead.StatusContacted), mail}, 2},
		{[]func(string, time.Time) error{status(lead.StatusNew)}, 0},
		{[]func(string, time.Time) error{status(lead.StatusClosed), status(lead.StatusNew)}, 0}, // by mistake
		{[]func(string, time.Time) error{note, status(lead.StatusClosed), status(lead.StatusNew), note}, 1},
		{[]func(string, time.Time) error{status(lead.StatusClosed), mail, status(lead.StatusNew)}, 2},
		{[]func(string, time.Time) error{mail, status(lead.StatusClosed), mail, status(lead.StatusNew)}, 1},
	} {
		n := Lead(i)
		n.Lead.InReview = i == 4
		submit(t, db, n)
		for hour, act := range tt.act {
			ok(t, act(n.Lead.ID, at(hour+1)))
		}
		want := time.Time{}
		if tt.want > 0 {
			want = at(tt.want)
		}
		if l, err := db.Lead(t.Context(), n.Lead.ID); err != nil || !l.AnsweredAt.Equal(want) {
			t.Errorf("lead %d was answered at %v, %v, want %v", i, l.AnsweredAt, err, want)
		}
	}
	won := lead.Outcome{Value: lead.Won, Amount: &amount, Currency: "EUR", At: at(9)}
	ok(t, db.SetOutcome(t.Context(), Lead(1).Lead.ID, won))
	lost := lead.Outcome{Value: lead.Lost, LossReason: lead.LostByPrice, LossNote: "Șapte mii.\nPrea mult.", At: at(9)}
	ok(t, db.SetOutcome(t.Context(), Lead(2).Lead.ID, lost))
	if l, err := db.Lead(t.Context(), Lead(2).Lead.ID); err != nil || !reflect.DeepEqual(l.Outcome, lost) {
		t.Errorf("the loss is stored as %+v, %v", l.Outcome, err)
	}
	if _, err := db.SetAnswered(t.Context(), "none", at(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the answer to an unknown lead: %v", err)
	}

	var got []store.ReportedLead
	ok(t, db.Report(t.Context(), Lead(1).Lead.SubmittedAt, Lead(4).Lead.SubmittedAt.Add(time.Second),
		func(l store.ReportedLead) { got = append(got, l) }))
	slices.SortFunc(got, func(a, b store.ReportedLead) int { return a.SubmittedAt.Compare(b.SubmittedAt) })
	source, campaign := Lead(1).Lead.Attribution.Source, Lead(1).Lead.Attribution.Campaign
	reported := func(i, answered int, result lead.Result) store.ReportedLead {
		return store.ReportedLead{
			SubmittedAt: Lead(i).Lead.SubmittedAt, AnsweredAt: at(answered), AnsweredInTime: true,
			Source: source, Campaign: campaign, Result: result,
		}
	}
	want := []store.ReportedLead{reported(1, 1, lead.ResultWon), reported(2, 1, lead.ResultLost), reported(3, 2, lead.ResultOpen)}
	want[0].WonAmount, want[0].WonCurrency = amount, "EUR"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the report has %+v, want %+v", got, want)
	}
}

// pageByPage reads a listing in pages of seven leads, each after the last lead of the
// previous page, and returns the numbers of the leads.
func pageByPage(t *testing.T, db Store, f store.Filter) (got []int) {
	t.Helper()
	f.Limit = 7
	for {
		page := all(t, db.Leads(t.Context(), f))
		for _, l := range page[:min(f.Limit, len(page))] {
			got = append(got, numberOf(l))
			f.After = &store.Position{Amount: l.Estimate.Min, SubmittedAt: l.SubmittedAt, ID: l.ID}
		}
		if len(page) <= f.Limit {
			return got
		}
	}
}

// numberOf returns the number n of a lead made by [Lead].
func numberOf(l lead.Lead) int { return int(l.SubmittedAt.Sub(When()) / time.Second) }
