package schema

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
	"github.com/vektah/gqlparser/v2/ast"
)

// Bounds of single values, as the schema declares them for `submitQuote`. `trackQuote` uses them to tell a usable
// hint from half of one.
const (
	MaxEmailLength   = 254
	MaxNameLength    = 100
	MaxSlugLength    = 64
	MaxSessionLength = 128
	MaxFeatures      = 50
	MaxAmount        = 1e9
	minPhoneDigits   = 5
)

// constraint is a @constraint directive. Nil bounds nothing.
type constraint struct {
	maxLength   int
	format      ConstraintFormat
	min, max    *float64
	notAbove    string
	maxDistinct int
	notEmpty    bool
}

func newConstraint(list ast.DirectiveList) *constraint {
	d := list.ForName("constraint")
	if d == nil {
		return nil
	}
	args := d.ArgumentMap(nil)
	c := &constraint{}
	whole := func(name string) int { n, _ := args[name].(int64); return int(n) }
	float := func(name string) *float64 {
		if f, ok := number(args[name]); ok {
			return &f
		}
		return nil
	}
	c.maxLength, c.maxDistinct = whole("maxLength"), whole("maxDistinctItems")
	c.min, c.max = float("min"), float("max")
	format, _ := args["format"].(string)
	c.format = ConstraintFormat(format)
	c.notAbove, _ = args["notAbove"].(string)
	c.notEmpty, _ = args["notEmpty"].(bool)
	return c
}

// text returns what is wrong with a string that is not empty; an empty code means nothing is.
func (c *constraint) text(raw string, formats *Formats) FieldError {
	s := strings.TrimSpace(raw)
	switch {
	case !utf8.ValidString(raw) || strings.ContainsFunc(raw, unicode.IsControl):
		return FieldError{Code: FieldCodeControlCharacters, Message: "must not contain line breaks or other control characters"}
	case c.maxLength > 0 && utf8.RuneCountInString(s) > c.maxLength:
		return TooLong("", c.maxLength)
	case c.format == ConstraintFormatEmail && !formats.Email(s):
		return FieldError{Code: FieldCodeInvalidEmail, Message: "must be an e-mail address such as ana@example.com"}
	case c.format == ConstraintFormatCurrency && !formats.Currency(s):
		return FieldError{Code: FieldCodeInvalidCurrency, Message: "must be a currency code in capitals, such as EUR"}
	case c.format == ConstraintFormatPhone && !formats.Phone(s):
		return FieldError{
			Code: FieldCodeInvalidPhone, Message: fmt.Sprintf("must be a telephone number with at least %d digits", minPhoneDigits),
		}
	case c.format == ConstraintFormatSlug && !formats.Slug(raw):
		return FieldError{
			Code: FieldCodeNotASlug, Message: "must be lower-case letters, digits and hyphens, such as web-app",
		}
	case c.format == ConstraintFormatSessionID && !formats.SessionID(raw):
		return FieldError{
			Code: FieldCodeInvalidSessionID, Message: "must be 1 to 128 letters, digits and the characters . _ : -",
		}
	}
	return FieldError{}
}

// number returns what is wrong with a number.
func (c *constraint) number(n float64) FieldError {
	switch {
	case c.min != nil && n < *c.min:
		return FieldError{
			Code: FieldCodeBelowMin, Params: map[string]any{"min": *c.min}, Message: fmt.Sprintf("must be at least %.10g", *c.min),
		}
	case c.max != nil && n > *c.max:
		return FieldError{
			Code: FieldCodeAboveMax, Params: map[string]any{"max": *c.max}, Message: fmt.Sprintf("must be at most %.10g", *c.max),
		}
	}
	return FieldError{}
}

// Formats tells whether single values have the format that their field asks for.
type Formats struct {
	validate *validator.Validate
}

// NewFormats returns the checks of single values.
func NewFormats() *Formats { return &Formats{validate: validator.New()} }

// Email reports whether s is a bare e-mail address of at most 254 characters whose domain has a dot.
func (f *Formats) Email(s string) bool {
	_, domain, _ := strings.Cut(s, "@")
	return strings.Contains(domain, ".") && utf8.RuneCountInString(s) <= MaxEmailLength && f.validate.Var(s, "email") == nil
}

// Currency reports whether s is a currency code of ISO 4217.
func (f *Formats) Currency(s string) bool { return f.validate.Var(s, "iso4217") == nil }

// Slug reports whether s is lower-case letters and digits joined by single - or _, at most 64 of them.
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

// SessionID reports whether s is 1 to 128 characters of A-Z a-z 0-9 . _ : -.
func (f *Formats) SessionID(s string) bool {
	return s != "" && len(s) <= MaxSessionLength && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._:-", r)
	})
}

// Phone reports whether s has at least 5 digits. People write numbers in too many ways to ask for more.
func (f *Formats) Phone(s string) bool {
	digits := 0
	for _, r := range s {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits >= minPhoneDigits
}
