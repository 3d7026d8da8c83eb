package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
	"github.com/vektah/gqlparser/v2/ast"
	"golang.org/x/net/idna"
)

// Bounds of single values, as the schema declares them for `submitQuote`. `trackQuote`
// uses them to recognize complete hints.
const (
	MaxEmailLength = 254
	MaxNameLength  = 100
	MaxSlugLength  = 64
	MaxFeatures    = 50
	MaxQuantities  = MaxFeatures + 3
	MinCount       = 0.01
	MaxCount       = 1e6
	MaxAmount      = 1e9
	MaxAttribution = 200
	MaxConsentText = 1000
)

// constraint is a @constraint or a @hint directive. Its fields have the names of the
// arguments.
type constraint struct {
	hint             bool
	MaxLength        int // 0 if unbounded
	MaxDistinctItems int // 0 if unbounded
	MaxItems         int // 0 if unbounded
	Min, Max         *float64
	Decimals         *int
	Unique           string // name of a field of the items
	Format           ConstraintFormat
	NotAbove         string // name of the sibling field
	NotEmpty         bool
	Lines            bool // may have several lines
}

func newConstraint(d *ast.Directive) *constraint {
	c := &constraint{hint: d.Name == "hint"}
	text, err := json.Marshal(d.ArgumentMap(nil))
	if err = errors.Join(err, json.Unmarshal(text, c)); err != nil {
		panic(fmt.Errorf("reading @%s: %w", d.Name, err)) // the schema is valid
	}
	return c
}

// text checks a string that is not empty. The code of the error is empty if the string is
// valid.
func (c *constraint) text(raw string) FieldError {
	s := Clean(raw)
	switch c.Format {
	case ConstraintFormatEmail:
		s = CleanEmail(raw)
	case ConstraintFormatPhone:
		s = CleanPhone(raw)
	}

	switch {
	case !utf8.ValidString(raw):
		return unreadable()
	case !c.Lines && !c.hint && strings.Contains(s, "\n"):
		return Invalid("", FieldCodeControlCharacters, "must not contain line breaks")
	case c.MaxLength > 0 && utf8.RuneCountInString(s) > c.MaxLength:
		return TooLong("", c.MaxLength)
	}
	return checkFormat(c.Format, s, raw)
}

// number checks a number. The code of the error is empty if the number is valid.
func (c *constraint) number(n float64) FieldError {
	switch {
	case c.Min != nil && n < *c.Min:
		return bounded("", FieldCodeBelowMin, "min", *c.Min, fmt.Sprintf("must be at least %.10g", *c.Min))
	case c.Max != nil && n > *c.Max:
		return bounded("", FieldCodeAboveMax, "max", *c.Max, fmt.Sprintf("must be at most %.10g", *c.Max))
	}

	_, decimals, _ := strings.Cut(strconv.FormatFloat(n, 'f', -1, 64), ".")
	if c.Decimals != nil && len(decimals) > *c.Decimals {
		return bounded("", FieldCodeTooPrecise, "max", *c.Decimals,
			fmt.Sprintf("must have at most %d decimals", *c.Decimals))
	}
	return FieldError{}
}

// formats has checks of common formats.
var formats = validator.New()

// Limits of RFC 5321 and RFC 1035: mail servers accept no longer parts of an address.
const maxLocalPart = 64 // bytes

var mailDomain = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(true))

// IsEmail reports whether s is a bare e-mail address of at most 254 characters, without
// invisible ones, whose domain has a dot and whose parts are not too long.
func IsEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	domain, err := mailDomain.ToASCII(s[at+1:])
	return err == nil && at <= maxLocalPart && strings.Contains(domain, ".") &&
		utf8.RuneCountInString(s) <= MaxEmailLength &&
		!strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && unseen(r) }) &&
		formats.Var(s, "email") == nil
}

// IsCurrency reports whether s is a currency code of ISO 4217.
func IsCurrency(s string) bool { return formats.Var(s, "iso4217") == nil }

var (
	slugForm    = regexp.MustCompile(`^[a-z0-9]+(?:[-_][a-z0-9]+)*$`)
	sessionForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	fiveDigits  = regexp.MustCompile(`(?:\p{Nd}\P{Nd}*){5}`) // telephone numbers are written in many ways
)

// IsSlug reports whether s consists of lower-case letters and digits, joined by single - or
// _, and has at most 64 characters.
func IsSlug(s string) bool { return len(s) <= MaxSlugLength && slugForm.MatchString(s) }

// checkFormat returns an error if a string does not have the format. Identifiers must not have
// white space around them.
func checkFormat(format ConstraintFormat, trimmed, raw string) FieldError {
	switch {
	case format == ConstraintFormatEmail && !IsEmail(trimmed):
		return Invalid("", FieldCodeInvalidEmail, "must be an e-mail address such as ana@example.com")
	case format == ConstraintFormatCurrency && !IsCurrency(trimmed):
		return Invalid("", FieldCodeInvalidCurrency, "must be a currency code in capitals, such as EUR")
	case format == ConstraintFormatPhone && !fiveDigits.MatchString(trimmed):
		return Invalid("", FieldCodeInvalidPhone, "must be a telephone number with at least 5 digits")
	case format == ConstraintFormatSlug && !IsSlug(raw):
		return Invalid("", FieldCodeNotASlug,
			"must be lower-case letters, digits and hyphens, such as web-app")
	case format == ConstraintFormatSessionID && !sessionForm.MatchString(raw):
		return Invalid("", FieldCodeInvalidSessionID,
			"must be 1 to 128 letters, digits and the characters . _ : -")
	}
	return FieldError{}
}

// number returns a JSON or GraphQL number as a finite float.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true // The number comes from a literal, which is finite.
	case int64:
		return float64(v), true
	case json.Number:
		f, err := v.Float64() // Infinity is an error.
		return f, err == nil
	}
	return 0, false
}
