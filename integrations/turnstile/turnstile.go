// Package turnstile verifies the tokens of Cloudflare Turnstile, a bot check. The
// visitor's IP address is not sent, because the vendor saw it when it issued the token.
package turnstile

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"siteapi/integrations/upstream"
)

// MaxToken is the maximum length of a token that is verified, in bytes.
const MaxToken = 2048

const op = "verifying a token"

// Options describes a site that is registered with Turnstile.
type Options struct {
	// Secret is the site's secret key.
	Secret string

	// URL is the address of the API. The default is the vendor's.
	URL string

	// Observe is passed to the HTTP client. It may be nil.
	Observe func(ctx context.Context, c upstream.Call)
}

// Verifier verifies tokens with the vendor.
type Verifier struct {
	secret string
	client *upstream.Client
}

// New returns a verifier. It does no I/O.
func New(o Options) *Verifier {
	return &Verifier{
		secret: o.Secret,
		client: upstream.New(upstream.Options{
			System:  "turnstile",
			BaseURL: cmp.Or(o.URL, "https://challenges.cloudflare.com"),
			Timeout: 2 * time.Second, // a visitor waits for the call
			MaxBody: 64 << 10,
			Observe: o.Observe,
		}),
	}
}

// reply is a response of siteverify. It is used with any HTTP status.
type reply struct {
	Success *bool    `json:"success"`
	Errors  []string `json:"error-codes"`
}

// Verify reports whether a token was issued to a visitor who has just solved the
// challenge. A token is valid for one attempt, which may be repeated: for the same
// idempotency key the vendor repeats its response. After an error the validity is unknown.
func (v *Verifier) Verify(ctx context.Context, token, attempt string) (bool, error) {
	if token == "" || len(token) > MaxToken {
		return false, nil
	}

	key := uuid.NewSHA1(uuid.NameSpaceOID, []byte(token+"\x00"+attempt))

	resp, err := v.client.Do(ctx, upstream.Request{
		Op:     op,
		Method: http.MethodPost,
		Path:   "/turnstile/v0/siteverify",
		Body: map[string]string{
			"secret":          v.secret,
			"response":        token,
			"idempotency_key": key.String(),
		},
	})
	if err != nil {
		return false, err
	}

	var r reply
	if err := resp.Decode(&r); err != nil || r.Success == nil {
		kind := upstream.StatusKind(resp.Status)
		if kind == upstream.Rejected {
			kind = upstream.Unavailable // The token was not judged.
		}
		return false, v.client.Failure(op, resp, kind, "the response is not from siteverify")
	}

	codes := strings.Join(r.Errors, ", ")
	switch {
	case *r.Success:
		return true, nil
	case strings.Contains(codes, "-input-secret"):
		return false, v.client.Failure(op, resp, upstream.Refused, codes, v.secret)
	case codes == "", strings.Contains(codes, "internal-error"), strings.Contains(codes, "bad-request"):
		return false, v.client.Failure(op, resp, upstream.Unavailable, codes, v.secret)
	}

	return false, nil // The token is forged, expired or used.
}
