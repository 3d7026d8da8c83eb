package schema

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// ReadBody returns the whole body of a request. Its error says why a body is refused: it
// is too large or incomplete.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *Error) {
	if r.ContentLength > limit {
		return nil, tooLarge(w, limit)
	}

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return body, nil
	}

	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(w, limit)
	}

	return nil, &Error{Code: CodeBadUserInput, Message: "The body ended early."}
}

// WriteBody sends an answer whose header is complete but for its length. If the client's copy
// is current it sends 304, and to HEAD no body.
func WriteBody(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	header := w.Header()
	etag := header.Get("ETag")
	if etag != "" && r.Method != http.MethodPost && matchesETag(r.Header, etag) {
		header.Del("Content-Type")
		header.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}

	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only if the client has disconnected
	}
}

// AcceptsGzip reports whether an answer may be sent compressed. The server has reduced
// Accept-Encoding to this one coding, or to none.
func AcceptsGzip(r *http.Request) bool { return r.Header.Get("Accept-Encoding") == "gzip" }

// matchesETag reports whether If-None-Match names an entity tag, by weak comparison (RFC
// 9110, section 13.1.2).
func matchesETag(h http.Header, etag string) bool {
	for given := range strings.SplitSeq(strings.Join(h["If-None-Match"], ","), ",") {
		given = strings.TrimSpace(given)
		if given == "*" || strings.TrimPrefix(given, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

func tooLarge(w http.ResponseWriter, limit int64) *Error {
	w.Header().Set("Connection", "close") // The rest of the body is not read.
	return &Error{
		Code:    CodePayloadTooLarge,
		Message: fmt.Sprintf("The body may have at most %d bytes.", limit),
	}
}
