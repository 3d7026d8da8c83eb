package inbox

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"siteapi/integrations/store"
	"siteapi/schema"
	"siteapi/schema/request"
)

// start stores the login of an account with a new cookie, and ends the login of the old
// cookie.
func (s *SignIn) start(w http.ResponseWriter, r *http.Request, a account) error {
	if err := s.end(r); err != nil {
		return err
	}

	cookie := rand.Text() + rand.Text()
	if err := s.Logins.StartLogin(r.Context(), a.login(cookie, time.Now(), loginTime)); err != nil {
		return unavailable(err)
	}
	s.setCookie(w, cookieName, cookie, loginTime, http.SameSiteStrictMode)
	return nil
}

// login returns a login of the account with a secret, which is not stored.
func (a account) login(secret string, now time.Time, life time.Duration) store.Login {
	return store.Login{
		Hash:      hashOf(secret),
		Subject:   a.Subject,
		Email:     a.Email,
		Role:      string(a.Role),
		Secrets:   seal(secret, a.Secrets),
		StartedAt: now,
		CheckAt:   now.Add(roleTime),
		ExpiresAt: now.Add(life),
	}
}

// operator returns the operator who is logged in to the inbox by a cookie.
func (s *SignIn) operator(ctx context.Context, cookie string) (request.Operator, error) {
	login, err := s.login(ctx, cookie, false)
	if err != nil {
		return request.Operator{}, err
	}
	return operatorOf(login), nil
}

func operatorOf(l store.Login) request.Operator {
	return request.Operator{
		Actor:  request.AccountPrefix + l.Subject,
		Role:   schema.Role(l.Role),
		Email:  l.Email,
		Client: l.Client,
	}
}

// login returns the login to the inbox, or the grant, with a secret. It returns
// UNAUTHENTICATED without one, or if the provider no longer confirms the role. Only one
// request at a time checks a role, since a refresh token can often be used only once. The
// others wait for its result.
func (s *SignIn) login(ctx context.Context, secret string, isGrant bool) (store.Login, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	defer s.Done(ctx)

	for {
		login, err := s.Logins.Login(ctx, hashOf(secret))
		now := time.Now()
		switch {
		case errors.Is(err, store.ErrNotFound),
			err == nil && (!now.Before(login.ExpiresAt) || isGrant != (login.Client != "")):
			return login, noLogin()
		case err != nil:
			return login, unavailable(err)
		case now.Before(login.CheckAt):
			return login, nil
		}

		if refused := s.Limit(ctx); refused != nil {
			return login, refused
		}
		claimed, err := s.Logins.ClaimCheck(ctx, login.Hash, now, now.Add(checkTime))
		if err != nil {
			return login, unavailable(err)
		}
		if claimed {
			if err := s.renew(ctx, secret, login); err != nil {
				return login, err
			}
			continue
		}

		select {
		case <-ctx.Done():
			return login, unavailable(ctx.Err())
		case <-time.After(pollTime):
		}
	}
}

// renew checks the role with the provider and stores it. A denial ends the login. If the
// provider is unavailable, the next request repeats the check.
func (s *SignIn) renew(ctx context.Context, secret string, login store.Login) error {
	// The next refresh token must be stored even if the client disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
	defer cancel()

	a, err := account{}, refused(errors.New("the provider returned no refresh token"))
	if refresh := secretsOf(secret, login).Refresh; refresh != "" {
		a, err = s.redeem(ctx, "", func(ctx context.Context, p *Provider) (*oauth2.Token, error) {
			return p.OAuth.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
		})
	}
	if err == nil && a.Subject != login.Subject {
		err = errors.New("the token has another subject")
	}
	switch {
	case isUnavailable(err):
		s.Report(ctx, "unavailable", err)
	case err != nil:
		s.Report(ctx, "ended", err)
		if _, err := s.Logins.EndLogins(ctx, login.Hash); err != nil {
			return unavailable(err)
		}
		return noLogin()
	default:
		login.Email, login.Role, login.Secrets = a.Email, string(a.Role), seal(secret, a.Secrets)
		login.CheckAt = time.Now().Add(roleTime)
	}

	if failed := s.Logins.RenewLogin(ctx, login); failed != nil {
		return unavailable(errors.Join(err, failed))
	}
	return err
}

// logoutAddress returns the address at which the person of a request logs out at the
// provider. It is empty without a login of an account, and if the provider lists no such
// address or is not available: the login here ends all the same.
func (s *SignIn) logoutAddress(r *http.Request) string {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	login, err := s.Logins.Login(r.Context(), hashOf(cookie.Value))
	if err != nil {
		return ""
	}
	p, err := s.discover(r.Context())
	if err != nil {
		return ""
	}

	address, err := url.Parse(p.EndSession)
	if err != nil || p.EndSession == "" {
		return ""
	}
	query := address.Query()
	query.Set("client_id", s.OIDCClientID)
	if hint := secretsOf(cookie.Value, login).ID; hint != "" && len(hint) <= maxHint {
		query.Set("id_token_hint", hint)
	}
	address.RawQuery = query.Encode()
	return address.String()
}

// end removes the login of a request, if there is one.
func (s *SignIn) end(r *http.Request) error {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil //nolint:nilerr // no cookie means no login
	}
	if _, err := s.Logins.EndLogins(r.Context(), hashOf(cookie.Value)); err != nil {
		return unavailable(err)
	}
	return nil
}

func hashOf(secret string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(secret))) }

// cipherOf returns the cipher of a login, a grant or a request of an assistant. Its key is
// derived from a secret that is not in the database.
func cipherOf(secret string) cipher.AEAD {
	key := sha256.Sum256([]byte("secrets " + secret))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the block size of AES is valid
	}
	return aead
}

func seal(secret string, value any) string {
	text, _ := json.Marshal(value) //nolint:errchkjson // structs of strings
	return base64.RawStdEncoding.EncodeToString(cipherOf(secret).Seal(nil, nil, text, nil))
}

// unseal decodes a value, which stays as it is if it was not sealed with this secret.
func unseal(secret, sealed string, to any) {
	raw, _ := base64.RawStdEncoding.DecodeString(sealed)
	text, _ := cipherOf(secret).Open(nil, nil, raw, nil)
	_ = json.Unmarshal(text, to)
}

func secretsOf(secret string, l store.Login) (out secrets) {
	unseal(secret, l.Secrets, &out)
	return out
}
