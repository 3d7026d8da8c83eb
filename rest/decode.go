package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep a body may be nested. Sensible ones stay far below it.
const maxDepth = 64

// decoders keeps decoders for reuse: their tables cost more than reading a small body.
type decoders struct{ pool sync.Pool }

// decode reads one JSON value of a shape, strictly: no invalid UTF-8, no name twice in
// an object, no NUL character, nothing behind the value. Fields an input object does
// not have are left out, as are their values. Errors are sentences for the client and
// never repeat what was sent.
//
// A body of no particular shape is somebody else's document, such as a webhook's, and is
// read leniently.
func (p *decoders) decode(raw []byte, sh *shape) (any, error) {
	if sh == anything {
		return decodeFreely(raw)
	}
	d, ok := p.pool.Get().(*decoder)
	if !ok {
		d = &decoder{}
	}
	d.raw, d.text, d.in = raw, string(raw), *bytes.NewBuffer(raw)
	// Names that stand twice are found while objects are filled. Half of a surrogate pair,
	// which is what a browser sends of a cut emoji, becomes U+FFFD.
	d.json.Reset(&d.in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if !utf8.Valid(raw) {
		d.raw, d.text, d.in = nil, "", bytes.Buffer{}
		p.pool.Put(d)
		return nil, errNotUTF8
	}
	value, err := d.document(sh)
	d.raw, d.text, d.in = nil, "", bytes.Buffer{}
	p.pool.Put(d)
	return value, err
}

var (
	errNotUTF8       = errors.New("the body is not acceptable JSON: it is not valid UTF-8")
	errTrailing      = errors.New("there is more behind the value")
	errNUL           = errors.New("a text holds a NUL character")
	errDuplicate     = errors.New("an object has a name twice")
	errTooDeep       = fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	errTooMany       = fmt.Errorf("it has more than %d values", maxValues)
	errTooManyLevels = fmt.Errorf("it is nested deeper than %d levels", maxFreeDepth)
	errNotObject     = errors.New("the body has to be a JSON object")
)

// decodeFreely reads any JSON value as encoding/json does: of a name that stands twice
// the last counts, and what is no character becomes U+FFFD. The sender would not repeat a
// notification that is refused.
func decodeFreely(raw []byte) (any, error) {
	if err := checkSize(raw); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, errors.New("the body is not JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return value, nil
}

// maxValues bounds the JSON values of a body that is decoded freely: each takes up to a
// few hundred bytes, however short its text is.
const (
	maxValues    = 10_000
	maxFreeDepth = 1_000
)

// checkSize refuses a body with too many or too deeply nested values before any of them
// is decoded. Commas and brackets inside of strings do not count.
func checkSize(raw []byte) error {
	values, depth, inString := 1, 0, false
	for i := 0; i < len(raw); i++ {
		switch ch := raw[i]; {
		case inString && ch == '\\':
			i++
		case ch == '"':
			inString = !inString
		case inString:
		case ch == '{', ch == '[':
			values++
			if depth++; depth > maxFreeDepth {
				return errTooManyLevels
			}
		case ch == '}', ch == ']':
			depth--
		case ch == ',':
			values++
		}
	}
	if values > maxValues {
		return errTooMany
	}
	return nil
}

// decoder reads one body. Texts are parts of one copy of it rather than copies of
// their own.
type decoder struct {
	json jsontext.Decoder
	in   bytes.Buffer
	raw  []byte
	text string
}

// document reads the only value of the body.
func (d *decoder) document(sh *shape) (any, error) {
	kind := d.json.PeekKind()
	value, err := d.value(sh, 0)
	if err == nil {
		if _, err = d.json.ReadToken(); err == nil {
			err = errTrailing
		}
	}
	switch {
	case !errors.Is(err, io.EOF) || value == nil && kind == 0:
		return nil, d.explain(err)
	case sh.object && kind != '{':
		return nil, errNotObject
	default:
		return value, nil
	}
}

// value reads a value of any kind. The shape only says what to keep of objects: whether
// the kind is the right one is the executor's to tell, together with all else that is
// wrong.
func (d *decoder) value(sh *shape, depth int) (any, error) {
	switch d.json.PeekKind() {
	case '{':
		if sh.items != nil && sh.items.object {
			sh = sh.items // one object stands for a list of one
		}
		return d.object(sh, depth+1)
	case '[':
		return d.list(sh, depth+1)
	}
	val, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	switch val.Kind() {
	case '"':
		return d.string(val)
	case '0':
		return d.number(val, sh), nil
	case 't':
		return true, nil
	case 'f':
		return false, nil
	default:
		return nil, nil //nolint:nilnil // the value null
	}
}

// object reads an object, keeping the fields its shape knows.
func (d *decoder) object(sh *shape, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if _, err := d.json.ReadToken(); err != nil {
		return nil, err
	}
	m := make(map[string]any, min(len(sh.fields), 8))
	for d.json.PeekKind() != '}' {
		quoted, err := d.json.ReadValue()
		if err != nil {
			return nil, err
		}
		name, within := "", anything
		if sh.object {
			field, err := d.field(sh, quoted)
			if err != nil {
				return nil, err
			}
			if field == nil {
				if err := d.json.SkipValue(); err != nil {
					return nil, err
				}
				continue
			}
			name, within = field.name, field.shape
		} else if name, err = d.string(quoted); err != nil {
			return nil, err
		}
		value, err := d.value(within, depth)
		if err != nil {
			return nil, err
		}
		before := len(m)
		if m[name] = value; len(m) == before {
			return nil, errDuplicate
		}
	}
	_, err := d.json.ReadToken()
	return m, err
}

// field returns the field with a quoted name, nil where the object has none.
func (d *decoder) field(sh *shape, quoted jsontext.Value) (*shapeField, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return sh.fields[string(quoted[1:len(quoted)-1])], nil
	}
	name, err := d.string(quoted)
	return sh.fields[name], err
}

// list reads a list. Lists in lists that the schema does not have are kept for the executor to refuse.
func (d *decoder) list(sh *shape, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if _, err := d.json.ReadToken(); err != nil {
		return nil, err
	}
	items := sh.items
	if items == nil {
		items = anything
	}
	list := make([]any, 0, 4)
	for d.json.PeekKind() != ']' {
		item, err := d.value(items, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := d.json.ReadToken()
	return list, err
}

// string returns the text of a quoted string that was just read.
func (d *decoder) string(quoted jsontext.Value) (string, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		end := int(d.json.InputOffset()) - 1
		return d.text[end-len(quoted)+2 : end], nil
	}
	text, _ := jsontext.AppendUnquote(nil, quoted) // it was valid when it was read, but for half pairs
	if bytes.IndexByte(text, 0) >= 0 {
		return "", errNUL
	}
	return string(text), nil
}

// number returns a float64 where the schema wants one and it fits, and otherwise the
// number as it is written, so that no digit is lost.
func (d *decoder) number(val jsontext.Value, sh *shape) any {
	if sh.float || (sh.items != nil && sh.items.float) {
		if f, err := strconv.ParseFloat(string(val), 64); err == nil {
			return f
		}
	}
	return json.Number(val)
}

// explain turns a decoder's error into a sentence with the place where reading stopped.
func (d *decoder) explain(err error) error {
	at, why := d.json.InputOffset(), ""
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		why = "it holds no value"
	case errors.Is(err, errTrailing), errors.Is(err, errNUL), errors.Is(err, errTooDeep), errors.Is(err, errDuplicate):
		why = err.Error()
	case errors.As(err, &syntax):
		at = syntax.ByteOffset
		why = d.syntax(syntax)
	default:
		why = "it can't be read"
	}
	at = min(max(at, 0), int64(len(d.raw)))
	before := d.raw[:at]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("the body is not acceptable JSON: %s (line %d, column %d)", why, line, column)
}

// syntax puts a syntax error into words of our own, since those of the library quote
// what was sent.
func (d *decoder) syntax(err *jsontext.SyntacticError) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	case !utf8.Valid(d.raw):
		return "it is not valid UTF-8"
	case strings.Contains(err.Err.Error(), "depth"):
		return errTooDeep.Error()
	default:
		return "a character is not allowed here"
	}
}
