package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
)

// bounds is a compiled @constraint directive. A nil pointer bounds nothing.
type bounds struct {
	minLength, maxLength int // 0: none
	pattern              *regexp.Regexp
	format               ConstraintFormat
	min, max             *float64
	notAbove             string
	maxDistinct          int
	notEmpty             bool
	formats              *Formats
}

func newBounds(d *ast.Directive, formats *Formats) (*bounds, error) {
	if d == nil {
		return nil, nil //nolint:nilnil // no directive, no bounds: a nil *bounds is usable
	}
	b := &bounds{formats: formats}
	var errs []error
	for _, arg := range d.Arguments {
		if err := b.set(arg.Name, arg.Value); err != nil {
			errs = append(errs, fmt.Errorf("@constraint(%s): %w", arg.Name, err))
		}
	}
	return b, errors.Join(errs...)
}

func (b *bounds) set(name string, v *ast.Value) (err error) {
	switch name {
	case "minLength":
		b.minLength, err = strconv.Atoi(v.Raw)
	case "maxLength":
		b.maxLength, err = strconv.Atoi(v.Raw)
	case "maxDistinctItems":
		b.maxDistinct, err = strconv.Atoi(v.Raw)
	case "pattern":
		b.pattern, err = regexp.Compile(v.Raw)
	case "format":
		b.format = ConstraintFormat(v.Raw)
	case "notAbove":
		b.notAbove = v.Raw
	case "notEmpty":
		b.notEmpty, err = strconv.ParseBool(v.Raw)
	case "min":
		b.min, err = parseFloat(v.Raw)
	case "max":
		b.max, err = parseFloat(v.Raw)
	default:
		err = errors.New("unknown argument")
	}
	return err
}

func parseFloat(s string) (*float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	return &f, err
}

// takesEmpty reports whether an empty text is as good as none.
func (b *bounds) takesEmpty() bool { return b != nil && b.minLength == 0 }

// text says what is wrong with a string, in words that don't repeat it. White space at
// its ends counts only where a pattern has to match.
func (b *bounds) text(raw string) string {
	s := strings.TrimSpace(raw)
	n := utf8.RuneCountInString(s)
	switch {
	case b.minLength > 0 && n == 0:
		return "is required"
	case n < b.minLength:
		return fmt.Sprintf("must have at least %d characters", b.minLength)
	case b.maxLength > 0 && n > b.maxLength:
		return fmt.Sprintf("may have at most %d characters", b.maxLength)
	case b.pattern != nil && !b.pattern.MatchString(raw):
		return "must match " + b.pattern.String()
	case b.format != "":
		return b.formatted(s)
	default:
		return ""
	}
}

func (b *bounds) formatted(s string) string {
	switch b.format {
	case ConstraintFormatEmail:
		if !b.formats.Email(s) {
			return "must be an e-mail address such as ana@example.com"
		}
	case ConstraintFormatCurrency:
		if !b.formats.Currency(s) {
			return "must be a currency of ISO 4217, such as EUR"
		}
	case ConstraintFormatPhone:
		if s != "" && !b.formats.Phone(s) {
			return "must be a telephone number with at least 5 digits"
		}
	}
	return ""
}

// number says what is wrong with a number.
func (b *bounds) number(n float64) string {
	switch {
	case b.min != nil && n < *b.min:
		return fmt.Sprintf("may not be below %s", plain(*b.min))
	case b.max != nil && n > *b.max:
		return fmt.Sprintf("may not be above %s", plain(*b.max))
	default:
		return ""
	}
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
