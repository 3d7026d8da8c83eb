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
	// URL is the address. Empty: nobody is told.
	URL string
	// Token is sent as "Authorization: Bearer". Empty: it is not.
	Token string
	// Secret signs the body in the header sanity-webhook-signature. Empty: no signature.
	Secret string
	// Tries is how often it is sent until the answer is neither 429 nor 5xx. 0: once.
	Tries int
	// Wait is the time between two tries.
	Wait time.Duration
}

// unsettled is what queries see of a document until its publication is in the index.
type unsettled struct {
	raw   json.RawMessage // nil: nothing
	until time.Time
}

// Publish stores a document as an editor's click would and reports it to a webhook with
// the document as its body. It returns the status of the webhook's last answer, 0 where
// there is none.
func (s *Server) Publish(ctx context.Context, doc json.RawMessage, hook Webhook) (int, error) {
	d, problem := readDocument(doc)
	if problem != "" {
		return 0, fmt.Errorf("publishing: %s", problem)
	}
	s.mu.Lock()
	before, existed := s.docs[d.id]
	s.docs[d.id] = compact(doc)
	s.lag(d.id, before)
	s.serial++
	serial := s.serial
	s.mu.Unlock()
	operation := "create"
	if existed {
		operation = "update"
	}
	return s.notify(ctx, hook, d.id, operation, serial, compact(doc))
}

// Unpublish removes a document and reports that with what it was.
func (s *Server) Unpublish(ctx context.Context, id string, hook Webhook) (int, error) {
	s.mu.Lock()
	before, existed := s.docs[id]
	delete(s.docs, id)
	s.lag(id, before)
	s.serial++
	serial := s.serial
	s.mu.Unlock()
	if !existed {
		return 0, fmt.Errorf("unpublishing: there is no document %q", id)
	}
	return s.notify(ctx, hook, id, "delete", serial, before)
}

// lag lets queries see for a while what was there before.
func (s *Server) lag(id string, before json.RawMessage) {
	if s.opts.IndexLag > 0 {
		s.unsettled[id] = unsettled{raw: before, until: s.opts.Now().Add(s.opts.IndexLag)}
	}
}

// indexed returns the documents as queries see them now.
func (s *Server) indexed() map[string]json.RawMessage {
	if len(s.unsettled) == 0 {
		return s.docs
	}
	docs, now := maps.Clone(s.docs), s.opts.Now()
	for id, u := range s.unsettled {
		switch {
		case !now.Before(u.until):
			delete(s.unsettled, id)
		case u.raw == nil:
			delete(docs, id)
		default:
			docs[id] = u.raw
		}
	}
	return docs
}

// notify sends a webhook until it is taken or the tries are used up. All tries carry the
// same idempotency key.
func (s *Server) notify(ctx context.Context, hook Webhook, id, operation string, serial int, body []byte) (int, error) {
	if hook.URL == "" {
		return 0, nil
	}
	status := 0
	for try := range max(hook.Tries, 1) {
		if try > 0 && !pause(ctx, hook.Wait) {
			return status, ctx.Err()
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, bytes.NewReader(body))
		if err != nil {
			return 0, fmt.Errorf("sending the webhook: %w", err)
		}
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
		req.Header.Set("idempotency-key", "stand-in-"+strconv.Itoa(serial))
		req.Header.Set("sanity-transaction-id", "stand-in-"+strconv.Itoa(serial))
		req.Header.Set("sanity-transaction-time", s.opts.Now().UTC().Format(time.RFC3339))
		req.Header.Set("sanity-project-id", s.opts.Project)
		req.Header.Set("sanity-dataset", s.opts.Dataset)
		req.Header.Set("sanity-document-id", id)
		req.Header.Set("sanity-operation", operation)
		if hook.Token != "" {
			req.Header.Set("Authorization", "Bearer "+hook.Token)
		}
		if hook.Secret != "" {
			req.Header.Set("sanity-webhook-signature", Signature(hook.Secret, s.opts.Now(), body))
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			status = 0
			continue
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
		_ = resp.Body.Close()
		if status = resp.StatusCode; status != http.StatusTooManyRequests && status < 500 {
			return status, nil
		}
	}
	return status, nil
}

// Signature is the value of the header sanity-webhook-signature for a body sent at a time.
func Signature(secret string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, stamp+".")
	_, _ = mac.Write(body)
	return "t=" + stamp + ",v1=" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// pause waits and reports whether the context is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
