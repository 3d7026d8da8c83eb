package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"siteapi/schema"
)

// ReadBody returns the whole body of a request. It rejects a body that has none of the
// media types, has a content coding, is not in UTF-8, is too large or is incomplete. An
// empty media type stands for a body without a Content-Type.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, types ...string) ([]byte, *schema.Error) {
	coding, given := r.Header.Get("Content-Encoding"), r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(given)
	if err != nil {
		media = given
	}
	charset := strings.ToLower(params["charset"])
	switch {
	case coding != "" && !strings.EqualFold(coding, "identity"):
		w.Header().Set("Accept-Encoding", "identity")
		return nil, unsupported("The body must be sent without a Content-Encoding.")
	case !slices.Contains(types, media):
		accepted := slices.DeleteFunc(slices.Clone(types), func(name string) bool { return name == "" })
		w.Header().Set("Accept", strings.Join(accepted, ", "))
		return nil, unsupported(
			"The body must be sent with the Content-Type " + strings.Join(accepted, " or ") + ".")
	case !slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, charset):
		return nil, unsupported("The body must be in UTF-8.")
	case r.ContentLength > limit:
		return nil, tooLarge(w, limit)
	}

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(w, limit)
	}
	if err != nil {
		return nil, schema.BadRequest("The body ended early.")
	}
	return body, nil
}

func unsupported(message string) *schema.Error {
	return schema.NewError(schema.CodeUnsupportedMediaType, message)
}

// WriteBody sends a response whose header is complete except for its length. It sends 304
// if the client's copy is current, and no body in response to HEAD.
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

// WriteJSON sends a value as a response that no cache stores.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // fails only if the client has disconnected
}

// Accepts reports whether a response may be sent in a coding, gzip or br. The server has
// reduced Accept-Encoding to those of the two that the client accepts.
func Accepts(r *http.Request, coding string) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), coding)
}

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

func tooLarge(w http.ResponseWriter, limit int64) *schema.Error {
	w.Header().Set("Connection", "close") // The rest of the body is not read.
	return schema.NewError(schema.CodePayloadTooLarge,
		fmt.Sprintf("The body may have at most %d bytes.", limit))
}
