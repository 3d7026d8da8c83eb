package inbox

import (
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"siteapi/schema"
)

//go:embed refused.html
var refusedPage string

// refuse shows a person why a login failed, with a way to try again.
func (s *SignIn) refuse(w http.ResponseWriter, r *http.Request, err error) {
	outcome := "refused"
	if isUnavailable(err) {
		outcome = "unavailable"
	}
	s.Report(r.Context(), outcome, err)

	coded, ok := errors.AsType[*schema.Error](err)
	if !ok {
		coded = &schema.Error{Code: schema.CodeInternal, Message: "Something went wrong on our side.", Err: err}
	}

	nonce := rand.Text()
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'nonce-"+nonce+"'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	if coded.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(coded.RetryAfter.Seconds())))
	}

	w.WriteHeader(coded.Code.Status())
	_, _ = strings.NewReplacer(
		"{{nonce}}", nonce,
		"{{message}}", html.EscapeString(coded.Message),
		"{{reference}}", html.EscapeString(schema.CallerFrom(r.Context()).RequestID),
		"{{login}}", LoginPath,
		"{{inbox}}", Path,
	).WriteString(w, refusedPage)
}

// needsPerson reports whether a provider has to ask the person something, after it was told
// to ask nothing. The codes are those of OpenID Connect.
func needsPerson(code string) bool {
	return slices.Contains([]string{
		"login_required",
		"interaction_required",
		"consent_required",
		"account_selection_required",
	}, code)
}

// providerError returns the error of a login that the provider ended with a code of OAuth 2.
func providerError(code string) error {
	err := fmt.Errorf("the provider says %.100q", code)
	switch code {
	case "server_error", "temporarily_unavailable":
		return unavailable(err)
	case "access_denied":
		return &schema.Error{
			Code:    schema.CodeForbidden,
			Message: "The login was cancelled, or the provider of your account does not let you in here.",
			Err:     err,
		}
	}
	return refused(err)
}
