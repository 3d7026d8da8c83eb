package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// lead is one visitor's submission and what became of it.
type lead struct {
	session, email string
	body           []byte
	id             string // the submissionId that was acknowledged
}

// newLead makes the n-th lead, unlike any other.
func newLead(n int) (*lead, error) {
	l := &lead{session: fmt.Sprintf("chaos-%05d", n), email: fmt.Sprintf("visitor-%05d@example.com", n)}
	var err error
	l.body, err = json.Marshal(map[string]any{
		"sessionId":  l.session,
		"locale":     []string{"en", "es", "ro"}[n%3],
		"contact":    map[string]any{"firstName": "Visitor", "lastName": fmt.Sprintf("Ștefan-%05d", n), "email": l.email, "phone": "+40 21 555 0100"},
		"selections": map[string]any{"projectType": "web-app", "features": []string{"blog", "payments"}, "timeline": "1-3-months"},
		"estimate":   map[string]any{"min": 1000 + n, "max": 2000 + n, "currency": "EUR"},
	})
	return l, err
}

// visitors submit leads, each again with the same content until it is acknowledged.
type visitors struct {
	base       string
	client     *http.Client
	requests   atomic.Int64
	unanswered atomic.Int64 // no answer at all, or one of 5xx
	again      time.Duration
}

func newVisitors(base string) *visitors {
	return &visitors{
		base: base, again: 40 * time.Millisecond,
		// A visitor whose connection died gets a new one.
		client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

// submit sends leads as they are released, several at a time, until all are acknowledged.
func (v *visitors) submit(ctx context.Context, released <-chan *lead, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for l := range released {
				id, err := v.insist(ctx, l)
				if err != nil {
					cancel(err)
					return
				}
				l.id = id
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// insist repeats a submission until it is acknowledged, and returns its id.
func (v *visitors) insist(ctx context.Context, l *lead) (string, error) {
	for {
		id, err := v.once(ctx, l)
		if err == nil || !errors.Is(err, errUnanswered) {
			return id, err
		}
		v.unanswered.Add(1)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(v.again):
		}
	}
}

// errUnanswered means that the visitor does not know what became of a submission.
var errUnanswered = errors.New("no answer")

func (v *visitors) once(ctx context.Context, l *lead) (string, error) {
	id, status, err := v.attempt(ctx, l)
	if err == nil && status != http.StatusOK {
		return "", errUnanswered
	}
	return id, err
}

// attempt sends a submission once. Status is 0 where there was no answer, and id empty
// unless it was acknowledged. An answer that no right submission may get is an error.
func (v *visitors) attempt(ctx context.Context, l *lead) (id string, status int, err error) {
	v.requests.Add(1)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.base+"/api/quote/submit", bytes.NewReader(l.body))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := v.client.Do(req)
	if err != nil {
		return "", 0, nil // no answer is an outcome here
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", 0, nil // nor is half of one
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return "", resp.StatusCode, nil
	}
	var answer struct{ SubmissionID string }
	if err := json.Unmarshal(data, &answer); err != nil || resp.StatusCode != http.StatusOK || answer.SubmissionID == "" {
		return "", resp.StatusCode, fmt.Errorf("a submission was answered with %s: %s", resp.Status, data)
	}
	return answer.SubmissionID, http.StatusOK, nil
}
