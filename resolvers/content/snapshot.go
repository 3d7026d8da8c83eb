package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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

	// RulesUnusable says that the document of the rules is published and can't be used.
	// Prices are then the last usable ones, if there are any.
	RulesUnusable bool

	entry     entryID // the entry of the cache that it stands for
	size      int     // bytes of the encoded form
	documents map[string][]*schema.ContentDocument
}

// entryID tells entries of one key apart.
type entryID struct {
	revision string
	storedAt int64
}

func idOf(e cache.Entry) entryID { return entryID{e.Revision, e.StoredAt.UnixMilli()} }

func (s *Snapshot) isOf(e cache.Entry) bool { return s != nil && s.entry == idOf(e) }

// Documents returns the documents of a type.
func (s *Snapshot) Documents(documentType string) []*schema.ContentDocument {
	return append([]*schema.ContentDocument{}, s.documents[documentType]...)
}

// storedSnapshot is the encoded form of a snapshot.
type storedSnapshot struct {
	Origin    string
	Documents []cms.Document
}

// snapshotForm is the version of the encoded form, and of the documents in it.
const snapshotForm = "1"

// errOtherOrigin means that a snapshot was made by a service with another configuration.
var errOtherOrigin = errors.New("the snapshot was made from another source")

// originOf identifies what snapshots are made from.
func originOf(source string, types []string) string {
	types = slices.Sorted(slices.Values(types))
	return cache.RevisionOf([]byte(strings.Join(append([]string{snapshotForm, source}, types...), "\n")))
}

// encodeSnapshot encodes the documents of a locale. A malformed document is left out and
// logged, so that it does not affect the others.
func encodeSnapshot(docs []cms.Document, origin string, log zerolog.Logger) ([]byte, error) {
	stored := storedSnapshot{Origin: origin}
	for _, doc := range docs {
		fields, err := shownFields(&doc)
		if err != nil {
			log.Warn().Err(err).Str("document", doc.ID).Msg("leaving out a malformed document")
			continue
		}
		doc.Fields = fields
		stored.Documents = append(stored.Documents, doc)
	}

	value, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("encoding the content: %w", err)
	}
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

// decodeSnapshot decodes an entry whose value encodeSnapshot encoded.
func decodeSnapshot(
	entry cache.Entry, origin string, locale schema.Locale, formats *schema.Formats, log zerolog.Logger,
) (*Snapshot, error) {
	var stored storedSnapshot
	if err := json.Unmarshal(entry.Value, &stored); err != nil {
		return nil, fmt.Errorf("decoding a content snapshot: %w", err)
	}
	if stored.Origin != origin {
		return nil, errOtherOrigin
	}

	s := &Snapshot{
		Revision:  entry.Revision,
		size:      len(entry.Value),
		documents: map[string][]*schema.ContentDocument{},
	}

	var options []cms.Document // options, and the rules of their prices
	for i := range stored.Documents {
		doc := &stored.Documents[i]
		s.documents[doc.Type] = append(s.documents[doc.Type], contentDocument(doc))
		switch {
		case doc.Type == SettingsType && (s.Settings == nil || doc.ID == SettingsType):
			s.Settings = newSettings(doc, log)
		case doc.Type == cms.OptionType, doc.Type == cms.RulesType:
			options = append(options, *doc)
		}
	}

	s.Labels = cms.Labels(options, string(locale))

	var problems []error
	s.Prices, problems = price.Read(options, string(locale), formats.Currency)
	s.RulesUnusable = s.Prices == nil && slices.ContainsFunc(options, func(d cms.Document) bool {
		return d.ID == cms.RulesType
	})
	for _, err := range problems {
		log.Warn().Err(err).Str("locale", string(locale)).
			Msg("leaving out a document that cannot be used for prices")
	}
	return s, nil
}

// SlugOf returns the slug of a document, empty if it has none.
func SlugOf(d *schema.ContentDocument) string {
	var doc struct{ Slug json.RawMessage }
	var slug struct{ Current string }
	fields, _ := d.Fields.(json.RawMessage)
	if json.Unmarshal(fields, &doc) != nil || json.Unmarshal(doc.Slug, &slug.Current) == nil {
		return slug.Current
	}
	_ = json.Unmarshal(doc.Slug, &slug) // a slug of another form is none
	return slug.Current
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
