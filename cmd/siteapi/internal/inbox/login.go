package inbox

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
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

	cookie, now := rand.Text()+rand.Text(), s.Now()
	err := s.Logins.StartLogin(r.Context(), store.Login{
		Hash:      hashOf(cookie),
		Subject:   a.subject,
		Email:     a.email,
		Role:      string(a.role),
		Refresh:   seal(cookie, a.refresh),
		StartedAt: now,
		CheckAt:   now.Add(roleTime),
		ExpiresAt: now.Add(loginTime),
	})
	if err != nil {
		return unavailable(err)
	}
	s.setCookie(w, cookieName, cookie, loginTime, http.SameSiteStrictMode)
	return nil
}

// operator returns the operator who is logged in by a cookie. It returns UNAUTHENTICATED
// without a login, or if the provider no longer confirms the role. Only one request at a
// time checks a role, since a refresh token can often be used only once. The others wait
// for its result.
func (s *SignIn) operator(ctx context.Context, cookie string) (request.Operator, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	defer s.Done(ctx)

	for {
		login, err := s.Logins.Login(ctx, hashOf(cookie))
		now := s.Now()
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && !now.Before(login.ExpiresAt):
			return request.Operator{}, noLogin()
		case err != nil:
			return request.Operator{}, unavailable(err)
		case now.Before(login.CheckAt):
			return request.Operator{
				Actor: request.AccountPrefix + login.Subject,
				Role:  schema.Role(login.Role),
				Email: login.Email,
			}, nil
		}

		if refused := s.Limit(ctx); refused != nil {
			return request.Operator{}, refused
		}
		claimed, err := s.Logins.ClaimCheck(ctx, login.Hash, now, now.Add(checkTime))
		if err != nil {
			return request.Operator{}, unavailable(err)
		}
		if claimed {
			if err := s.renew(ctx, cookie, login); err != nil {
				return request.Operator{}, err
			}
			continue
		}

		select {
		case <-ctx.Done():
			return request.Operator{}, unavailable(ctx.Err())
		case <-time.After(pollTime):
		}
	}
}

// renew checks the role with the provider and stores it. A denial ends the login. If the
// provider is unavailable, the next request repeats the check.
func (s *SignIn) renew(ctx context.Context, cookie string, login store.Login) error {
	// The next refresh token must be stored even if the client disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
	defer cancel()

	a, err := account{}, refused(errors.New("the provider returned no refresh token"))
	if refresh := unseal(cookie, login.Refresh); refresh != "" {
		a, err = s.redeem(ctx, "", func(ctx context.Context, c *oauth2.Config) (*oauth2.Token, error) {
			return c.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
		})
	}
	if err == nil && a.subject != login.Subject {
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
		login.Email, login.Role, login.Refresh = a.email, string(a.role), seal(cookie, a.refresh)
		login.CheckAt = s.Now().Add(roleTime)
	}

	if failed := s.Logins.RenewLogin(ctx, login); failed != nil {
		return unavailable(errors.Join(err, failed))
	}
	return err
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

// cipherOf returns the cipher of a login. Its key is derived from the cookie, which is
// not in the database.
func cipherOf(cookie string) cipher.AEAD {
	key := sha256.Sum256([]byte("refresh " + cookie))
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

func seal(cookie, text string) string {
	return base64.RawStdEncoding.EncodeToString(cipherOf(cookie).Seal(nil, nil, []byte(text), nil))
}

// unseal returns the text, or an empty one if it was not sealed with this cookie.
func unseal(cookie, sealed string) string {
	raw, _ := base64.RawStdEncoding.DecodeString(sealed)
	text, _ := cipherOf(cookie).Open(nil, nil, raw, nil)
	return string(text)
}
