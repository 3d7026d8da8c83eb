package inbox

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/oauth2"

	"siteapi/integrations/upstream"
	"siteapi/schema"
	"siteapi/schema/request"
)

//go:embed refused.html
var refusedPage string

// refusedWords are the messages of the page by locale. The reasons are "refused", "no_role",
// "scope", "assistant", "limited" and "unavailable".
//
//go:embed refused.json
var refusedWords []byte

// errNoRole is the error of an account without a group in OIDC_ROLES.
var errNoRole = schema.NewError(schema.CodeForbidden, "No group of the account has a role.")

// errScope is the error of a provider that refuses a scope.
var errScope = refused(errors.New("the provider returned the error invalid_scope: see OIDC_SCOPES"))

// SignsIn reports whether a request is for a page of signing in, which a browser opens.
func SignsIn(r *http.Request) bool {
	pages := []string{LoginPath, CallbackPath, AssistantPath}
	return r.Method == http.MethodGet && slices.Contains(pages, r.Pattern)
}

// Refuse serves a page with the reason why a request to sign in is not processed.
func (s *SignIn) Refuse(w http.ResponseWriter, r *http.Request, e *schema.Error) {
	a := attempt{}
	if r.Pattern == AssistantPath {
		a.place = assistantPlace
	}
	s.refuse(w, r, a, e)
}

// refuse serves a page with the reason why an attempt to sign in failed, and a link to try
// again.
func (s *SignIn) refuse(w http.ResponseWriter, r *http.Request, a attempt, err error) {
	coded, _ := errors.AsType[*schema.Error](err) // All errors of signing in are of this type.
	header, reason, why := w.Header(), "refused", ""
	bad, isBad := errors.AsType[badRequestError](err)
	switch {
	case isUnavailable(err):
		reason = "unavailable"
	case coded.Code == schema.CodeRateLimited:
		reason = "limited"
	case errors.Is(err, errNoRole):
		reason = "no_role"
	case errors.Is(err, errScope):
		reason = "scope"
	case isBad:
		reason, why = "assistant", bad.Error()
	}
	s.Report(r.Context(), reason, err)
	if coded.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(coded.RetrySeconds()))
	}

	locale, words := wordsOf(r, refusedWords)
	nonce := pageHeaders(w, "'none'")
	w.WriteHeader(coded.Code.Status())
	_ = template.Must(template.New("refused").Parse(refusedPage)).Execute(w, map[string]any{
		"Words":     words,
		"Message":   strings.ReplaceAll(words[reason], "{{claim}}", s.OIDCGroupsClaim),
		"Why":       why,
		"Assistant": a.place == assistantPlace,
		"Locale":    locale,
		"Nonce":     nonce,
		"RequestID": request.CallerFrom(r.Context()).RequestID,
		"Login":     LoginPath + "?place=" + url.QueryEscape(a.place),
		"Inbox":     Path,
	})
}

// refused returns the error of a login that the provider does not confirm.
func refused(err error) error {
	return &schema.Error{Code: schema.CodeForbidden, Message: "Signing in was refused.", Err: loggable(err)}
}

func unavailable(err error) error {
	return schema.Unavailable("Signing in is not possible at the moment.", loggable(err))
}

func isUnavailable(err error) bool {
	coded, ok := errors.AsType[*schema.Error](err)
	return ok && coded.Code == schema.CodeUpstreamUnavailable
}

// loggable returns an error with a redacted text, as errors of providers may contain
// e-mail addresses.
func loggable(err error) error { return errors.New(upstream.Redact(err.Error())) }

// tokenError distinguishes a denial from an unavailable or rate-limiting provider. It
// drops the rest of the response, which may contain personal data or repeat secrets of
// the request.
func tokenError(err error) error {
	failed, responded := errors.AsType[*oauth2.RetrieveError](err)
	if !responded {
		return unavailable(err)
	}

	status := failed.Response.StatusCode
	err = fmt.Errorf("the provider returned the status %d with the error %.100q", status, failed.ErrorCode)
	if failed.ErrorCode == "invalid_scope" {
		return errScope
	}
	if status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		return unavailable(err)
	}
	return refused(err)
}
