package gqlhttp

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// page is a successful, cacheable answer with its headers, ready to be sent any number
// of times.
type page struct {
	body         []byte
	contentType  []string
	length       []string
	etag         []string
	cacheControl []string
}

// newPage returns a page of these bytes, which it keeps.
func newPage(m media, body []byte, cacheControl string) page {
	return page{
		body: body, contentType: contentTypes[m], length: []string{strconv.Itoa(len(body))},
		etag: []string{etagOf(m, body)}, cacheControl: []string{cacheControl},
	}
}

// Header values that never change. Handing out the same slices saves allocations;
// nobody appends to them in place, since they have no room.
var (
	contentTypes = [...][]string{
		mediaJSON:    {"application/json; charset=utf-8"},
		mediaGraphQL: {"application/graphql-response+json; charset=utf-8"},
	}
	varyAccept = []string{"Accept"}
	noStore    = []string{"no-store"}
)

// etagOf returns a strong entity tag: the same bytes as another media type are another
// representation.
func etagOf(m media, body []byte) string {
	hash := sha256.New()
	hash.Write([]byte{byte(m)})
	hash.Write(body)
	var sum [sha256.Size]byte
	return `"` + base64.RawURLEncoding.EncodeToString(hash.Sum(sum[:0])[:15]) + `"`
}

// countedBody is the size in bytes up to which the server counts an answer itself, with
// less work than a header takes: an answer that fits into its buffer.
const countedBody = 2048

// write sends a page, or 304 to a reader that has it.
func (p *page) write(w http.ResponseWriter, r *http.Request) (status int) {
	header := w.Header()
	header["Etag"] = p.etag
	header["Cache-Control"] = p.cacheControl
	if r.Method != http.MethodPost {
		addVary(header)
		if matches(r.Header["If-None-Match"], p.etag[0]) {
			w.WriteHeader(http.StatusNotModified)
			return http.StatusNotModified
		}
	}
	header["Content-Type"] = p.contentType
	if len(p.body) > countedBody || r.Method == http.MethodHead {
		header["Content-Length"] = p.length
	}
	_, _ = w.Write(p.body) // the reader is gone: nothing left to do
	return http.StatusOK
}

// writeUncached sends an answer that must not be kept by anybody.
func writeUncached(w http.ResponseWriter, m media, status int, body []byte) {
	header := w.Header()
	header["Content-Type"] = contentTypes[m]
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	header["Cache-Control"] = noStore
	addVary(header)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the reader is gone: nothing left to do
}

// addVary says that the answer depends on Accept, beside what others have said. It is
// for caches, which don't keep the answer to a POST for anybody else.
func addVary(header http.Header) {
	if others, ok := header["Vary"]; ok {
		header["Vary"] = append(slices.Clip(others), varyAccept...)
		return
	}
	header["Vary"] = varyAccept
}

// matches compares an entity tag with If-None-Match.
func matches(header []string, etag string) bool {
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			part = strings.TrimSpace(part)
			if part == "*" || strings.TrimPrefix(part, "W/") == etag {
				return true
			}
		}
	}
	return false
}
