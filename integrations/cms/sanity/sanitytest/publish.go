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

// Publish stores a document, as if an editor published it.
func (s *Server) Publish(doc json.RawMessage) error {
	d, err := readDocument(doc)
	if err != nil {
		return fmt.Errorf("publishing: %w", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.docs)
	next[d.id] = d.raw
	s.commit(next)
	return nil
}

// Unpublish removes a document.
func (s *Server) Unpublish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.docs)
	delete(next, id)
	s.commit(next)
}

// Signature returns the sanity-webhook-signature header of a body sent at the given time.
func Signature(secret string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, stamp+".")
	_, _ = mac.Write(body)
	return "t=" + stamp + ",v1=" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
