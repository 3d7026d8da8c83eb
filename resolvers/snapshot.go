package resolvers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

// snapshot is all content of one locale, decoded once and then only read.
type snapshot struct {
	revision string
	settings *siteSettings // nil: the CMS has no such document
	byType   map[string][]*schema.ContentDocument
	labels   map[string]string // words for slugs
}

// documents returns the documents of a type, never nil.
func (s *snapshot) documents(documentType string) []*schema.ContentDocument {
	if docs := s.byType[documentType]; docs != nil {
		return docs
	}
	return []*schema.ContentDocument{}
}

// decodeSnapshot reads what contentService.fetch wrote. A document it can't use is left out
// and logged: one bad document must not take the others down.
func decodeSnapshot(value []byte, revision string, locale schema.Locale, log zerolog.Logger) (*snapshot, error) {
	var docs []cms.Document
	if err := json.Unmarshal(value, &docs); err != nil {
		return nil, fmt.Errorf("decoding a content snapshot: %w", err)
	}
	s := &snapshot{
		revision: revision, byType: map[string][]*schema.ContentDocument{}, labels: cms.Labels(docs, string(locale)),
	}
	for i := range docs {
		doc := &docs[i]
		shown, err := contentDocument(doc)
		if err != nil {
			log.Warn().Err(err).Str("document", doc.ID).Msg("leaving out a malformed document")
			continue
		}
		s.byType[doc.Type] = append(s.byType[doc.Type], shown)
		if doc.Type == siteSettingsType && (s.settings == nil || doc.ID == siteSettingsType) {
			s.settings = newSiteSettings(doc, log)
		}
	}
	return s, nil
}

func contentDocument(doc *cms.Document) (*schema.ContentDocument, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc.Fields, &fields); err != nil {
		return nil, fmt.Errorf("decoding its fields: %w", err)
	}
	for name := range fields {
		if strings.HasPrefix(name, "_") {
			delete(fields, name)
		}
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encoding its fields: %w", err)
	}
	shown := &schema.ContentDocument{ID: doc.ID, Type: doc.Type, Fields: json.RawMessage(bytes.Clone(rest))}
	if l, ok := schema.ParseLocale(doc.Language); ok {
		shown.Locale = &l
	}
	if !doc.UpdatedAt.IsZero() {
		at := doc.UpdatedAt.UTC()
		shown.UpdatedAt = &at
	}
	return shown, nil
}
