package cms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// LanguageField is the field that holds a document's language where a site has not
// chosen another name.
const LanguageField = "language"

var validID = regexp.MustCompile(`^[a-zA-Z0-9_.][a-zA-Z0-9._-]{0,127}$`)

// ValidID reports whether the CMS would take an id: up to 128 characters of
// a-z A-Z 0-9 . _ -, the first of which is no hyphen.
func ValidID(id string) bool { return validID.MatchString(id) }

// Decoder reads documents as the CMS holds them.
type Decoder struct {
	// LanguageField names the field with a document's language. Empty: LanguageField.
	LanguageField string
	// AssetURL returns the address of the picture or file that a reference names, or ""
	// where it knows none. nil: none is known.
	AssetURL func(ref string) string
}

// Decode reads one document. The field names it needs are taken to the letter, unlike
// encoding/json's own habit. An _updatedAt that is no RFC 3339 time counts as not stated.
func (dec Decoder) Decode(raw json.RawMessage) (Document, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return Document{}, errors.New("a document is not a JSON object")
	}
	d := Document{}
	if err := text(fields, "_id", &d.ID); err != nil {
		return Document{}, err
	}
	if !ValidID(d.ID) {
		return Document{}, fmt.Errorf("_id %.140q is missing or holds other characters than a-z A-Z 0-9 . _ -", d.ID)
	}
	if err := text(fields, "_type", &d.Type); err != nil {
		return Document{}, fmt.Errorf("document %q: %w", d.ID, err)
	}
	if d.Type == "" {
		return Document{}, fmt.Errorf("document %q: _type is missing", d.ID)
	}
	name := dec.LanguageField
	if name == "" {
		name = LanguageField
	}
	if err := text(fields, name, &d.Language); err != nil {
		return Document{}, fmt.Errorf("document %q: %w", d.ID, err)
	}
	var updated string
	if text(fields, "_updatedAt", &updated) == nil {
		if at, err := time.Parse(time.RFC3339, updated); err == nil {
			d.UpdatedAt = at.UTC()
		}
	}
	var err error
	if d.Fields, err = dec.resolve(raw); err != nil {
		return Document{}, fmt.Errorf("document %q: %w", d.ID, err)
	}
	return d, nil
}

// text reads a field that is a string, null or missing.
func text(fields map[string]json.RawMessage, name string, into *string) error {
	raw, ok := fields[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s is not a string", name)
	}
	return nil
}

// resolve returns a document in compact form with the addresses of its assets.
func (dec Decoder) resolve(raw json.RawMessage) (json.RawMessage, error) {
	if dec.AssetURL != nil && bytes.Contains(raw, []byte(`"_ref"`)) {
		return dec.withURLs(raw)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
