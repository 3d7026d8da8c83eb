package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"siteapi/integrations/delivery"
)

// checkers is how many ask at a time what became of submissions.
const checkers = 8

// audit asks the running service for acknowledged submissions, each twice: the same
// content again must have the same id, and that id must have a PDF. It returns how many
// did not, and a reason of one of them.
func audit(ctx context.Context, v *visitors, leads []*lead) (lost int, why string, err error) {
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		work  = make(chan *lead)
	)
	for range checkers {
		group.Go(func() {
			for l := range work {
				wrong, checkErr := check(ctx, v, l)
				mu.Lock()
				if checkErr != nil && err == nil {
					err = checkErr
				}
				if wrong != "" {
					lost, why = lost+1, wrong
				}
				mu.Unlock()
			}
		})
	}
	for _, l := range leads {
		if ctx.Err() != nil {
			break
		}
		work <- l
	}
	close(work)
	group.Wait()
	return lost, why, err
}

func check(ctx context.Context, v *visitors, l *lead) (wrong string, err error) {
	again, err := v.insist(ctx, l)
	switch {
	case err != nil:
		return "", err
	case again != l.id:
		return fmt.Sprintf("session %s was acknowledged as %s and is now %s", l.session, l.id, again), nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+"/api/quote/pdf?id="+l.id, nil)
	if err != nil {
		return "", err
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("fetching a PDF: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "", fmt.Errorf("fetching a PDF: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Sprintf("the PDF of %s is answered with %s", l.id, resp.Status), nil
	}
	return "", nil
}

// ledger is what the service itself says is stored: how often each submission has a
// delivery to each target.
type ledger map[string]map[delivery.Target]int

// readLedger asks the binary beside the running service.
func (s *service) readLedger(ctx context.Context) (ledger, error) {
	data, _, err := s.command(ctx, "deliveries", "list", "--state", "all", "--json")
	if err != nil {
		return nil, err
	}
	var list []struct {
		Submission string
		Target     delivery.Target
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("reading the list of deliveries: %w", err)
	}
	l := ledger{}
	for _, d := range list {
		if l[d.Submission] == nil {
			l[d.Submission] = map[delivery.Target]int{}
		}
		l[d.Submission][d.Target]++
	}
	return l, nil
}

// missing returns how many of the leads are not in the ledger exactly once for each
// target.
func (l ledger) missing(leads []*lead) (n int) {
	for _, lead := range leads {
		for _, target := range delivery.Targets() {
			if l[lead.id][target] != 1 {
				n++
				break
			}
		}
	}
	return n
}

// doubled returns how many submissions are in the ledger more than once for a target.
func (l ledger) doubled() (n int) {
	for _, targets := range l {
		for _, times := range targets {
			if times > 1 {
				n++
				break
			}
		}
	}
	return n
}

// delivered waits until nothing is on its way any more.
func (s *service) delivered(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var left []underWay
	for {
		list, err := s.waiting(ctx)
		switch {
		case err == nil && len(list) == 0:
			return nil
		case err == nil:
			left = list
		case ctx.Err() == nil:
			return err
		}
		select {
		case <-ctx.Done():
			if len(left) == 0 {
				return fmt.Errorf("waiting for the deliveries: %w", ctx.Err())
			}
			return fmt.Errorf("%d deliveries did not arrive within %v, one of them %+v", len(left), patience, left[0])
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// underWay is a delivery that did not arrive yet.
type underWay struct {
	ID                  int64
	State, Target, Held string
	NextAt              time.Time
}

// waiting asks the binary for deliveries that did not arrive yet.
func (s *service) waiting(ctx context.Context) ([]underWay, error) {
	data, _, err := s.command(ctx, "deliveries", "list", "--json")
	if err != nil {
		return nil, err
	}
	var list []underWay
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("reading the list of deliveries: %w", err)
	}
	return list, nil
}

// arrived compares what CMS and CRM hold with what was acknowledged, and returns what
// is missing, doubled or changed there.
func (f *farEnds) arrived(acked []*lead) (lost int, err error) {
	t, err := f.compare(acked)
	if err != nil {
		return 0, err
	}
	// More than was acknowledged is a second lead of somebody.
	return t.duplicates + t.wrong + max(t.documents-len(acked), 0) + max(t.contacts-len(acked), 0), nil
}
