package httpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"regexp"

	"siteapi/schema"
)

const headerPreview = "X-Preview"

// perspectives are what a preview may ask for: drafts, or a release over drafts.
var perspectives = regexp.MustCompile(`^(r[A-Za-z0-9_-]{1,63},)?drafts$`)

// withPreview lets the holders of a preview token read what is not published, and refuses
// the header from everybody else. No response to it is kept anywhere.
func (s *Server) withPreview(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, caller := r.Header.Values(headerPreview), schema.CallerFrom(r.Context())
		if len(asked) == 0 {
			next.ServeHTTP(w, r)
			return
		}

		recordOf(r.Context()).preview = true
		switch {
		case !holdsToken(caller.Token(), s.Settings.PreviewTokens):
			WriteError(w, r, &schema.Error{
				Code:    schema.CodeUnauthenticated,
				Message: headerPreview + " needs a token of PREVIEW_TOKENS: Authorization: Bearer <token>.",
			})
		case len(asked) > 1 || !perspectives.MatchString(asked[0]):
			WriteError(w, r, &schema.Error{
				Code:    schema.CodeBadUserInput,
				Message: headerPreview + " must be drafts, or a release and drafts, such as rSpring,drafts.",
			})
		default:
			caller.Preview = asked[0]
			next.ServeHTTP(w, r.WithContext(schema.WithCaller(r.Context(), caller)))
		}
	})
}

// holdsToken compares a token with all that are accepted, in constant time.
func holdsToken(token string, accepted []string) bool {
	sum, match := sha256.Sum256([]byte(token)), 0
	for _, text := range accepted {
		other := sha256.Sum256([]byte(text))
		match |= subtle.ConstantTimeCompare(sum[:], other[:])
	}
	return match == 1 && token != ""
}

// keepPrivate forbids caches to keep a response, whatever its handler said.
func keepPrivate(h http.Header) {
	for _, name := range []string{"ETag", "Last-Modified", "Cache-Tag", "Surrogate-Key", "CDN-Cache-Control"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "private, no-store")
}
