package httpserver

import (
	"net/http"
	"regexp"

	"siteapi/integrations/edge"
	"siteapi/schema"
	"siteapi/schema/request"
)

const (
	headerPreview  = "X-Preview"
	headerRevision = "X-Content-Revision"
)

// perspectives matches the perspectives of previews: drafts, below any releases. The
// leftmost takes precedence.
var perspectives = regexp.MustCompile(`^(r[A-Za-z0-9_-]{1,63},){0,10}drafts$`)

// preview allows requests with a preview token to read unpublished content, and refuses
// the header without one. Responses to previews are never cached.
func (s *Server) preview(r *http.Request, rec *record) (*http.Request, *schema.Error) {
	rec.preview = true
	asked, caller := r.Header[headerPreview], request.CallerFrom(r.Context())
	if caller.HoldsToken(s.Settings.PreviewTokens) < 0 {
		return r, schema.NewError(schema.CodeUnauthenticated,
			headerPreview+" needs a token of PREVIEW_TOKENS: Authorization: Bearer <token>.")
	}
	if len(asked) > 1 || !perspectives.MatchString(asked[0]) {
		return r, schema.BadRequest(
			headerPreview + " must be drafts, or releases and drafts, such as rSpring,rSummer,drafts.")
	}

	caller.Preview = asked[0]
	return r.WithContext(request.WithCaller(r.Context(), caller)), nil
}

// keepPrivate replaces the caching headers of a response so that no cache stores it, and
// adds the revision of its content.
func (rec *record) keepPrivate(h http.Header) {
	if revision := rec.Revision.Load(); revision != nil {
		h.Set(headerRevision, *revision)
	}
	for _, name := range append(edge.Headers(), "ETag", "Last-Modified") {
		h.Del(name)
	}
	h.Set("Cache-Control", "private, no-store")
}
