package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/99designs/gqlgen/graphql"
)

// JSON is the Go form of the JSON scalar: the value as encoding/json decodes it, or a
// json.RawMessage, which is sent unchanged.
type JSON = any

// MarshalJSON writes any JSON value. A json.RawMessage is written unchanged and must be
// valid.
func MarshalJSON(v any) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		if raw, ok := v.(json.RawMessage); ok {
			_, _ = w.Write(raw)
			return
		}

		data, err := json.Marshal(v)
		if err != nil {
			// Only values decoded from JSON reach this scalar, so this is a bug.
			panic(fmt.Errorf("encoding a JSON scalar: %w", err))
		}

		_, _ = w.Write(data)
	})
}

// UnmarshalJSON takes any JSON value as it was decoded.
func UnmarshalJSON(v any) (any, error) { return v, nil }

// BinarySink receives the bytes of a Base64 value in place of their text form. An
// endpoint that sends them raw puts one into the context, which spares encoding and
// decoding.
type BinarySink struct {
	// Bytes is the last value that was written.
	Bytes []byte

	// Again returns the value as long as the operation would still give the same
	// response. It is nil if that is unknown.
	Again func() (value []byte, same bool)
}

type binarySinkKey struct{}

// WithBinarySink returns a context in which Base64 values go to sink. The response has an
// empty string in their place.
func WithBinarySink(ctx context.Context, sink *BinarySink) context.Context {
	return context.WithValue(ctx, binarySinkKey{}, sink)
}

// OfferAgain sets the function Again of the endpoint's sink, if it has one.
func OfferAgain(ctx context.Context, again func() ([]byte, bool)) {
	if sink, ok := ctx.Value(binarySinkKey{}).(*BinarySink); ok {
		sink.Again = again
	}
}

// MarshalBase64 writes bytes in standard base64 with padding.
func MarshalBase64(b []byte) graphql.ContextMarshaler {
	return graphql.ContextWriterFunc(func(ctx context.Context, w io.Writer) error {
		if sink, ok := ctx.Value(binarySinkKey{}).(*BinarySink); ok {
			sink.Bytes = b
			_, err := io.WriteString(w, `""`)
			return err
		}

		text, err := json.Marshal(b) // base64 in quotes
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
}

// UnmarshalBase64 always fails, because the schema accepts no such value.
func UnmarshalBase64(context.Context, any) ([]byte, error) { return nil, errors.ErrUnsupported }

// DefaultLocale is the language for requests that ask for none.
const DefaultLocale = LocaleEn

// Locales lists the languages of the site in the order of the schema.
func Locales() []Locale { return slices.Clone(AllLocale) }

// ParseLocale returns the locale with the given name.
func ParseLocale(name string) (Locale, bool) {
	l := Locale(name)
	return l, l.IsValid()
}
