package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

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

// UnmarshalJSON accepts any decoded JSON value.
func UnmarshalJSON(v any) (any, error) { return v, nil }

// MarshalID writes an id.
func MarshalID(id string) graphql.Marshaler { return graphql.MarshalID(id) }

// UnmarshalID trims an id, because its @constraint checks the trimmed text.
func UnmarshalID(v any) (string, error) {
	id, err := graphql.UnmarshalID(v)
	return Clean(id), err
}

// MarshalString writes a string.
func MarshalString(text string) graphql.Marshaler { return graphql.MarshalString(text) }

// UnmarshalString cleans a string, because its @constraint checks the clean one.
func UnmarshalString(v any) (string, error) {
	text, err := graphql.UnmarshalString(v)
	return Clean(text), err
}

// MarshalBase64 writes bytes in standard base64 with padding.
func MarshalBase64(b []byte) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		text, _ := json.Marshal(b) // base64 in quotes
		_, _ = w.Write(text)
	})
}

// UnmarshalBase64 always fails, because the schema accepts no such value.
func UnmarshalBase64(any) ([]byte, error) { return nil, errors.ErrUnsupported }
