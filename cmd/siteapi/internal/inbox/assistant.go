package inbox

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"siteapi/integrations/store"
	"siteapi/schema"
)

// AssistantPath is the page on which operators grant access to their assistants.
const AssistantPath = Path + "/assistant"

const (
	pendingCookie  = "siteapi_assistant_" // before the id of a request
	assistantPlace = "assistant"          // place of an attempt that ends at the page
	maxQuery       = 8 << 10              // bytes
)

//go:embed assistant.html
var assistantPage string

// assistantWords are the messages of the page by locale.
//
//go:embed assistant.json
var assistantWords []byte

// authorization is the request of an assistant for access, until its operator decides. The
// operator signs in at once, without a login of the inbox: a page that another site opened
// would not get its cookie.
type authorization struct {
	Client    client
	Redirect  string // redirect_uri
	Challenge string
	State     string
	Account   account // empty before the operator has signed in
	SignedIn  time.Time
}

// ask checks the request of an assistant, and lets the operator sign in. A request that is not
// valid ends at a page here: redirecting it would let any client redirect any browser.
func (s *SignIn) ask(w http.ResponseWriter, r *http.Request) {
	a := attempt{oauth2.GenerateVerifier(), assistantPlace}
	asked, err := s.authorizationOf(r)
	if err == nil {
		err = s.keep(r.Context(), a.verifier, asked)
	}
	if err != nil {
		s.refuse(w, r, a, err)
		return
	}
	s.request(w, r, a)
}

// badRequestError is the error of a request that no assistant may send.
type badRequestError struct{ error }

// authorizationOf checks the parameters of a request.
func (s *SignIn) authorizationOf(r *http.Request) (asked authorization, err error) {
	in := r.URL.Query()
	c, err := s.clientOf(r.Context(), in.Get("client_id"))

	switch {
	case err != nil:
	case len(r.URL.RawQuery) > maxQuery, repeats(in):
		err = errors.New("the request is too long, or has a parameter twice")
	case !c.redirects(in.Get("redirect_uri")):
		err = errors.New("the metadata document does not list this redirect_uri")
	case in.Get("response_type") != "code":
		err = errors.New("response_type is not code")
	case in.Get("code_challenge_method") != "S256", len(in.Get("code_challenge")) != 43:
		err = errors.New("there is no code_challenge by the method S256")
	case in.Get("resource") != s.SiteURL+ResourcePath:
		err = errors.New("resource is not " + s.SiteURL + ResourcePath)
	}
	if err != nil {
		return asked, &schema.Error{Code: schema.CodeBadUserInput, Err: badRequestError{loggable(err)}}
	}

	return authorization{
		Client:    c,
		Redirect:  in.Get("redirect_uri"),
		Challenge: in.Get("code_challenge"),
		State:     in.Get("state"),
	}, nil
}

// keep stores a request for [attemptTime], encrypted with a secret of the browser.
func (s *SignIn) keep(ctx context.Context, secret string, asked authorization) error {
	now := time.Now()
	err := s.Logins.StoreAuthorization(ctx, hashOf(secret), seal(secret, asked), now, now.Add(attemptTime))
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// takeAuthorization removes and returns a stored request.
func (s *SignIn) takeAuthorization(ctx context.Context, secret string) (asked authorization, err error) {
	sealed, err := s.Logins.TakeAuthorization(ctx, hashOf(secret), time.Now())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return asked, refused(err)
	case err != nil:
		return asked, unavailable(err)
	}
	unseal(secret, sealed, &asked)
	return asked, nil
}

// consent serves the page to an operator who has signed in.
func (s *SignIn) consent(w http.ResponseWriter, r *http.Request, a attempt) error {
	asked, err := s.takeAuthorization(r.Context(), a.verifier)
	if err != nil {
		return err
	}
	if asked.Account, err = s.account(w, r, a); err != nil {
		return err
	}
	asked.SignedIn = time.Now()
	secret := rand.Text()
	if err := s.keep(r.Context(), secret, asked); err != nil {
		return err
	}

	id := hashOf(secret)[:store.LoginIDLength]
	s.setCookie(w, pendingCookie+id, secret, attemptTime, http.SameSiteStrictMode)
	to, _ := url.Parse(asked.Redirect) // it was compared with a valid one
	locale, words := wordsOf(r, assistantWords)
	target, until := to.Host, words["until_unused"]
	if to.Scheme != "https" {
		target = words["program"]
	}
	if asked.Account.Secrets.Refresh == "" {
		until = words["until_check"]
	}
	nonce := pageHeaders(w, "'self' "+formTarget(to))
	_ = template.Must(template.New("assistant").Parse(assistantPage)).Execute(w, map[string]any{
		"Words":   words,
		"Locale":  locale,
		"Nonce":   nonce,
		"Request": id,
		"Path":    AssistantPath,
		"Asks":    strings.ReplaceAll(words["asks"], "{{by}}", asked.Client.Name),
		"Client":  asked.Client.host(),
		"Target":  target,
		"Account": cmp.Or(asked.Account.Email, asked.Account.Subject),
		"Role":    words[strings.ToLower(string(asked.Account.Role))],
		"Until":   until,
	})
	return nil
}

// decide redirects back to the assistant, with a code if the operator allows it.
func (s *SignIn) decide(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	a := attempt{place: assistantPlace}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	cookie, err := r.Cookie(pendingCookie + r.PostFormValue("request"))
	if err != nil {
		s.refuse(w, r, a, refused(errors.New("the request does not match this browser")))
		return
	}
	s.setCookie(w, cookie.Name, "", -time.Second, http.SameSiteStrictMode)
	asked, err := s.takeAuthorization(r.Context(), cookie.Value)
	if err != nil {
		s.refuse(w, r, a, err)
		return
	}

	to, _ := url.Parse(asked.Redirect)
	query := to.Query()
	query.Set("iss", s.SiteURL)
	if asked.State != "" {
		query.Set("state", asked.State)
	}
	if r.PostFormValue("answer") != "allow" {
		query.Set("error", "access_denied")
	} else {
		code, err := s.allow(r.Context(), asked)
		if err != nil {
			s.refuse(w, r, a, err)
			return
		}
		query.Set("code", code)
	}
	to.RawQuery = query.Encode()
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// allow stores a grant, which ends soon if its code is not redeemed.
func (s *SignIn) allow(ctx context.Context, asked authorization) (code string, err error) {
	now, key := time.Now(), rand.Text()
	g := grant{
		Seed:      rand.Text(),
		Client:    asked.Client.ID,
		Redirect:  asked.Redirect,
		Challenge: asked.Challenge,
		RenewedAt: now,
	}
	login := asked.Account.login(key, now, codeTime)
	login.CheckAt = asked.SignedIn.Add(roleTime)

	login.Client, login.GrantState = asked.Client.label(), g.encode()
	if err := s.Logins.StartLogin(ctx, login); err != nil {
		return "", unavailable(err)
	}
	s.Report(ctx, "ok", nil)
	return g.token(key, codeToken, 0), nil
}

// wordsOf returns the messages of a page in the language of the browser.
func wordsOf(r *http.Request, file []byte) (schema.Locale, map[string]string) {
	words := map[schema.Locale]map[string]string{}
	if err := json.Unmarshal(file, &words); err != nil {
		panic(err) // the file is part of the program
	}
	locale := schema.AcceptedLocale(r.Header)
	return locale, words[locale]
}

// pageHeaders sets the headers of a page without scripts that no site may frame. It returns
// the nonce of its style. The forms of the page may lead to the targets.
func pageHeaders(w http.ResponseWriter, targets string) (nonce string) {
	nonce = rand.Text()
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+nonce+
		"'; form-action "+targets+"; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	return nonce
}
