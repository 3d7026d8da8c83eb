package httpserver

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"siteapi/cmd/siteapi/internal/inbox"
)

// compress compresses responses of at least 1 KB with gzip for clients that accept it,
// unless the handler sends bytes that it has already compressed. Handlers see
// Accept-Encoding as "gzip", or not at all if the response must not be compressed.
func compress(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.ContentTypeFilter(compressible))
	if err != nil { // the options are constants
		panic(err)
	}

	packed := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mayCompress(r) {
			r.Header.Set("Accept-Encoding", "gzip")
			packed(w, r)
			return
		}

		r.Header.Del("Accept-Encoding")
		w.Header().Add("Vary", "Accept-Encoding")
		next.ServeHTTP(w, r)
	})
}

// compressible reports whether a content type is worth compressing.
func compressible(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || kind == "image/svg+xml"
}

// mayCompress reports whether a response may be compressed. Responses to requests with a
// token or from the inbox may not: their length would reveal secrets to an attacker who
// controls a part of them. Event streams may not, as compression would delay events.
func mayCompress(r *http.Request) bool {
	if r.Header["Authorization"] != nil || r.URL.Path == inbox.GraphQLPath ||
		strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return false
	}

	for coding := range strings.SplitSeq(strings.Join(r.Header["Accept-Encoding"], ","), ",") {
		name, params, _ := strings.Cut(strings.ToLower(coding), ";")
		if strings.TrimSpace(name) != "gzip" {
			continue
		}
		_, quality, given := strings.Cut(params, "q=")
		q, err := strconv.ParseFloat(strings.TrimSpace(quality), 64)
		return !given || err == nil && q > 0
	}
	return false
}
