package content

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// Snapshot is all content of one locale, decoded once and then only read.
type Snapshot struct {
	Revision string
	Settings *Settings         // nil: the CMS has no such document
	Labels   map[string]string // words for slugs
	Prices   *price.Rules      // nil: there are none

	size      int // bytes of the encoded form, which the documents' fields share
	documents map[string][]*schema.ContentDocument
}

// Documents returns the documents of a type.
func (s *Snapshot) Documents(documentType string) []*schema.ContentDocument {
	return append([]*schema.ContentDocument{}, s.documents[documentType]...)
}

// A snapshot is encoded as a JSON array: an object with the stamp, the documents, and an
// object with the index, which says where the documents' fields are. Decoding copies no
// fields. The first version of this form had the documents only, so instances of that
// version, which run beside this one during a rolling restart, can read it.
const (
	snapshotForm = "2" // version of this form and of the documents in it

	stampStart, stampEnd = `[{"Stamp":"`, `"}`
	indexStart, indexEnd = `,{"Index":`, `}]`

	revisionLength = 22 // characters of a revision, and of an origin
	numberLength   = 19
	stampLength    = 2*(revisionLength+1) + 2*numberLength + 1
	documentsStart = len(stampStart) + stampLength + len(stampEnd)
)

// originOf identifies what snapshots are made from.
func originOf(source string, types []string) string {
	types = slices.Sorted(slices.Values(types))
	return cache.RevisionOf([]byte(strings.Join(append([]string{snapshotForm, source}, types...), "\n")))
}

// stamp is the beginning of an encoded snapshot: its revision, which depends on the
// documents alone, its origin and generation, and the place of its index.
type stamp struct {
	revision   []byte
	madeFrom   []byte
	generation int64
	index      int
}

func (s stamp) origin(is string) bool { return string(s.madeFrom) == is }

func (s stamp) encode() string {
	return fmt.Sprintf("%s%s %s %0*d %0*d%s", stampStart,
		s.revision, s.madeFrom, numberLength, s.generation, numberLength, s.index, stampEnd)
}

// readStamp reads the stamp of a value, or returns false if the value has none.
func readStamp(value []byte) (s stamp, ok bool) {
	if len(value) < documentsStart || string(value[:len(stampStart)]) != stampStart {
		return stamp{}, false
	}

	const origin, generation = revisionLength + 1, 2 * (revisionLength + 1)
	const index = generation + numberLength + 1
	text := value[len(stampStart):]
	s.revision, s.madeFrom = text[:revisionLength], text[origin:origin+revisionLength]

	var err, indexErr error
	s.generation, err = strconv.ParseInt(string(text[generation:generation+numberLength]), 10, 64)
	s.index, indexErr = strconv.Atoi(string(text[index : index+numberLength]))
	return s, err == nil && indexErr == nil && s.index >= documentsStart && s.index <= len(value)
}

// indexed is a document without its fields, and the place of these in a snapshot.
type indexed struct {
	ID         string
	Type       string
	Language   string    `json:",omitzero"`
	UpdatedAt  time.Time `json:",omitzero"`
	Start, End int
}

// encodeSnapshot encodes the documents of a locale. A malformed document is left out and
// logged, so that it does not affect the others.
func encodeSnapshot(
	docs []cms.Document, origin string, generation int64, log zerolog.Logger,
) ([]byte, error) {
	size := documentsStart
	for i := range docs {
		size += len(docs[i].Fields) + 2*(len(docs[i].ID)+len(docs[i].Type)+100)
	}

	value := make([]byte, documentsStart, size)
	index := make([]indexed, 0, len(docs))
	for i := range docs {
		doc := &docs[i]
		fields, err := shownFields(doc)
		if err != nil {
			log.Warn().Err(err).Str("document", doc.ID).Msg("leaving out a malformed document")
			continue
		}

		entry := indexed{ID: doc.ID, Type: doc.Type, Language: doc.Language, UpdatedAt: doc.UpdatedAt}
		head, err := json.Marshal(entry)
		if err != nil {
			return nil, fmt.Errorf("encoding document %s: %w", doc.ID, err)
		}

		value = append(append(append(value, ','), head[:len(head)-1]...), `,"Fields":`...)
		entry.Start, entry.End = len(value), len(value)+len(fields)
		value = append(append(value, fields...), '}')
		index = append(index, entry)
	}

	s := stamp{madeFrom: []byte(origin), generation: generation, index: len(value)}
	text, err := json.Marshal(index)
	if err != nil {
		return nil, fmt.Errorf("encoding the index of the content: %w", err)
	}

	value = append(append(append(value, indexStart...), text...), indexEnd...)
	s.revision = []byte(cache.RevisionOf(value[documentsStart:]))
	copy(value, s.encode())
	return value, nil
}

// shownFields returns the fields of a document that clients get: those whose names begin
// with an underscore belong to the CMS.
func shownFields(doc *cms.Document) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc.Fields, &fields); err != nil {
		return nil, fmt.Errorf("decoding its fields: %w", err)
	}

	for name := range fields {
		if strings.HasPrefix(name, "_") {
			delete(fields, name)
		}
	}

	shown, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encoding its fields: %w", err)
	}
	return shown, nil
}

// decodeSnapshot decodes what encodeSnapshot encoded.
func decodeSnapshot(
	value []byte, locale schema.Locale, formats *schema.Formats, log zerolog.Logger,
) (*Snapshot, error) {
	stamp, ok := readStamp(value)
	if !ok {
		return nil, errors.New("decoding a content snapshot: it has no stamp")
	}

	var index struct{ Index []indexed }
	text := bytes.TrimSuffix(bytes.TrimPrefix(value[stamp.index:], []byte(",")), []byte("]"))
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("decoding the index of a content snapshot: %w", err)
	}

	s := &Snapshot{
		Revision:  string(stamp.revision),
		size:      len(value),
		documents: map[string][]*schema.ContentDocument{},
	}

	var options []cms.Document // options, and the rules of their prices
	for _, entry := range index.Index {
		if entry.Start < documentsStart || entry.End < entry.Start || entry.End > stamp.index {
			return nil, errors.New("decoding a content snapshot: its index does not fit")
		}

		doc := cms.Document{
			ID:        entry.ID,
			Type:      entry.Type,
			Language:  entry.Language,
			UpdatedAt: entry.UpdatedAt,
			Fields:    value[entry.Start:entry.End:entry.End],
		}

		s.documents[doc.Type] = append(s.documents[doc.Type], contentDocument(&doc))
		switch {
		case doc.Type == SettingsType && (s.Settings == nil || doc.ID == SettingsType):
			s.Settings = newSettings(&doc, log)
		case doc.Type == cms.OptionType, doc.Type == cms.RulesType:
			options = append(options, doc)
		}
	}

	s.Labels = cms.Labels(options, string(locale))

	var problems []error
	s.Prices, problems = price.Read(options, string(locale), formats.Currency)
	for _, err := range problems {
		log.Warn().Err(err).Str("locale", string(locale)).
			Msg("leaving out a document that cannot be used for prices")
	}
	return s, nil
}

// HasWording reports whether a text is what visitors are asked for a purpose.
func (s *Snapshot) HasWording(purpose, text string) bool {
	return s.asks(purpose, func(wording string) bool { return schema.UnixLines(wording) == text })
}

// Asks reports whether visitors are asked for a purpose.
func (s *Snapshot) Asks(purpose string) bool {
	return s.asks(purpose, func(wording string) bool { return strings.TrimSpace(wording) != "" })
}

func (s *Snapshot) asks(purpose string, fits func(wording string) bool) bool {
	return slices.ContainsFunc(s.documents[cms.ConsentType], func(d *schema.ContentDocument) bool {
		var wording struct{ Purpose, Text string }
		fields, _ := d.Fields.(json.RawMessage)
		return json.Unmarshal(fields, &wording) == nil && wording.Purpose == purpose && fits(wording.Text)
	})
}

func contentDocument(doc *cms.Document) *schema.ContentDocument {
	shown := &schema.ContentDocument{ID: doc.ID, Type: doc.Type, Fields: doc.Fields}
	if l, ok := schema.ParseLocale(doc.Language); ok {
		shown.Locale = &l
	}
	if !doc.UpdatedAt.IsZero() {
		at := doc.UpdatedAt.UTC()
		shown.UpdatedAt = &at
	}
	return shown
}
