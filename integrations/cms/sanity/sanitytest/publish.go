package sanitytest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strconv"
	"time"
)

// lagging is the earlier state of a document, which queries see until its
// publication is in the index.
type lagging struct {
	before json.RawMessage // nil if there was no document
	until  time.Time
	event  int // a query that names this event, or a later one, sees the publication
}

// Publish stores a document as an editor's click would.
func (s *Server) Publish(doc json.RawMessage) error {
	d, err := readDocument(doc)
	if err != nil {
		return fmt.Errorf("publishing: %w", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.docs)
	next[d.id] = d.raw
	s.commit(next, s.opts.IndexLag)
	return nil
}

// Unpublish removes a document.
func (s *Server) Unpublish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.docs)
	delete(next, id)
	s.commit(next, s.opts.IndexLag)
}

// Signature returns the header sanity-webhook-signature of a body that is sent at a time.
func Signature(secret string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, stamp+".")
	_, _ = mac.Write(body)
	return "t=" + stamp + ",v1=" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
