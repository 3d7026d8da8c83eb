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

// Documents returns the selected documents of a type, and the number of those that match.
// Documents without the sort field come last, and equal ones are ordered by id.
func (s *Snapshot) Documents(documentType string, q Selection) (docs []*schema.ContentDocument, total int) {
	all := s.documents[documentType]
	places := make([]int32, 0, len(all))
	if q.Slug != nil {
		places = append(places, s.slugs(documentType).find(*q.Slug)...)
	} else {
		for place := range all {
			places = append(places, int32(place))
		}
	}
	if q.ID != nil {
		places = slices.DeleteFunc(places, func(place int32) bool { return all[place].ID != *q.ID })
	}

	total = len(places)
	if total > 1 && len(q.OrderBy) > 0 {
		s.sort(documentType, places, q.OrderBy)
	}
	places = places[min(schema.ValueOr(q.Offset, 0), total):]
	places = places[:min(schema.ValueOr(q.First, total), len(places))]

	docs = make([]*schema.ContentDocument, len(places))
	for i, place := range places {
		docs[i] = all[place]
	}
	return docs, total
}

// sort orders places of a type's documents by fields. Equal ones are ordered by place,
// which is the order of their ids.
func (s *Snapshot) sort(documentType string, places []int32, fields []string) {
	type order struct {
		ranks      []int32
		descending bool
	}
	var orders []order
	for _, name := range fields {
		field, descending := strings.CutPrefix(name, "-")
		if ranks := s.ranks(documentType)[field]; ranks != nil {
			orders = append(orders, order{ranks, descending})
		}
	}

	slices.SortFunc(places, func(a, b int32) int {
		for _, o := range orders {
			x, y := o.ranks[a], o.ranks[b]
			switch {
			case x == y:
				continue
			case x < 0:
				return 1
			case y < 0:
				return -1
			case o.descending:
				return int(y - x)
			}
			return int(x - y)
		}
		return int(a - b)
	})
}

// slugPlaces are the places of a type's documents by slug.
type slugPlaces struct {
	own   map[string][]int32 // slugs in the locale, or for all languages
	other map[string][]int32 // slugs in other languages
}

// find returns the places of the documents with a slug. A slug in another language counts
// only if no document has it in the locale.
func (p slugPlaces) find(slug string) []int32 {
	if places := p.own[slug]; len(places) > 0 {
		return places
	}
	return p.other[slug]
}

// slugs returns the places of a type's documents by slug. They are computed once, so that
// a request does not decode the documents.
func (s *Snapshot) slugs(documentType string) slugPlaces {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slugs, ok := s.slugsOf[documentType]; ok {
		return slugs
	}

	slugs := slugPlaces{map[string][]int32{}, map[string][]int32{}}
	for place, doc := range s.documents[documentType] {
		for language, slug := range slugsOf(doc) {
			places := slugs.other
			if language == "" || language == string(s.Locale) {
				places = slugs.own
			}
			if at := int32(place); slug != "" && !slices.Contains(places[slug], at) {
				places[slug] = append(places[slug], at)
			}
		}
	}
	s.slugsOf[documentType] = slugs
	return slugs
}

// slugsOf returns the slugs of a document by language, with "" for all languages.
func slugsOf(doc *schema.ContentDocument) map[string]string {
	return cms.Slugs(doc.Fields.(json.RawMessage))
}

// ranks returns the rank of each document of a type by each field, and -1 for a document
// without the field. Equal values have the same rank. The ranks are computed once, so that
// a request only compares integers.
func (s *Snapshot) ranks(documentType string) map[string][]int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ranks, ok := s.ranksOf[documentType]; ok {
		return ranks
	}

	ranks := map[string][]int32{}
	for field, keys := range s.sortKeys(documentType) {
		ranks[field] = ranksOf(keys)
	}
	s.ranksOf[documentType] = ranks
	return ranks
}

// ranksOf returns the rank of each key among all keys, and -1 for a missing one.
func ranksOf(keys [][]byte) []int32 {
	places := make([]int32, len(keys))
	for i := range places {
		places[i] = int32(i)
	}
	slices.SortFunc(places, func(a, b int32) int { return bytes.Compare(keys[a], keys[b]) })

	// Missing keys, which are empty, come first.
	ranks, rank := make([]int32, len(keys)), int32(-1)
	var last []byte
	for _, place := range places {
		if !bytes.Equal(keys[place], last) {
			rank++
		}
		ranks[place], last = rank, keys[place]
	}
	return ranks
}

// sortKeys returns the sort keys of a type's documents by field. A document without the
// field has none.
func (s *Snapshot) sortKeys(documentType string) map[string][][]byte {
	all, keys := s.documents[documentType], map[string][][]byte{}
	// A collator is not safe for concurrent use.
	texts := collate.New(language.Make(string(s.Locale)))
	for place, doc := range all {
		fields := map[string]any{}
		_ = json.Unmarshal(doc.Fields.(json.RawMessage), &fields) // drivers return objects only
		if doc.UpdatedAt != nil {
			fields["_updatedAt"] = doc.UpdatedAt.Format(time.RFC3339Nano)
		}

		for name, value := range fields {
			if key := sortKey(value, string(s.Locale), texts); key != nil {
				if keys[name] == nil {
					keys[name] = make([][]byte, len(all))
				}
				keys[name][place] = key
			}
		}
	}
	return keys
}

// maxSortText is the number of bytes of a string that its sort key represents.
const maxSortText = 256

// sortKey returns bytes in the order of the values: numbers and times, then strings in the
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
