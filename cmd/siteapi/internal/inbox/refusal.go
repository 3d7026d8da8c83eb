package inbox

import (
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/oauth2"

	"siteapi/integrations/upstream"
	"siteapi/schema"
	"siteapi/schema/request"
)

//go:embed refused.html
var refusedPage string

// refusedWords are the texts of the page by locale. The reasons are "refused", "no_role"
// and "unavailable".
//
//go:embed refused.json
var refusedWords []byte

// errNoRole is the error of an account without a group in OIDC_ROLES.
var errNoRole = schema.NewError(schema.CodeForbidden, "No group of the account has a role.")

// errScope is the error of a provider that refuses a scope.
var errScope = refused(errors.New("the provider returned the error invalid_scope: see OIDC_SCOPES"))

// refuse serves a page with the reason why signing in failed and a link to try again.
func (s *SignIn) refuse(w http.ResponseWriter, r *http.Request, err error) {
	coded, _ := errors.AsType[*schema.Error](err) // All errors of signing in are of this type.
	header, reason := w.Header(), "refused"
	switch {
	case isUnavailable(err):
		reason = "unavailable"
		header.Set("Retry-After", strconv.Itoa(coded.RetrySeconds()))
	case errors.Is(err, errNoRole):
		reason = "no_role"
	}
	s.Report(r.Context(), reason, err)

	words := map[schema.Locale]map[string]string{}
	if err := json.Unmarshal(refusedWords, &words); err != nil {
		panic(err) // the file is part of the program
	}
	locale, nonce := schema.AcceptedLocale(r.Header), rand.Text()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'nonce-"+nonce+"'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")

	w.WriteHeader(coded.Code.Status())
	_ = template.Must(template.New("refused").Parse(refusedPage)).Execute(w, map[string]any{
		"Words":     words[locale],
		"Message":   strings.ReplaceAll(words[locale][reason], "{{claim}}", s.OIDCGroupsClaim),
		"Locale":    locale,
		"Nonce":     nonce,
		"RequestID": request.CallerFrom(r.Context()).RequestID,
		"Login":     LoginPath,
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
