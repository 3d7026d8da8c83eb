// Package inbox serves the operators' page: a session that begins with an operator's
// token, the page's files, and its GraphQL endpoint, which takes the session in place of
// the token.
//
// A session is stored in a cookie only, signed with a digest of the token that it began with.
// It is valid at every instance until it expires or its token is removed from the
// settings. Each request also needs the session's CSRF token, which only the page that
// began it has.
package inbox

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"siteapi/rest"
	"siteapi/schema"
)

// Paths of the inbox. The files of its page are below Path, too.
const (
	Path        = "/admin"
	SessionPath = Path + "/session"
	GraphQLPath = Path + "/graphql"
)

const (
	cookieName  = "siteapi_session"
	csrfHeader  = "X-CSRF-Token"
	sessionTime = 12 * time.Hour
	maxBody     = 4 << 10 // bytes in the body of a request for a session
)

// Options configures the inbox.
type Options struct {
	Tokens  []schema.OperatorToken // each token opens sessions of its holder
	SignIn  *SignIn                // nil: operators have no accounts
	GraphQL http.Handler           // answers at GraphQLPath
	Page    http.Handler           // answers GET and HEAD at every other path
	Now     func() time.Time
}

type handler struct {
	Options
	keys [][]byte // one for each token
}

// New returns the handler of everything at and below [Path].
func New(o Options) http.Handler {
	h := &handler{Options: o}
	for _, token := range o.Tokens {
		h.keys = append(h.keys, keyOf(token.Token))
	}

	mux := http.NewServeMux()
	session := map[string]http.Handler{
		http.MethodPost:   http.HandlerFunc(h.open),
		http.MethodDelete: h.authenticate(http.HandlerFunc(h.end)),
	}
	if o.SignIn != nil {
		session[http.MethodGet] = http.HandlerFunc(h.describe)
		mux.Handle(LoginPath, byMethod(map[string]http.Handler{http.MethodGet: http.HandlerFunc(o.SignIn.login)}))
		mux.Handle(CallbackPath, byMethod(map[string]http.Handler{http.MethodGet: http.HandlerFunc(o.SignIn.callback)}))
	}
	mux.Handle(SessionPath, byMethod(session))
	mux.Handle(GraphQLPath, byMethod(map[string]http.Handler{http.MethodPost: h.authenticate(o.GraphQL)}))
	mux.Handle("/", byMethod(map[string]http.Handler{http.MethodGet: o.Page, http.MethodHead: o.Page}))

	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest.WriteProblem(w, r, &schema.Error{
			Code:    schema.CodeForbidden,
			Message: "A page of another site may not do this.",
		})
	}))

	return protection.Handler(mux)
}

// byMethod calls the handler for a request's method, or answers 405.
func byMethod(handlers map[string]http.Handler) http.Handler {
	allowed := strings.Join(slices.Sorted(maps.Keys(handlers)), ", ")

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := handlers[r.Method]
		if next == nil {
			w.Header().Set("Allow", allowed)
			rest.WriteProblem(w, r, &schema.Error{
				Code:    schema.CodeMethodNotAllowed,
				Message: "This path answers to " + allowed + ".",
			})
			return
		}

		next.ServeHTTP(w, r)
	})
}

// open starts a session for a valid token.
func (h *handler) open(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Token string `json:"token"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil || json.Unmarshal(body, &in) != nil {
		rest.WriteProblem(w, r, &schema.Error{
			Code:    schema.CodeBadUserInput,
			Message: `The body must be {"token": "…"}.`,
		})
		return
	}

	if !h.takesTokens(r) {
		rest.WriteProblem(w, r, &schema.Error{
			Code:    schema.CodeForbidden,
			Message: "Sign in with your account. A token is taken at ADMIN_ADDR, on the machine itself, only.",
		})
		return
	}

	key := keyOf(in.Token)
	holder := slices.IndexFunc(h.keys, func(k []byte) bool { return hmac.Equal(k, key) })
	if holder < 0 {
		rest.WriteProblem(w, r, &schema.Error{
			Code:    schema.CodeUnauthenticated,
			Message: "This is not a valid token.",
		})
		return
	}

	expires := h.Now().Add(sessionTime).UTC().Truncate(time.Second)
	session := strconv.FormatInt(expires.Unix(), 10) + "." + rand.Text()
	session += "." + sign(key, "session", session)
	setCookie(w, r, session, int(sessionTime/time.Second))

	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"csrf":      sign(key, "csrf", session),
		"role":      h.Tokens[holder].Role,
		"expiresAt": expires,
	})
}

// takesTokens reports whether a token opens the inbox: with accounts on the machine itself
// only, as a way in while their provider is away.
func (h *handler) takesTokens(r *http.Request) bool {
	return h.SignIn == nil || schema.CallerFrom(r.Context()).Local
}

// describe tells the page that comes back from signing in the role and the CSRF token of its
// session, and the operator's own address, if that is known. Pages of other sites can't read it, and are not sent the cookie.
func (h *handler) describe(w http.ResponseWriter, r *http.Request) {
	cookie, err := r.Cookie(cookieName)
	var operator schema.Operator
	if err == nil {
		operator, err = h.SignIn.operator(r.Context(), cookie.Value)
	} else {
		err = noSession()
	}
	if err != nil {
		writeError(w, r, err)
		return
	}

	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"csrf":  sign(keyOf(cookie.Value), "csrf", cookie.Value),
		"role":  operator.Role,
		"email": operator.Email,
	})
}

func writeError(w http.ResponseWriter, r *http.Request, err error) {
	rest.WriteProblem(w, r, codedError(err))
}

func codedError(err error) *schema.Error {
	if coded, ok := errors.AsType[*schema.Error](err); ok {
		return coded
	}
	return &schema.Error{Code: schema.CodeInternal, Message: "Something went wrong on our side.", Err: err}
}

// end ends the session, and removes its cookie from the browser.
func (h *handler) end(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil && h.SignIn != nil {
		if _, err := h.SignIn.Sessions.EndLogins(r.Context(), hashOf(cookie.Value)); err != nil {
			writeError(w, r, unavailable(err))
			return
		}
	}
	setCookie(w, r, "", -1)
	w.WriteHeader(http.StatusNoContent)
}

// authenticate passes on requests with a session and its CSRF token.
func (h *handler) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operator, csrf, err := h.session(r.Context(), r)
		switch {
		case err != nil:
			writeError(w, r, err)
		case !hmac.Equal([]byte(r.Header.Get(csrfHeader)), []byte(csrf)):
			rest.WriteProblem(w, r, &schema.Error{
				Code:    schema.CodeForbidden,
				Message: "The header " + csrfHeader + " with the session's token is required.",
			})
		default:
			caller := schema.CallerFrom(r.Context())
			caller.Operator, caller.Session = operator, csrf

			// A stream of events goes on only while its session does, with the same role.
			caller.Renew = func(ctx context.Context) error {
				now, _, err := h.session(ctx, r)
				if err == nil && now != operator {
					err = noSession()
				}
				return err
			}

			next.ServeHTTP(w, r.WithContext(schema.WithCaller(r.Context(), caller)))
		}
	})
}

// session returns whose session the cookie of a request is, and its CSRF token.
func (h *handler) session(ctx context.Context, r *http.Request) (o schema.Operator, csrf string, err error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return o, "", noSession()
	}
	if h.takesTokens(r) {
		if holder := h.verify(cookie.Value); holder >= 0 {
			return h.Tokens[holder].Operator, sign(h.keys[holder], "csrf", cookie.Value), nil
		}
	}

	if h.SignIn == nil {
		return o, "", noSession()
	}
	o, err = h.SignIn.operator(ctx, cookie.Value)
	return o, sign(keyOf(cookie.Value), "csrf", cookie.Value), err
}

// keyOf returns the key that signs the sessions of a token: a digest of the token.
func keyOf(token string) []byte {
	key := sha256.Sum256([]byte(token))
	return key[:]
}

// verify returns the index of the key with which a session was signed, or -1 if there is none
// or the session has expired.
func (h *handler) verify(session string) int {
	end := strings.LastIndexByte(session, '.')
	expires, _, _ := strings.Cut(session, ".")

	at, err := strconv.ParseInt(expires, 10, 64)
	if end < 0 || err != nil || h.Now().Unix() >= at {
		return -1
	}

	return slices.IndexFunc(h.keys, func(key []byte) bool {
		return hmac.Equal([]byte(session[end+1:]), []byte(sign(key, "session", session[:end])))
	})
}

// sign returns the message authentication code of a text. It differs for each purpose.
func sign(key []byte, purpose, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// setCookie stores the session in the browser. Requests other than GET have an Origin
// header, which tells whether the page was opened over HTTPS.
func setCookie(w http.ResponseWriter, r *http.Request, session string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name:     cookieName,
		Value:    session,
		Path:     Path,
		MaxAge:   maxAge,
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
		Secure:   strings.HasPrefix(r.Header.Get("Origin"), "https://"),
	})
}
