// Package strictjson decodes untrusted JSON in the same way for GraphQL and REST. It
// rejects duplicate names in an object, invalid UTF-8, anything after the value, and
// input that would take much more memory than its length.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxDepth limits the nesting of objects and lists.
	MaxDepth = 64

	// maxGrowth is the maximum memory of an input as a multiple of its length. The allowance,
	// in bytes, is added to it and is enough for about 600 objects or 4,000 strings.
	maxGrowth, allowance = 10, 400 << 10
)

// Approximate memory of a value in bytes: its slot and header, and the additional cost of
// a map.
const valueCost, objectCost = 100, 320

// maxWhole limits whole numbers with a fraction or an exponent. Smaller ones are exact as float64.
const maxWhole = 1 << 53

// problem is an error of an input.
type problem string

func (p problem) Error() string { return string(p) }

// Decode returns the only value of data: a map[string]any, []any, string, json.Number,
// bool or nil. Half of a surrogate pair, which browsers send for a truncated emoji,
// becomes U+FFFD. A byte order mark before the value is ignored. The text of an error
// completes "The body is ". It contains the position where reading stopped, but no part
// of the input.
func Decode(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, problem("not valid JSON: it is not UTF-8")
	}

	d := &decoder{
		json: jsontext.NewDecoder(bytes.NewBuffer(data),
			jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)),
		budget: maxGrowth*len(data) + allowance,
	}

	value, err := d.value(0)
	if err == nil {
		if _, err = d.json.ReadToken(); errors.Is(err, io.EOF) {
			return value, nil
		}
		err = problem("not valid JSON: something follows the value")
	}

	return nil, d.explain(data, err)
}

type decoder struct {
	json   *jsontext.Decoder
	budget int // bytes that may still be spent
}

// spend deducts the cost of a value from the budget before the value is built.
func (d *decoder) spend(depth, cost int) error {
	if depth > MaxDepth {
		return problem(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}

	if d.budget -= cost; d.budget < 0 {
		return problem("too large: it has too many values")
	}
	return nil
}

// errEndOfList is returned in place of a value at the end of a list.
const errEndOfList = problem("]")

// value reads one value, depth levels below the outermost.
func (d *decoder) value(depth int) (any, error) {
	token, err := d.json.ReadToken()
	if err != nil {
		return nil, err
	}

	switch token.Kind() {
	case '{':
		return d.object(depth + 1)
	case '[':
		return d.list(depth + 1)
	case '"':
		text := token.String()
		return text, d.spend(0, valueCost+len(text))
	case '0':
		text := token.String()
		return number(text), d.spend(0, valueCost+len(text))
	case 't', 'f':
		return token.Bool(), d.spend(0, valueCost)
	case ']':
		return nil, errEndOfList
	default:
		return nil, d.spend(0, valueCost)
	}
}

// number returns a number. One that is whole is written as such, since GraphQL and JSON Schema
// accept 5.0 and 5e0 as integers.
func number(text string) json.Number {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && f == math.Trunc(f) && math.Abs(f) < maxWhole && strings.ContainsAny(text, ".eE") {
		text = strconv.FormatInt(int64(f), 10)
	}
	return json.Number(text)
}

func (d *decoder) object(depth int) (any, error) {
	if err := d.spend(depth, valueCost+objectCost); err != nil {
		return nil, err
	}

	fields := map[string]any{}
	for {
		token, err := d.json.ReadToken()
		if err != nil || token.Kind() == '}' {
			return fields, err
		}

		name := token.String()
		if _, twice := fields[name]; twice {
			return nil, problem("not valid JSON: an object has the same name twice")
		}

		d.budget -= len(name)
		if fields[name], err = d.value(depth); err != nil {
			return nil, err
		}
	}
}

func (d *decoder) list(depth int) (any, error) {
	if err := d.spend(depth, valueCost); err != nil {
		return nil, err
	}

	items := []any{}
	for {
		item, err := d.value(depth)
		if errors.Is(err, errEndOfList) {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// explain describes an error and its position in this package's own words, because the
// library's messages quote the input.
func (d *decoder) explain(data []byte, err error) error {
	at := d.json.InputOffset()
	own, isOwn := errors.AsType[problem](err)

	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return problem("empty: it has no JSON value")
	case isOwn:
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		at, own = int64(len(data)), "not valid JSON: it ends too early"
	default:
		if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			at = syntax.ByteOffset
		}
		own = "not valid JSON: unexpected character"
	}

	before := data[:min(max(at, 0), int64(len(data)))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("%w (line %d, column %d)", own, line, column)
}
