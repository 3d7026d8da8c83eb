// Package inbox serves the operators' page: its files, logins by token or single sign-on,
// and its GraphQL endpoint, which accepts the cookie of a login instead of a token.
//
// Browsers send the cookie only with same-site requests, and [http.CrossOriginProtection]
// refuses requests from pages of other origins.
package inbox

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"siteapi/rest"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Paths of the inbox. The files of its page are also below Path.
const (
	Path         = "/admin"
	LoginPath    = Path + "/login"
	CallbackPath = Path + "/callback"
	OperatorPath = Path + "/operator"
	GraphQLPath  = Path + "/graphql"
	WorkbookPath = Path + "/leads.xlsx"
)

const (
	cookieName = "siteapi_login"
	loginTime  = 12 * time.Hour
	maxBody    = 4 << 10 // bytes in the body of a login by token
)

// Options configures the inbox.
type Options struct {
	Tokens   []request.OperatorToken // tokens that log their holders in
	SignIn   *SignIn                 // nil: single sign-on is off
	GraphQL  http.Handler            // serves GraphQLPath
	Workbook http.Handler            // serves WorkbookPath
	Page     http.Handler            // serves GET and HEAD of all other paths
	Now      func() time.Time
}

type handler struct{ Options }

// New returns the handler of [Path] and all paths below it.
func New(o Options) http.Handler {
	h := &handler{o}
	login := rest.Methods{
		http.MethodPost:   http.HandlerFunc(h.logIn),
		http.MethodDelete: http.HandlerFunc(h.logOut),
	}

	mux := http.NewServeMux()
	if o.SignIn != nil {
		login[http.MethodGet] = http.HandlerFunc(o.SignIn.begin)
		mux.Handle(CallbackPath, rest.Methods{http.MethodGet: http.HandlerFunc(o.SignIn.callback)})
		if o.SignIn.MCPSignIn {
			mux.Handle(AssistantPath, rest.Methods{
				http.MethodGet:  http.HandlerFunc(o.SignIn.ask),
				http.MethodPost: http.HandlerFunc(o.SignIn.decide),
			})
		}
	}
	mux.Handle(LoginPath, login)
	mux.Handle(OperatorPath, rest.Methods{http.MethodGet: h.authenticate(http.HandlerFunc(describe))})
	mux.Handle(GraphQLPath, rest.Methods{http.MethodPost: h.authenticate(o.GraphQL)})
	mux.Handle(WorkbookPath, rest.Methods{http.MethodGet: h.authenticate(o.Workbook)})
	mux.Handle("/", rest.Methods{http.MethodGet: o.Page})

	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, schema.CodeForbidden, "Pages of other sites may not do this.")
	}))
	return protection.Handler(mux)
}

func refuse(w http.ResponseWriter, r *http.Request, code schema.Code, message string) {
	rest.WriteProblem(w, r, schema.NewError(code, message))
}

// logIn starts a login by a token. The login is stored only in its cookie, which is
// signed with the token. It is valid at every instance until it expires or the token is
// removed from the settings.
func (h *handler) logIn(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Token string `json:"token"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil || json.Unmarshal(body, &in) != nil {
		refuse(w, r, schema.CodeBadUserInput, `The body must be {"token": "…"}.`)
		return
	}
	if !h.takesTokens(r) {
		refuse(w, r, schema.CodeForbidden,
			"Sign in with your account. Tokens are accepted only at ADMIN_ADDR, from the machine itself.")
		return
	}

	expires := strconv.FormatInt(h.Now().Add(loginTime).Unix(), 10)
	login := expires + "." + sign(in.Token, expires)
	operator, ok := h.holder(login)
	if !ok {
		refuse(w, r, schema.CodeUnauthenticated, "This is not a valid token.")
		return
	}

	// Browsers send an Origin header with every POST. It shows whether the page uses
	// HTTPS.
	secure := strings.HasPrefix(r.Header.Get("Origin"), "https://")
	setCookie(w, cookieName, login, loginTime, http.SameSiteStrictMode, secure)
	writeOperator(w, operator)
}

// takesTokens reports whether the inbox accepts tokens. With single sign-on it accepts
// them only from the machine itself, as a fallback while the provider is unavailable.
func (h *handler) takesTokens(r *http.Request) bool {
	return h.SignIn == nil || request.CallerFrom(r.Context()).Local
}

// describe returns the operator's role, all roles that it includes, and the verified address
// of the account or the one that names the token, if it is known.
func describe(w http.ResponseWriter, r *http.Request) {
	writeOperator(w, request.CallerFrom(r.Context()).Operator)
}

func writeOperator(w http.ResponseWriter, o request.Operator) {
	address := o.Name()
	if !strings.Contains(address, "@") {
		address = ""
	}
	request.WriteJSON(w, http.StatusOK,
		map[string]any{"role": o.Role, "roles": o.Role.Included(), "email": address})
}

// logOut ends a login and removes its cookie. It returns the address at which the person also
// logs out at the provider, if there is one.
func (h *handler) logOut(w http.ResponseWriter, r *http.Request) {
	next := ""
	if h.SignIn != nil {
		next = h.SignIn.logoutAddress(r)
		if err := h.SignIn.end(r); err != nil {
			writeError(w, r, err)
			return
		}
	}

	setCookie(w, cookieName, "", -time.Second, http.SameSiteStrictMode, false)
	if next == "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	request.WriteJSON(w, http.StatusOK, map[string]string{"next": next})
}

// authenticate refuses requests without a login.
func (h *handler) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operator, err := h.operator(r.Context(), r)
		if err != nil {
			writeError(w, r, err)
			return
		}

		caller := request.CallerFrom(r.Context())
		caller.Operator = operator
		// An event stream ends when its login ends or has another role.
		caller.Renew = func(ctx context.Context) error {
			now, err := h.operator(ctx, r)
			if err == nil && now != operator {
				err = noLogin()
			}
			return err
		}

		next.ServeHTTP(w, r.WithContext(request.WithCaller(r.Context(), caller)))
	})
}

// operator returns the operator who is logged in by the cookie of a request.
func (h *handler) operator(ctx context.Context, r *http.Request) (request.Operator, error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return request.Operator{}, noLogin()
	}
	if operator, ok := h.holder(cookie.Value); ok && h.takesTokens(r) {
		return operator, nil
	}
	if h.SignIn == nil {
		return request.Operator{}, noLogin()
	}
	return h.SignIn.operator(ctx, cookie.Value)
}

// holder returns the holder of the token that signed a login, unless the login has
// expired.
func (h *handler) holder(login string) (request.Operator, bool) {
	expires, signature, _ := strings.Cut(login, ".")
	at, err := strconv.ParseInt(expires, 10, 64)
	if err != nil || h.Now().Unix() >= at {
		return request.Operator{}, false
	}

	for _, token := range h.Tokens {
		if hmac.Equal([]byte(signature), []byte(sign(token.Token, expires))) {
			return token.Operator, true
		}
	}
	return request.Operator{}, false
}

// sign returns the HMAC of a string with a token as its key.
func sign(token, text string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func writeError(w http.ResponseWriter, r *http.Request, err error) {
	coded, ok := errors.AsType[*schema.Error](err)
	if !ok {
		coded = &schema.Error{
			Code:    schema.CodeInternal,
			Message: "Something went wrong on our side.",
			Err:     err,
		}
	}
	rest.WriteProblem(w, r, coded)
}

func noLogin() error {
	return schema.NewError(schema.CodeUnauthenticated, "You are not logged in, or your login has ended.")
}

// setCookie sets a cookie of the inbox, or removes it if life is negative.
func setCookie(
	w http.ResponseWriter, name, value string, life time.Duration, site http.SameSite, secure bool,
) {
	http.SetCookie(w, &http.Cookie{
		Name:     name,
		Value:    value,
		Path:     Path,
		MaxAge:   int(life / time.Second),
		HttpOnly: true,
		SameSite: site,
		Secure:   secure,
	})
}
