package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
)

// static is an answer that is known at start.
type static struct {
	body        []byte
	contentType string
	etag        string
}

// newStatic returns an answer whose entity tag is made from its bytes.
func newStatic(contentType string, body []byte) static {
	sum := sha256.Sum256(body)
	return static{body: body, contentType: contentType, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// ServeHTTP answers GET and HEAD.
func (s *static) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", s.etag)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if matches(r.Header, s.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", s.contentType)
	h.Set("Content-Length", strconv.Itoa(len(s.body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(s.body) // a client that is gone can't be told
	}
}
