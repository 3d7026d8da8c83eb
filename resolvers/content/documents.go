package content

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// Selection selects and orders documents of a type.
type Selection struct {
	ID, Slug      *string
	OrderBy       []string // names of fields, descending after "-"
	First, Offset *int
}

// Documents returns the selected documents of a type. Documents without the field of an
// order come last, and equal ones are ordered by id.
func (s *Snapshot) Documents(documentType string, q Selection) []*schema.ContentDocument {
	found := append([]*schema.ContentDocument{}, s.documents[documentType]...)
	found = slices.DeleteFunc(found, func(d *schema.ContentDocument) bool {
		return q.ID != nil && d.ID != *q.ID || q.Slug != nil && (*q.Slug == "" || slugOf(d) != *q.Slug)
	})

	// Each sort is stable, so the first name decides and the ids come last.
	for _, name := range slices.Backward(q.OrderBy) {
		field, descending := strings.CutPrefix(name, "-")
		keys := s.sortKeys(documentType)[field]
		slices.SortStableFunc(found, func(a, b *schema.ContentDocument) int {
			x, y := keys[a], keys[b]
			switch {
			case x == nil && y != nil:
				return 1
			case x != nil && y == nil:
				return -1
			case descending:
				return bytes.Compare(y, x)
			}
			return bytes.Compare(x, y)
		})
	}

	found = found[min(schema.ValueOr(q.Offset, 0), len(found)):]
	return found[:min(schema.ValueOr(q.First, len(found)), len(found))]
}

// slugOf returns the slug of a document, empty if it has none.
func slugOf(d *schema.ContentDocument) string {
	fields, _ := d.Fields.(json.RawMessage)
	_, slug := cms.OptionSlug(cms.Document{Fields: fields})
	return slug
}

// sortKeys returns the sort keys of a type's documents by field. They are computed once.
func (s *Snapshot) sortKeys(documentType string) map[string]map[*schema.ContentDocument][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if keys, ok := s.keys[documentType]; ok {
		return keys
	}

	keys := map[string]map[*schema.ContentDocument][]byte{}
	// A collator is not safe for concurrent use.
	texts := collate.New(language.Make(string(s.Locale)))
	for _, doc := range s.documents[documentType] {
		fields := map[string]any{}
		_ = json.Unmarshal(doc.Fields.(json.RawMessage), &fields) // drivers return objects only
		if doc.UpdatedAt != nil {
			fields["_updatedAt"] = doc.UpdatedAt.Format(time.RFC3339Nano)
		}

		for name, value := range fields {
			if key := sortKey(value, string(s.Locale), texts); key != nil {
				if keys[name] == nil {
					keys[name] = map[*schema.ContentDocument][]byte{}
				}
				keys[name][doc] = key
			}
		}
	}
	s.keys[documentType] = keys
	return keys
}

// maxSortText is the number of bytes of a text that its sort key represents.
const maxSortText = 256

// sortKey returns bytes in the order of the values: numbers and times, then texts in the
// order of a language. It returns nil for any other value.
func sortKey(value any, locale string, texts *collate.Collator) []byte {
	number, isNumber := value.(float64)
	text, _ := cms.Text(value, locale)
	text = schema.Clean(text)
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			number, isNumber = float64(at.UnixMicro()), true
		}
	}

	switch {
	case isNumber:
		bits := math.Float64bits(number) | 1<<63
		if number < 0 {
			bits = ^math.Float64bits(number)
		}
		return binary.BigEndian.AppendUint64([]byte{0}, bits)
	case text == "":
		return nil
	}
	var key collate.Buffer
	return append([]byte{1}, texts.KeyFromString(&key, text[:min(len(text), maxSortText)])...)
}
