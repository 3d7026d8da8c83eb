package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
)

// How long a try that is under way is waited for: somewhat longer than one may take.
// What is said to be tried after that is a dead process's, and no danger.
const (
	tryTime  = 45 * time.Second
	tryPause = 200 * time.Millisecond
)

// erasure removes what is known of an address. The order is such that a crash at any
// point leaves what a repetition needs to find the rest: deliveries end first, so that
// nothing is sent after it was erased; the far ends come next, and the database, which
// knows what to look for, last.
type erasure struct {
	email   string
	cms     erasableCMS
	crm     erasableCRM
	pdfs    pdfCache
	data    *database
	shrink  func(ctx context.Context) error // has the database forget what it removed
	tryTime time.Duration
	pause   time.Duration
	say     func(text string) // tells whoever waits
	receipt receipt

	leads []string // ids of the submissions in the database
	known []string // those and the ones that only the CMS knows
}

// erasableCMS and erasableCRM are drivers that can find and remove what they have stored.
type (
	erasableCMS interface {
		cms.Lookup
		cms.Eraser
	}
	erasableCRM interface {
		crm.Lookup
		crm.Eraser
	}
)

// run looks everywhere and, unless this is a rehearsal, erases. What went wrong in a
// place is in the receipt; its error is what kept it from working at all.
func (e *erasure) run(ctx context.Context) error {
	for s, err := range e.data.archive.Submissions(ctx, store.Filter{Email: e.email}) {
		if err != nil {
			return fmt.Errorf("looking for submissions: %w", err)
		}
		e.leads = append(e.leads, s.ID)
	}
	e.receipt.Submissions = append([]string{}, e.leads...)
	sessions, err := e.data.archive.CountHints(ctx, e.email)
	if err != nil {
		return err
	}
	var waiting, documents, contact, kept *holding
	for _, p := range []struct {
		at   **holding
		name string
		unit string
		find func(ctx context.Context) (int, error)
	}{
		{&waiting, "deliveries", "deliveries", e.findDeliveries},
		{&documents, "cms", "documents", e.findDocuments},
		{&contact, "crm", "contacts", e.findContact},
	} {
		*p.at = e.receipt.add(p.name, p.unit)
		(*p.at).found(p.find(ctx))
	}
	kept = e.receipt.add("cache", "PDFs")
	kept.State, kept.Found = holdingUnknown, nil // nobody can look into it
	tables := []*holding{
		e.receipt.add("database", "submissions"), e.receipt.add("database", "sessions"),
	}
	for i, n := range []int{len(e.leads), int(sessions)} {
		tables[i].found(n, nil)
	}
	if !e.receipt.Erasing {
		return nil
	}
	waiting.erased(e.withdraw(ctx))
	if documents.failed() {
		documents.found(e.findDocuments(ctx)) // without that nobody knows what to erase
	}
	if !documents.failed() {
		documents.all(e.cms.Erase(ctx, e.known))
	}
	if contact.failed() {
		contact.found(e.findContact(ctx))
	}
	if !contact.failed() {
		contact.all(e.crm.Erase(ctx, e.email))
	}
	if waiting.failed() || documents.failed() || contact.failed() {
		for _, t := range tables {
			t.skip("kept: a repetition finds the rest by it")
		}
		kept.skip("left for the repetition")
		return nil
	}
	e.eraseTables(ctx, tables)
	// Last: a PDF that is being drawn of what was erased is not stored after this.
	kept.cleared(e.pdfs.clear(ctx, e.known))
	return nil
}

func (e *erasure) findDeliveries(ctx context.Context) (n int, err error) {
	for _, id := range e.leads {
		list, err := e.data.queue.List(ctx, queue.Filter{SubmissionID: id})
		if err != nil {
			return n, err
		}
		n += len(list)
	}
	return n, nil
}

// findDocuments looks by the ids that the database knows, since an editor may have
// changed an address, and by the address, since the database may have forgotten.
func (e *erasure) findDocuments(ctx context.Context) (int, error) {
	e.known = slices.Clone(e.leads)
	found, err := e.cms.Find(ctx, e.email)
	if err != nil {
		return 0, err
	}
	missing, err := e.cms.Missing(ctx, e.leads)
	if err != nil {
		return 0, err
	}
	n := len(e.leads) - len(missing)
	for _, id := range found {
		if !slices.Contains(e.leads, id) {
			e.known = append(e.known, id)
			n++
		} else if slices.Contains(missing, id) {
			n++
		}
	}
	return n, nil
}

func (e *erasure) findContact(ctx context.Context) (int, error) {
	missing, err := e.crm.Missing(ctx, []string{e.email})
	if err != nil {
		return 0, err
	}
	return 1 - len(missing), nil
}

// withdraw ends the deliveries and waits for tries under way.
func (e *erasure) withdraw(ctx context.Context) (removed int, err error) {
	deadline, told := time.Now().Add(e.tryTime), false
	for {
		busy := 0
		for _, id := range e.leads {
			gone, running, err := e.data.queue.Withdraw(ctx, id)
			if err != nil {
				return removed, err
			}
			removed += gone
			busy += running
		}
		if busy == 0 || time.Now().After(deadline) {
			return removed, nil
		}
		if !told {
			told = true
			e.say(fmt.Sprintf("waiting for %d deliveries that are being tried, up to %v", busy, e.tryTime))
		}
		select {
		case <-ctx.Done():
			return removed, ctx.Err()
		case <-time.After(e.pause):
		}
	}
}

// eraseTables removes submissions and contact hints, in that order of places.
func (e *erasure) eraseTables(ctx context.Context, tables []*holding) {
	n := 0
	var failed error
	for _, id := range e.leads {
		switch err := e.data.archive.Erase(ctx, id); {
		case err == nil, errors.Is(err, store.ErrNotFound):
			n++
		default:
			failed = errors.Join(failed, err)
		}
	}
	for s, err := range e.data.archive.Submissions(ctx, store.Filter{Email: e.email}) {
		if err == nil && !slices.Contains(e.leads, s.ID) {
			err = errors.New("a submission arrived meanwhile: repeat the command")
		}
		failed = errors.Join(failed, err)
	}
	tables[0].erased(n, failed)
	sessions, err := e.data.archive.EraseHints(ctx, e.email)
	// What was typed in the session of a submission went with it.
	if err == nil {
		sessions = max(sessions, int64(*tables[1].Found))
	}
	tables[1].erased(int(sessions), err)
	if err := e.shrink(ctx); err != nil {
		tables[0].erased(n, errors.Join(failed, err))
	}
}
