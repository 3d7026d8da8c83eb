package httpserver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"siteapi/cmd/siteapi/internal/inbox"
)

// compress compresses responses of at least 1 KB with gzip for clients that accept it,
// unless the handler sends bytes that it has already compressed. Handlers see
// Accept-Encoding reduced to "gzip", "br" or both, or not at all if the response must not
// be compressed.
func compress(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.ContentTypeFilter(compressible))
	if err != nil { // the options are constants
		panic(err)
	}

	packed := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		codings := acceptedCodings(r)
		r.Header.Set("Accept-Encoding", strings.Join(codings, ", "))
		if slices.Contains(codings, "gzip") {
			packed(w, r)
			return
		}

		w.Header().Add("Vary", "Accept-Encoding")
		next.ServeHTTP(w, r)
	})
}

// compressible reports whether a content type is worth compressing.
func compressible(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || kind == "image/svg+xml"
}

// acceptedCodings returns the codings in which a response may be sent, of gzip and br.
// Responses to requests with a token or from the inbox are not compressed: their length
// would reveal secrets to an attacker who controls a part of them. Event streams are not,
// as compression would delay events.
func acceptedCodings(r *http.Request) (codings []string) {
	if r.Header["Authorization"] != nil || r.URL.Path == inbox.GraphQLPath ||
		r.URL.Path == inbox.WorkbookPath ||
		strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return nil
	}

	for coding := range strings.SplitSeq(strings.Join(r.Header["Accept-Encoding"], ","), ",") {
		name, params, _ := strings.Cut(strings.ToLower(coding), ";")
		name = strings.TrimSpace(name)
		if name != "gzip" && name != "br" {
			continue
		}

		_, quality, given := strings.Cut(params, "q=")
		q, err := strconv.ParseFloat(strings.TrimSpace(quality), 64)
		if !given || err == nil && q > 0 {
			codings = append(codings, name)
		}
	}
	return codings
}
