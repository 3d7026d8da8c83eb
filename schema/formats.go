package schema

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// Bounds that the contract sets for single values. The schema declares the same ones
// for `submitQuote`; `trackQuote` uses them to tell a usable hint from half of one.
const (
	MaxEmailLength = 254
	MaxNameLength  = 100
	MaxSlugLength  = 64
	MaxFeatures    = 50
	MaxAmount      = 1e9
	minPhoneDigits = 5
)

// Formats tells whether single values have the format their field asks for.
type Formats struct {
	validate *validator.Validate
}

// NewFormats returns the checks of single values.
func NewFormats() *Formats {
	return &Formats{validate: validator.New(validator.WithRequiredStructEnabled())}
}

// Email reports whether s is a bare e-mail address of at most 254 characters whose
// domain has a dot: a mail host without one is none a customer has.
func (f *Formats) Email(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if ok && len(s) <= MaxEmailLength && plainLocal(local) && plainDomain(domain) {
		return true
	}
	return ok && strings.Contains(domain, ".") && utf8.RuneCountInString(s) <= MaxEmailLength &&
		f.validate.Var(s, "email") == nil
}

// plainLocal and plainDomain tell the halves of an address as nearly everybody has one.
// For every other address the library is asked, which takes thirty times as long.
func plainLocal(s string) bool {
	joined := true // a dot is not allowed here, nor is the end
	for _, c := range []byte(s) {
		switch {
		case plainLetter(c), c >= '0' && c <= '9', c == '-', c == '_', c == '+':
			joined = false
		case c == '.' && !joined:
			joined = true
		default:
			return false
		}
	}
	return !joined
}

func plainDomain(s string) bool {
	labels, joined, letters := 1, true, true // letters: of the label so far
	for _, c := range []byte(s) {
		switch {
		case plainLetter(c):
			joined = false
		case c >= '0' && c <= '9':
			joined, letters = false, false
		case c == '.' && !joined:
			joined, letters = true, true
			labels++
		default:
			return false
		}
	}
	return labels > 1 && letters && !joined
}

func plainLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// Currency reports whether s is a currency code of ISO 4217.
func (f *Formats) Currency(s string) bool { return f.validate.Var(s, "iso4217") == nil }

// Slug reports whether s is lower-case letters and digits joined by single - or _.
func (f *Formats) Slug(s string) bool {
	joined := true // a - or _ is not allowed here, nor is the end
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			joined = false
		case (c == '-' || c == '_') && !joined:
			joined = true
		default:
			return false
		}
	}
	return !joined && len(s) <= MaxSlugLength
}

// Phone reports whether s has at least 5 digits. People write numbers in too many
// ways to ask for more.
func (f *Formats) Phone(s string) bool {
	digits := 0
	for _, r := range s {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits >= minPhoneDigits
}

// Locales lists the languages of the site in the order of the schema; the first is
// the default.
func Locales() []Locale { return slices.Clone(AllLocale) }

// DefaultLocale is the language that is used where none is asked for.
const DefaultLocale = LocaleEn

// ParseLocale returns the locale with that name.
func ParseLocale(name string) (Locale, bool) {
	l := Locale(name)
	return l, l.IsValid()
}
