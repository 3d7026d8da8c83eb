// Package mailbox decides which spellings of an e-mail address reach one mailbox.
package mailbox

import (
	"errors"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Key returns the form that all spellings of an address share: without characters that
// cannot be seen, in lower case, the local part without quotes and the domain in ASCII.
// Limits of an address, its erasure and its consents go by it.
func Key(email string) string {
	email = strings.TrimSpace(strings.Map(withoutUnseen, email))
	local, domain, err := Split(email)
	if err != nil {
		return strings.ToLower(email)
	}
	return strings.ToLower(norm.NFC.String(local)) + "@" + domain
}

// Split returns the parts of a bare address as mail servers take them: the local part without
// quotes, and the domain in ASCII. The error does not repeat the address.
func Split(bare string) (local, domain string, err error) {
	at := strings.LastIndexByte(bare, '@')
	if at < 1 || strings.ContainsFunc(bare, unicode.IsControl) {
		return "", "", errors.New("not an address")
	}

	domain, err = idna.Lookup.ToASCII(bare[at+1:])
	domain = strings.TrimSuffix(domain, ".")
	if err != nil || domain == "" {
		return "", "", errors.New("its domain can't be looked up")
	}

	local = bare[:at]
	switch {
	case len(local) > 1 && local[0] == '"' && local[len(local)-1] == '"':
		local = unquote(local[1 : len(local)-1])
	case strings.ContainsAny(local, ` "(),:;<>@[\]`):
		return "", "", errors.New("not an address")
	}
	return local, domain, nil
}

// unquote removes the backslashes of a quoted string.
func unquote(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// withoutUnseen drops characters without a shape of their own, such as a zero-width space or
// a mark of direction. They are refused in new addresses, but earlier releases stored some.
func withoutUnseen(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}
