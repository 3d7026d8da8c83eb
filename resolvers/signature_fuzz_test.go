package resolvers

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzSignature sends any header and any body. A header that nobody signed is refused
// whatever it looks like; one that was signed is accepted exactly as long as it is
// fresh, and neither with another body nor with any byte of it changed.
func FuzzSignature(f *testing.F) {
	now := time.UnixMilli(1_770_000_000_000)
	for _, seed := range []string{
		"", "t=1770000000000,v1=AAAA", "t=1770000000000, v1=", "t=-1,v1=AAAA", "t=999999999999999,v1=AAAA", "t=1,v1=A,v1=B", "v1=AAAA,t=1",
		"t=1770000000000,v1=" + base64.RawURLEncoding.EncodeToString(sign("wrong", "1770000000000", []byte("{}"))),
	} {
		f.Add(seed, []byte(`{"_type":"heroSection"}`), int64(0), uint8(0))
	}
	f.Add("", []byte{}, int64(300_000), uint8(3))
	f.Add("", []byte{0xff}, int64(-300_001), uint8(40))
	s := &signatures{secrets: []string{"old-secret", "new-secret"}, now: func() time.Time { return now }}
	f.Fuzz(func(t *testing.T, header string, body []byte, shift int64, at uint8) {
		if s.verify(header, body) == nil && !signedByUs(s.secrets, header, body) {
			t.Fatalf("%q is accepted for %q", header, body)
		}
		stamp := now.UnixMilli() + shift%(20*60*1000)
		header = fmt.Sprintf("t=%d,v1=%s", stamp, base64.RawURLEncoding.EncodeToString(sign("new-secret", strconv.FormatInt(stamp, 10), body)))
		age := now.Sub(time.UnixMilli(stamp)).Abs()
		if err := s.verify(header, body); (err == nil) != (age <= signatureTolerance) {
			t.Fatalf("signed %v from now: %v", age, err)
		}
		if s.verify(header, append([]byte("x"), body...)) == nil {
			t.Fatalf("%q is accepted for another body", header)
		}
		// The last character of 43 holds four bits of the signature and two of nothing.
		i := int(at) % (len(header) - 1)
		changed := header[:i] + string(header[i]^1) + header[i+1:]
		if s.verify(changed, body) == nil {
			t.Fatalf("%q is accepted, signed was %q", changed, header)
		}
	})
}

// signedByUs finds out in the plainest way whether a header is one that a secret made.
func signedByUs(secrets []string, header string, body []byte) bool {
	stamp, _, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",")
	stamp, _, _ = strings.Cut(stamp, " ")
	for _, secret := range secrets {
		want := base64.RawURLEncoding.EncodeToString(sign(secret, stamp, body))
		if strings.HasSuffix(header[:max(len(header)-1, 0)], want[:len(want)-1]) {
			return true
		}
	}
	return false
}
