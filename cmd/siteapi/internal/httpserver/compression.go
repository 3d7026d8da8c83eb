package httpserver

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"siteapi/cmd/siteapi/internal/inbox"
)

// compress sends answers of 1 KB and more with gzip to clients that accept it, unless their
// handler has done so with bytes that it keeps. It alone decides: handlers see
// Accept-Encoding as "gzip" or not at all.
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

// compressible reports whether bodies of a type are not compressed already.
func compressible(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || kind == "image/svg+xml"
}

// mayCompress reports whether the answer to a request may be compressed. That to a token or
// to the inbox never is: its length would tell what is in it to an attacker
// who can choose a part of it. A stream of events must not wait for a kilobyte.
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
