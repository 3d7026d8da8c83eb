package sanitytest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// Webhook is where publications are reported, as configured in the management console.
type Webhook struct {
	URL    string        // nothing is sent if it is empty
	Token  string        // sent as "Authorization: Bearer" unless it is empty
	Secret string        // signs the body unless it is empty
	Tries  int           // most tries until the answer is neither 429 nor 5xx; 0 means one
	Wait   time.Duration // the time between two tries
}

// lagging is the earlier state of a document, which queries see until its
// publication is in the index.
type lagging struct {
	before json.RawMessage // nil if there was no document
	until  time.Time
	event  int // a query that names this event, or a later one, sees the publication
}

// Publish stores a document as an editor's click would and reports it to a webhook with
// the document as its body. It returns the status of the webhook's last answer, or 0.
func (s *Server) Publish(ctx context.Context, doc json.RawMessage, hook Webhook) (int, error) {
	d, err := readDocument(doc)
	if err != nil {
		return 0, fmt.Errorf("publishing: %w", err)
	}

	s.mu.Lock()
	_, existed := s.docs[d.id]
	next := maps.Clone(s.docs)
	next[d.id] = d.raw
	s.commit(next, s.opts.IndexLag)
	s.mu.Unlock()

	operation := "create"
	if existed {
		operation = "update"
	}

	return s.notify(ctx, hook, d.id, operation, d.raw)
}

// Unpublish removes a document and reports its last state to a webhook.
func (s *Server) Unpublish(ctx context.Context, id string, hook Webhook) (int, error) {
	s.mu.Lock()
	before, existed := s.docs[id]
	next := maps.Clone(s.docs)
	delete(next, id)
	s.commit(next, s.opts.IndexLag)
	s.mu.Unlock()

	if !existed {
		return 0, fmt.Errorf("unpublishing: there is no document %q", id)
	}
	return s.notify(ctx, hook, id, "delete", before)
}

// notify sends a webhook until it is accepted or the tries are used up. All tries carry
// the same idempotency key.
func (s *Server) notify(
	ctx context.Context, hook Webhook, id, operation string, body json.RawMessage,
) (int, error) {
	var status int

	s.mu.Lock()
	s.serial++
	key := "stub-" + strconv.Itoa(s.serial)
	s.mu.Unlock()

	if hook.URL == "" {
		return 0, nil
	}

	for try := range max(hook.Tries, 1) {
		if try > 0 {
			select {
			case <-ctx.Done():
				return status, ctx.Err()
			case <-time.After(hook.Wait):
			}
		}

		req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, bytes.NewReader(body))
		if err != nil {
			return 0, fmt.Errorf("sending the webhook: %w", err)
		}

		for name, value := range map[string]string{
			"Content-Type":          "application/json; charset=utf-8",
			"idempotency-key":       key,
			"sanity-transaction-id": key,
			"sanity-project-id":     Project,
			"sanity-dataset":        Dataset,
			"sanity-document-id":    id,
			"sanity-operation":      operation,
		} {
			req.Header.Set(name, value)
		}

		if hook.Token != "" {
			req.Header.Set("Authorization", "Bearer "+hook.Token)
		}
		if hook.Secret != "" {
			req.Header.Set("sanity-webhook-signature", Signature(hook.Secret, time.Now(), body))
		}

		status = 0
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			status = resp.StatusCode
		}

		if status != 0 && status != http.StatusTooManyRequests && status < 500 {
			break
		}
	}
	return status, nil
}

// Signature returns the header sanity-webhook-signature of a body that is sent at a time.
func Signature(secret string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, stamp+".")
	_, _ = mac.Write(body)
	return "t=" + stamp + ",v1=" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
