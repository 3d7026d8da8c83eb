package inbox

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"siteapi/integrations/store"
	"siteapi/rest"
	"siteapi/schema"
	"siteapi/schema/request"
)

// Paths for assistants below the public address. The metadata has its own (RFC 9728, RFC
// 8414): the path of a resource is appended, and an issuer without a path has none.
const (
	ResourcePath         = "/mcp/operators"
	TokenPath            = ResourcePath + "/token"
	ResourceMetadataPath = "/.well-known/oauth-protected-resource" + ResourcePath
	ServerMetadataPath   = "/.well-known/oauth-authorization-server"
)

const (
	codeTime   = time.Minute
	accessTime = time.Hour
	graceTime  = time.Minute         // for tokens that were replaced, since a response may be lost
	grantTime  = 30 * 24 * time.Hour // after the last use
	maxForm    = 8 << 10             // bytes
)

// Kinds of tokens of a grant. A code has generation 0, and each use of a refresh token leads
// to tokens of the next one.
const (
	codeToken    = "code"
	accessToken  = "access"
	refreshToken = "refresh"
)

// grant is what the tokens of an assistant are derived from, together with a key that is part
// of each token and stored nowhere. Without it the database grants no access, and without the
// seed a token does not lead to others.
type grant struct {
	Seed       string
	Client     string // the client_id
	Redirect   string // redirect_uri and code_challenge of the code
	Challenge  string
	Generation int
	RenewedAt  time.Time // when the tokens of this generation were first returned
}

// token returns a token, which names the generation that it is of.
func (g grant) token(key, kind string, generation int) string {
	number := strconv.Itoa(generation)
	return key + "." + number + "." + sign(g.Seed, kind+" "+number+" "+key)
}

// find returns the grant of a token of a kind, and the key and the generation of the token.
// It returns UNAUTHENTICATED if there is none.
func (s *SignIn) find(
	ctx context.Context, token, kind string,
) (l store.Login, g grant, key string, of int, err error) {
	key, rest, _ := strings.Cut(token, ".")
	number, _, _ := strings.Cut(rest, ".")
	of, err = strconv.Atoi(number)
	if err != nil {
		return l, g, "", 0, noLogin()
	}

	l, err = s.Logins.Login(ctx, hashOf(key))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return l, g, "", 0, noLogin()
	case err != nil:
		return l, g, "", 0, unavailable(err)
	}
	if json.Unmarshal([]byte(l.GrantState), &g) != nil || !time.Now().Before(l.ExpiresAt) ||
		!hmac.Equal([]byte(token), []byte(g.token(key, kind, of))) {
		return l, g, "", 0, noLogin()
	}
	return l, g, key, of, nil
}

// Authenticate serves requests with the access token of a grant. It names the metadata to
// others, by which clients begin to sign in. Requests count by their grant, since those of
// many operators may come from one address.
func (s *SignIn) Authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := request.CallerFrom(r.Context())
		operator, id, err := s.assistant(r.Context(), caller.Token())
		if err == nil {
			caller.Operators, caller.Operator, caller.Address = true, operator, "grant "+id
			r = r.WithContext(request.WithCaller(r.Context(), caller))
			if refused := s.LimitGrant(r.Context()); refused != nil {
				err = refused
			}
		}
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}

		coded, _ := errors.AsType[*schema.Error](err)
		if coded.Code == schema.CodeUnauthenticated {
			challenge := `Bearer resource_metadata="` + s.SiteURL + ResourceMetadataPath + `"`
			if caller.Token() != "" {
				challenge += `, error="invalid_token"`
			}
			w.Header().Set("WWW-Authenticate", challenge)
		}
		writeError(w, r, err)
	})
}

// assistant returns the operator who granted access to the bearer of a token, and the id of
// the grant. The tokens before the last renewal are accepted for [graceTime].
func (s *SignIn) assistant(ctx context.Context, token string) (o request.Operator, id string, err error) {
	_, g, key, of, err := s.find(ctx, token, accessToken)
	if err != nil {
		return o, "", err
	}

	age := time.Since(g.RenewedAt)
	if age >= accessTime || of != g.Generation && (of != g.Generation-1 || age >= graceTime) {
		return o, "", noLogin()
	}
	login, err := s.login(ctx, key, true)
	if err != nil {
		return o, "", err
	}
	o = operatorOf(login)
	o.Client = login.Client
	return o, login.ID(), nil
}

// tokenProblem is an error of the token endpoint (RFC 6749, section 5.2).
type tokenProblem string

func (p tokenProblem) Error() string { return string(p) }

// token serves the token endpoint: it redeems a code or a refresh token. Pages may call it,
// since it uses no cookies.
func (s *SignIn) token(w http.ResponseWriter, r *http.Request) {
	allowPages(w)
	response, err := map[string]any(nil), error(tokenProblem("invalid_request"))
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if r.ParseForm() == nil && !repeats(r.PostForm) {
		response, err = s.redeemToken(r.Context(), r.PostForm)
	}

	status := http.StatusOK
	if err != nil {
		problem, isProblem := errors.AsType[tokenProblem](err)
		status = http.StatusBadRequest
		if !isProblem {
			problem, status = "temporarily_unavailable", http.StatusServiceUnavailable
			w.Header().Set("Retry-After", "5")
			s.Report(r.Context(), "unavailable", err)
		}
		response = map[string]any{"error": problem}
	}
	request.WriteJSON(w, status, response)
}

// repeats reports whether a parameter occurs twice, which different readers would understand
// differently.
func repeats(in url.Values) bool {
	for _, values := range in {
		if len(values) > 1 {
			return true
		}
	}
	return false
}

// redeemToken returns new tokens for a code or a refresh token. One that comes again was
// perhaps stolen, so it ends the grant.
func (s *SignIn) redeemToken(ctx context.Context, in url.Values) (map[string]any, error) {
	kind, given := codeToken, in.Get("code")
	switch in.Get("grant_type") {
	case "authorization_code":
	case "refresh_token":
		kind, given = refreshToken, in.Get("refresh_token")
	default:
		return nil, tokenProblem("unsupported_grant_type")
	}
	if target := in.Get("resource"); target != "" && target != s.SiteURL+ResourcePath {
		return nil, tokenProblem("invalid_target")
	}

	for {
		login, g, key, of, err := s.find(ctx, given, kind)
		switch {
		case isUnavailable(err):
			return nil, err
		case err != nil, g.Client != in.Get("client_id"), kind == codeToken && !g.provenBy(in):
			return nil, tokenProblem("invalid_grant")
		}

		age := time.Since(g.RenewedAt)
		if kind == refreshToken && of == g.Generation-1 && age < graceTime {
			return g.response(key, accessTime-age), nil
		}
		if of != g.Generation {
			s.Report(ctx, "ended", errors.New("a code or refresh token of an assistant was used again"))
			if _, err := s.Logins.EndLogins(ctx, login.Hash); err != nil {
				return nil, unavailable(err)
			}
			return nil, tokenProblem("invalid_grant")
		}

		g.Generation, g.RenewedAt = g.Generation+1, time.Now()
		changed, err := s.Logins.ChangeGrant(ctx, login, g.encode(), g.RenewedAt.Add(grantTime))
		if err != nil {
			return nil, unavailable(err)
		}
		if changed {
			return g.response(key, accessTime), nil
		}
	}
}

// provenBy reports whether the request for tokens is of the client that began to sign in.
func (g grant) provenBy(in url.Values) bool {
	return g.Redirect == in.Get("redirect_uri") &&
		g.Challenge == oauth2.S256ChallengeFromVerifier(in.Get("code_verifier"))
}

func (g grant) encode() string {
	text, _ := json.Marshal(g) //nolint:errchkjson // strings, a number and a time
	return string(text)
}

// response returns the current tokens of a grant.
func (g grant) response(key string, life time.Duration) map[string]any {
	return map[string]any{
		"access_token":  g.token(key, accessToken, g.Generation),
		"token_type":    "Bearer",
		"expires_in":    int(life / time.Second),
		"refresh_token": g.token(key, refreshToken, g.Generation),
		"scope":         offlineAccess,
	}
}

// offlineAccess is the only scope. Some clients use refresh tokens only if it is listed.
const offlineAccess = "offline_access"

// AssistantHandlers returns the handlers of the public paths for assistants, other than
// [ResourcePath].
func (s *SignIn) AssistantHandlers() map[string]http.Handler {
	resource := map[string]any{
		"resource":                 s.SiteURL + ResourcePath,
		"authorization_servers":    []string{s.SiteURL},
		"bearer_methods_supported": []string{"header"},
		"scopes_supported":         []string{offlineAccess},
		"resource_name":            "siteapi",
	}
	server := map[string]any{
		"issuer": s.SiteURL,
		"authorization_endpoint": strings.TrimSuffix(s.OIDCRedirectURL, CallbackPath) +
			AssistantPath,
		"token_endpoint":                        s.SiteURL + TokenPath,
		"scopes_supported":                      []string{offlineAccess},
		"response_types_supported":              []string{"code"},
		"grant_types_supported":                 []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":      []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"},
		"client_id_metadata_document_supported": true,

		"authorization_response_iss_parameter_supported": true,
	}

	preflight := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		allowPages(w)
		w.WriteHeader(http.StatusNoContent)
	})
	document := func(metadata any) http.Handler {
		return rest.Methods{http.MethodOptions: preflight, http.MethodGet: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) {
				allowPages(w)
				request.WriteJSON(w, http.StatusOK, metadata)
			})}
	}
	return map[string]http.Handler{
		ResourceMetadataPath: document(resource),
		ServerMetadataPath:   document(server),
		TokenPath: rest.Methods{
			http.MethodOptions: preflight,
			http.MethodPost:    http.HandlerFunc(s.token),
		},
	}
}

// allowPages lets pages of all origins read a response.
func allowPages(w http.ResponseWriter) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Mcp-Protocol-Version")
}
