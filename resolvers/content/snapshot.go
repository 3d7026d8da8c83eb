package content

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// Snapshot is all content of one locale, decoded once and then only read.
type Snapshot struct {
	Revision string
	Settings *Settings         // nil: the CMS has no such document
	Labels   map[string]string // labels by slug
	Prices   *price.Rules      // nil: there are none

	// RulesUnusable reports that the published price rules are unusable. Prices then has
	// the last usable ones, if any.
	RulesUnusable bool

	entry     string // revision of the cached entry it represents
	size      int    // encoded size in bytes
	documents map[string][]*schema.ContentDocument
}

// isOf reports whether the snapshot represents an entry.
func (s *Snapshot) isOf(e cache.Entry) bool { return s != nil && s.entry == e.Revision }

// Documents returns the documents of a type.
func (s *Snapshot) Documents(documentType string) []*schema.ContentDocument {
	return append([]*schema.ContentDocument{}, s.documents[documentType]...)
}

// storedSnapshot is the encoded form of a snapshot.
type storedSnapshot struct {
	Origin    string
	Documents []cms.Document
}

// snapshotForm is the version of the encoding and of the documents in it.
const snapshotForm = "1"

// originOf returns an identifier of the source, the types and the encoding of snapshots.
func originOf(source string, types []string) string {
	types = slices.Sorted(slices.Values(types))
	return cache.RevisionOf([]byte(strings.Join(append([]string{snapshotForm, source}, types...), "\n")))
}

// load fetches the content of a locale in a perspective of the CMS, and encodes it.
func (c *Service) load(ctx context.Context, perspective string, locale schema.Locale) ([]byte, error) {
	docs, err := c.CMS.Fetch(ctx, cms.Query{
		Types:       c.types,
		Locale:      string(locale),
		Perspective: perspective,
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedSnapshot{c.origin, docs})
}

// decodeSnapshot decodes an entry that load encoded.
func (c *Service) decodeSnapshot(ctx context.Context, entry cache.Entry, locale schema.Locale) (*Snapshot, error) {
	var stored storedSnapshot
	if err := json.Unmarshal(entry.Value, &stored); err != nil {
		return nil, fmt.Errorf("decoding a content snapshot: %w", err)
	}
	if stored.Origin != c.origin {
		return nil, errors.New("the content is from an instance with another configuration")
	}

	log := c.Log.With().Ctx(ctx).Str("locale", string(locale)).Logger()
	s := &Snapshot{
		Revision:  entry.Revision,
		size:      len(entry.Value),
		documents: map[string][]*schema.ContentDocument{},
	}

	for _, doc := range stored.Documents {
		s.documents[doc.Type] = append(s.documents[doc.Type], contentDocument(doc))
		switch {
		case doc.Type == SettingsType && (s.Settings == nil || doc.ID == SettingsType):
			s.Settings = newSettings(doc, log)
		case doc.ID == cms.RulesType:
			s.RulesUnusable = true
		}
	}
	s.Labels = cms.Labels(stored.Documents, string(locale))

	var problems []error
	s.Prices, problems = price.Read(stored.Documents, string(locale), c.formats.Currency)
	s.RulesUnusable = s.RulesUnusable && s.Prices == nil
	for _, err := range problems {
		log.Warn().Err(err).Msg("leaving out a document that cannot be used for prices")
	}
	return s, nil
}

func contentDocument(doc cms.Document) *schema.ContentDocument {
	shown := &schema.ContentDocument{ID: doc.ID, Type: doc.Type, Fields: doc.Fields}
	if l, ok := schema.ParseLocale(doc.Language); ok {
		shown.Locale = &l
	}
	if !doc.UpdatedAt.IsZero() {
		shown.UpdatedAt = &doc.UpdatedAt
	}
	return shown
}

// SlugOf returns the slug of a document, empty if it has none.
func SlugOf(d *schema.ContentDocument) string {
	fields, _ := d.Fields.(json.RawMessage)
	_, slug := cms.OptionSlug(cms.Document{Fields: fields})
	return slug
}

// HasWording reports whether a text is a published consent wording of a purpose.
func (s *Snapshot) HasWording(purpose, text string) bool {
	return s.asks(purpose, func(wording string) bool { return schema.Clean(wording) == text })
}

// Asks reports whether a consent wording of a purpose is published.
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
