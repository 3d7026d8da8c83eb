package resolvers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strconv"
	"time"

	"siteapi/schema"
)

// signatureTolerance is how far the clocks of CMS and service may differ.
const signatureTolerance = 5 * time.Minute

// signatureForm is what Sanity sends: t=<unix milliseconds>,v1=<signature>.
var signatureForm = regexp.MustCompile(`^t=(\d{1,15})[, ]+v1=([^, ]+)$`)

// signatures verifies the header `sanity-webhook-signature`.
type signatures struct {
	secrets []string // any of them may have signed
	now     func() time.Time
}

// verify returns UNAUTHENTICATED unless one of the secrets signed this very body
// within the last minutes. Source: the signature format of Sanity's webhooks.
func (s *signatures) verify(header string, body []byte) error {
	refused := &schema.Error{Code: schema.CodeUnauthenticated, Message: "The webhook signature is missing or not valid."}
	m := signatureForm.FindStringSubmatch(header)
	if m == nil {
		return refused
	}
	ms, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return refused
	}
	got, err := base64.RawURLEncoding.DecodeString(m[2])
	if err != nil {
		return refused
	}
	valid := false
	for _, secret := range s.secrets {
		valid = hmac.Equal(got, sign(secret, m[1], body)) || valid
	}
	if !valid {
		return refused
	}
	if age := s.now().Sub(time.UnixMilli(ms)); age.Abs() > signatureTolerance {
		refused.Message = "The webhook signature is too old or from the future."
		return refused
	}
	return nil
}

func sign(secret, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp))
	mac.Write([]byte{'.'})
	mac.Write(body)
	return mac.Sum(nil)
}
