package inbox

import (
	"cmp"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"siteapi/schema"
)

//go:embed refused.html
var refusedPage string

//go:embed refused.json
var refusedWords []byte

// Reasons why a login fails, as refused.json names them.
const (
	reasonCancelled   = "cancelled"
	reasonElsewhere   = "elsewhere" // it was begun in another browser, or too long ago
	reasonNoRole      = "no_role"
	reasonUnconfirmed = "unconfirmed"
	reasonUnavailable = "unavailable"
	reasonInternal    = "internal"
)

// refusal is the cause of a failed login, with its reason. As an error it reads like its
// cause.
type refusal struct {
	error
	reason string
	claim  string // the claim that has no group with a role
}

func (r *refusal) Unwrap() error { return r.error }

// refusalWords are the texts of the page in one language.
type refusalWords struct {
	Title, Heading, Again, Back, Help string
	Reasons                           map[string]string // in English they are the messages of the errors
}

// wordsFor returns the texts in the language that the browser prefers.
func wordsFor(r *http.Request) (locale schema.Locale, words refusalWords) {
	locales := schema.Locales()
	tags := make([]language.Tag, len(locales))
	for i, l := range locales {
		tags[i] = language.Make(string(l))
	}
	_, index := language.MatchStrings(language.NewMatcher(tags), strings.Join(r.Header["Accept-Language"], ","))

	all := map[schema.Locale]refusalWords{}
	if err := json.Unmarshal(refusedWords, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return locales[index], all[locales[index]]
}

// reasonFor returns why a login failed.
func reasonFor(err error) *refusal {
	if known, ok := errors.AsType[*refusal](err); ok {
		return known
	}
	if isUnavailable(err) {
		return &refusal{error: err, reason: reasonUnavailable}
	}
	return &refusal{error: err, reason: reasonInternal}
}

// refuse shows a person why a login failed, with a way to try again.
func (s *SignIn) refuse(w http.ResponseWriter, r *http.Request, err error) {
	outcome := "refused"
	if isUnavailable(err) {
		outcome = "unavailable"
	}
	s.Report(r.Context(), outcome, err)

	coded := codedError(err)
	locale, words := wordsFor(r)
	why := reasonFor(err)
	message := cmp.Or(strings.ReplaceAll(words.Reasons[why.reason], "{{claim}}", why.claim), coded.Message)

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
		"{{locale}}", string(locale),
		"{{title}}", words.Title,
		"{{heading}}", words.Heading,
		"{{again}}", words.Again,
		"{{back}}", words.Back,
		"{{help}}", words.Help,
		"{{message}}", html.EscapeString(message),
		"{{requestId}}", html.EscapeString(schema.CallerFrom(r.Context()).RequestID),
		"{{login}}", LoginPath,
		"{{inbox}}", Path,
	).WriteString(w, refusedPage)
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
			Err:     &refusal{error: err, reason: reasonCancelled},
		}
	}
	return refused(err)
}
