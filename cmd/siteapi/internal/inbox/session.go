package inbox

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"siteapi/integrations/store"
	"siteapi/schema"
)

// start stores a session under a new cookie, and ends that of the old one.
func (s *SignIn) start(w http.ResponseWriter, r *http.Request, a account) error {
	if old, err := r.Cookie(cookieName); err == nil {
		if _, err := s.Sessions.EndLogins(r.Context(), hashOf(old.Value)); err != nil {
			return unavailable(err)
		}
	}

	cookie, now := rand.Text()+rand.Text(), s.Now()
	err := s.Sessions.StartLogin(r.Context(), store.Login{
		Hash:      hashOf(cookie),
		Subject:   a.subject,
		Email:     a.email,
		Role:      string(a.role),
		Refresh:   seal(cookie, a.refresh),
		StartedAt: now,
		CheckAt:   now.Add(roleTime),
		ExpiresAt: now.Add(sessionTime),
	})
	if err != nil {
		return unavailable(err)
	}
	s.setCookie(w, cookieName, cookie, int(sessionTime/time.Second), http.SameSiteStrictMode)
	return nil
}

// operator returns whose session a cookie is. It returns UNAUTHENTICATED if there is none, or
// if the provider does not confirm the role any more. One request checks a role that is due,
// as a refresh token can often be used only once, and the others wait for its result.
func (s *SignIn) operator(ctx context.Context, cookie string) (schema.Operator, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()

	for {
		session, err := s.Sessions.Login(ctx, hashOf(cookie))
		now := s.Now()
		switch {
		case errors.Is(err, store.ErrNotFound):
			return schema.Operator{}, noSession()
		case err != nil:
			return schema.Operator{}, unavailable(err)
		case !now.Before(session.ExpiresAt):
			return schema.Operator{}, noSession()
		case now.Before(session.CheckAt):
			return schema.Operator{
				Actor: schema.AccountPrefix + session.Subject,
				Role:  schema.Role(session.Role),
				Email: session.Email,
			}, nil
		}

		if refused := s.Limit(ctx); refused != nil {
			return schema.Operator{}, refused
		}
		claimed, err := s.Sessions.ClaimCheck(ctx, session.Hash, now, now.Add(checkTime))
		if err != nil {
			return schema.Operator{}, unavailable(err)
		}
		if claimed {
			if err := s.renew(ctx, cookie, session); err != nil {
				return schema.Operator{}, err
			}
			continue
		}

		select {
		case <-ctx.Done():
			return schema.Operator{}, unavailable(ctx.Err())
		case <-time.After(pollTime):
		}
	}
}

// renew asks the provider for the role once more, and stores it. The provider's no ends the
// session. While the provider is away the check stays due.
func (s *SignIn) renew(ctx context.Context, cookie string, session store.Login) error {
	// A client that goes away does not lose the next refresh token.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
	defer cancel()

	refresh := unseal(cookie, session.Refresh)
	if refresh == "" {
		return s.end(ctx, session, noSession())
	}

	a, err := s.redeem(ctx, "", func(ctx context.Context, c *oauth2.Config) (*oauth2.Token, error) {
		return c.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
	})
	if err == nil && a.subject != session.Subject {
		err = errors.New("the token is of another subject")
	}
	switch {
	case isUnavailable(err):
		s.Report(ctx, "unavailable", err)
	case err != nil:
		s.Report(ctx, "ended", err)
		return s.end(ctx, session, noSession())
	default:
		session.Email, session.Role, session.Refresh = a.email, string(a.role), seal(cookie, a.refresh)
		session.CheckAt = s.Now().Add(roleTime)
	}

	if failed := s.Sessions.RenewLogin(ctx, session); failed != nil {
		return unavailable(errors.Join(err, failed))
	}
	return err
}

// end removes a session and returns why.
func (s *SignIn) end(ctx context.Context, session store.Login, why error) error {
	if _, err := s.Sessions.EndLogins(ctx, session.Hash); err != nil {
		return unavailable(err)
	}
	return why
}

func (s *SignIn) setCookie(w http.ResponseWriter, name, value string, maxAge int, site http.SameSite) {
	http.SetCookie(w, &http.Cookie{
		Name:     name,
		Value:    value,
		Path:     Path,
		MaxAge:   maxAge,
		HttpOnly: true,
		SameSite: site,
		Secure:   strings.HasPrefix(s.RedirectURL, "https://"),
	})
}

func noSession() error {
	return &schema.Error{Code: schema.CodeUnauthenticated, Message: "There is no session, or it has ended."}
}

func hashOf(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

// cipherOf returns the cipher of a session. Its key is made from the cookie, so that the
// database alone does not hold it.
func cipherOf(cookie string) cipher.AEAD {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte("refresh"))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // it is AES
	}
	return aead
}

func seal(cookie, text string) string {
	if text == "" {
		return ""
	}
	return base64.RawStdEncoding.EncodeToString(cipherOf(cookie).Seal(nil, nil, []byte(text), nil))
}

// unseal returns the text, or nothing if it was not sealed with this cookie.
func unseal(cookie, sealed string) string {
	raw, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return ""
	}
	text, err := cipherOf(cookie).Open(nil, nil, raw, nil)
	if err != nil {
		return ""
	}
	return string(text)
}
