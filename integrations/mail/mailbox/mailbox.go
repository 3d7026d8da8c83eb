// Package mailbox normalizes e-mail addresses, so that all spellings of one mailbox
// match.
package mailbox

import (
	"errors"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Key returns the normalized form of an address: without invisible characters, in lower
// case, the local part without quotes and the domain in ASCII. Limits, erasures and
// consents identify an address by its key.
func Key(email string) string {
	email = strings.TrimSpace(strings.Map(dropInvisible, email))
	local, domain, err := Split(email)
	if err != nil {
		return strings.ToLower(email)
	}
	return strings.ToLower(norm.NFC.String(local)) + "@" + domain
}

// escaped matches a character with a backslash in a quoted string.
var escaped = regexp.MustCompile(`(?s)\\(.)`)

// Split returns the parts of a bare address as mail servers expect them: the local part
// without quotes, and the domain in ASCII. The error does not repeat the address.
func Split(bare string) (local, domain string, err error) {
	at := strings.LastIndexByte(bare, '@')
	if at < 1 || strings.ContainsFunc(bare, unicode.IsControl) {
		return "", "", errors.New("not an address")
	}

	domain, err = idna.Lookup.ToASCII(bare[at+1:])
	domain = strings.TrimSuffix(domain, ".")
	if err != nil || domain == "" {
		return "", "", errors.New("the domain is not valid")
	}

	local = bare[:at]
	switch {
	case len(local) > 1 && local[0] == '"' && local[len(local)-1] == '"':
		local = escaped.ReplaceAllString(local[1:len(local)-1], "$1")
	case strings.ContainsAny(local, ` "(),:;<>@[\]`):
		return "", "", errors.New("not an address")
	}
	return local, domain, nil
}

// dropInvisible drops invisible characters, such as a zero-width space or a direction
// mark. New addresses with such characters are rejected, but earlier releases stored
// some.
func dropInvisible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}
