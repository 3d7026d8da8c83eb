package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
	"github.com/vektah/gqlparser/v2/ast"
)

// Bounds of single values, as the schema declares them for `submitQuote`. `trackQuote`
// uses them to recognize complete hints.
const (
	MaxEmailLength   = 254
	MaxNameLength    = 100
	MaxSlugLength    = 64
	MaxSessionLength = 128
	MaxFeatures      = 50
	MaxAmount        = 1e9
	MaxAttribution   = 200
	MaxConsentText   = 1000
)

// constraint is a @constraint or a @hint directive.
type constraint struct {
	hint        bool
	maxLength   int // 0 if unbounded
	maxDistinct int // 0 if unbounded
	maxItems    int // 0 if unbounded
	min, max    float64
	format      ConstraintFormat
	notAbove    string // name of the neighbouring field
	notEmpty    bool
	lines       bool // may have several lines
}

func newConstraint(d *ast.Directive) *constraint {
	args := d.ArgumentMap(nil)
	bound := func(name string, otherwise float64) float64 {
		if f, ok := number(args[name]); ok {
			return f
		}
		return otherwise
	}

	c := &constraint{
		hint:        d.Name == "hint",
		maxLength:   int(bound("maxLength", 0)),
		maxDistinct: int(bound("maxDistinctItems", 0)),
		maxItems:    int(bound("maxItems", 0)),
		min:         bound("min", math.Inf(-1)),
		max:         bound("max", math.Inf(1)),
	}

	format, _ := args["format"].(string)
	c.format = ConstraintFormat(format)
	c.notAbove, _ = args["notAbove"].(string)
	c.notEmpty, _ = args["notEmpty"].(bool)
	c.lines, _ = args["lines"].(bool)

	return c
}

// text returns the error of a string that is not empty. The code of the error is empty if
// the string is valid.
func (c *constraint) text(raw string, formats *Formats) FieldError {
	s := Trim(raw)
	if c.format == ConstraintFormatEmail {
		s = TrimEmail(raw)
	}
	forbidden := func(r rune) bool {
		line := r == '\n' || r == '\r' || r == '\t'
		return unicode.IsControl(r) && (!c.lines || !line)
	}

	switch {
	case !utf8.ValidString(raw) || strings.ContainsFunc(raw, forbidden):
		message := "must not contain line breaks or other control characters"
		if c.lines {
			message = "must not contain control characters other than line breaks and tabs"
		}
		return FieldError{Code: FieldCodeControlCharacters, Message: message}
	case c.maxLength > 0 && utf8.RuneCountInString(s) > c.maxLength:
		return TooLong("", c.maxLength)
	}
	return formats.check(c.format, s, raw)
}

// Trim returns a text without the white space around it. It returns an empty text if
// nothing in it can be seen, such as a zero-width space or a Hangul filler alone.
func Trim(s string) string {
	if !strings.ContainsFunc(s, visible) {
		return ""
	}
	return strings.TrimSpace(s)
}

// TrimEmail returns an address without white space and invisible characters around it, which
// come with a pasted text.
func TrimEmail(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unseen(r) || r == ' ' })
}

// UnixLines returns a trimmed text whose lines end with a line feed.
func UnixLines(s string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(Trim(s))
}

// visible reports whether a character shows on its own. A control character counts, so
// that it is reported as such.
func visible(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Cc) && !unseen(r) && r != ' '
}

// unseen reports whether a character has no shape, wherever it stands, such as a zero-width
// space, a mark of direction or a blank other than the usual space.
func unseen(r rune) bool {
	const brailleBlank = '\u2800'
	return r != ' ' && unicode.IsSpace(r) || r == brailleBlank ||
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// number returns the error of a number. The code of the error is empty if the number is
// valid.
func (c *constraint) number(n float64) FieldError {
	switch {
	case n < c.min:
		return bounded("", FieldCodeBelowMin, "min", c.min, fmt.Sprintf("must be at least %.10g", c.min))
	case n > c.max:
		return bounded("", FieldCodeAboveMax, "max", c.max, fmt.Sprintf("must be at most %.10g", c.max))
	}
	return FieldError{}
}

// Formats checks that single values have the format that their field requires.
type Formats struct{ validate *validator.Validate }

// NewFormats returns the checks of single values.
func NewFormats() *Formats { return &Formats{validator.New()} }

// Email reports whether s is a bare e-mail address of at most 254 characters, all of which
// can be seen, whose domain has a dot.
func (f *Formats) Email(s string) bool {
	domain := s[strings.LastIndexByte(s, '@')+1:]
	return strings.Contains(domain, ".") && utf8.RuneCountInString(s) <= MaxEmailLength &&
		!strings.ContainsFunc(s, unseen) && f.validate.Var(s, "email") == nil
}

// Currency reports whether s is a currency code of ISO 4217.
func (f *Formats) Currency(s string) bool { return f.validate.Var(s, "iso4217") == nil }

// Slug reports whether s consists of lower-case letters and digits, joined by single - or
// _, and has at most 64 characters.
func (f *Formats) Slug(s string) bool {
	inWord := false
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			inWord = true
		case inWord && (r == '-' || r == '_'):
			inWord = false
		default:
			return false
		}
	}
	return inWord && len(s) <= MaxSlugLength
}

const sessionCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"

// sessionID reports whether s has 1 to 128 of the sessionCharacters and no others.
func sessionID(s string) bool {
	return s != "" && len(s) <= MaxSessionLength && strings.Trim(s, sessionCharacters) == ""
}

// phone reports whether s has at least 5 digits. Numbers are written in too many ways to
// require more.
func phone(s string) bool {
	digits := 0
	for _, r := range s {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits >= 5
}

// check returns the error of a text in the wrong format. Identifiers may not have white
// space around them.
func (f *Formats) check(format ConstraintFormat, trimmed, raw string) FieldError {
	switch {
	case format == ConstraintFormatEmail && !f.Email(trimmed):
		return FieldError{
			Code:    FieldCodeInvalidEmail,
			Message: "must be an e-mail address such as ana@example.com",
		}

	case format == ConstraintFormatCurrency && !f.Currency(trimmed):
		return FieldError{
			Code:    FieldCodeInvalidCurrency,
			Message: "must be a currency code in capitals, such as EUR",
		}

	case format == ConstraintFormatPhone && !phone(trimmed):
		return FieldError{
			Code:    FieldCodeInvalidPhone,
			Message: "must be a telephone number with at least 5 digits",
		}

	case format == ConstraintFormatSlug && !f.Slug(raw):
		return FieldError{
			Code:    FieldCodeNotASlug,
			Message: "must be lower-case letters, digits and hyphens, such as web-app",
		}

	case format == ConstraintFormatSessionID && !sessionID(raw):
		return FieldError{
			Code:    FieldCodeInvalidSessionID,
			Message: "must be 1 to 128 letters, digits and the characters . _ : -",
		}
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
