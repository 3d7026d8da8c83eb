package content

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/store"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

// Snapshot is all content of one locale, decoded once and then only read.
type Snapshot struct {
	Locale   schema.Locale
	Revision string
	Settings *Settings         // nil: the CMS has no such document
	Labels   map[string]string // labels by slug
	Prices   *price.Rules      // nil: there are none
	Texts    *Texts            // nil: there are none

	// Options has the calculator's options with or without a price, by field in the order of
	// the form and then as the editors ordered them.
	Options []Option

	// Problems describes the documents and values that are left out. Those of the price
	// rules are not among them.
	Problems      []string
	priceProblems []string

	// Unusable has the kinds (store.Prices, store.Texts) of which the published document is
	// unusable. The last usable ones are then in force, if any.
	Unusable map[string]bool

	entry     string                               // revision of the cached entry it represents
	size      int                                  // encoded size in bytes
	documents map[string][]*schema.ContentDocument // documents by type, ordered by id
	byID      map[string]*schema.ContentDocument
	wordings  map[string][]string // of consents, by purpose

	// Documents that are translations of each other, as far as documents of the CMS say so.
	groups map[string]map[schema.Locale]string // ids by the id of any of them
	bases  map[string]string                   // ids by the id without the language

	mu      sync.Mutex                    // guards the fields below, which are computed on demand
	slugsOf map[string]slugPlaces         // the places of each type
	ranksOf map[string]map[string][]int32 // ranks by type and field
}

// Option is a choice with its position among those of its field; nil: the editors gave none.
type Option struct {
	price.Choice
	Order *float64
}

// isOf reports whether the snapshot represents an entry.
func (s *Snapshot) isOf(e cache.Entry) bool { return s != nil && s.entry == e.Revision }

// snapshotHead is the first line of an encoded snapshot. Two lines for each document
// follow: the document without its fields, and the fields, which the decoded snapshot
// shares with the entry.
type snapshotHead struct {
	Origin string
	Hidden []string // problems of documents that are left out
}

// snapshotForm is the version of the encoding and of the documents in it.
const snapshotForm = "4"

// originOf returns an identifier of the source, the types and the encoding of snapshots.
func originOf(source string, types []string) string {
	types = slices.Sorted(slices.Values(types))
	return cache.RevisionOf([]byte(strings.Join(append([]string{snapshotForm, source}, types...), "\n")))
}

// Query returns the query for the documents that make up the content of a locale.
func Query(types []string, locale schema.Locale, perspective string) cms.Query {
	q := cms.Query{Types: types, Perspective: perspective}
	for _, other := range schema.Locales() {
		if other != locale {
			q.Except = append(q.Except, string(other))
		}
	}
	return q
}

// maxHidden is the number of hidden documents of a type that a problem names.
const maxHidden = 20

// Fetch returns the documents of a locale from a CMS, and a problem for each type of which
// documents are hidden: those in a language that the site does not use, and private ones.
func Fetch(
	ctx context.Context, source cms.Content, types []string, locale schema.Locale, perspective string,
) (docs []cms.Document, problems []string, err error) {
	docs, err = source.Fetch(ctx, Query(types, locale, perspective))
	docs, problems = shown(docs, locale)
	return docs, problems, err
}

// shown returns the documents that belong to a locale. The problems name the others.
func shown(docs []cms.Document, locale schema.Locale) (kept []cms.Document, problems []string) {
	hidden := map[string][]string{} // the documents of each problem
	for _, doc := range docs {
		switch {
		case !cms.IsPublic(doc.ID):
			about := "documents of type " + doc.Type + " are hidden, since an id with a dot is private"
			hidden[about] = append(hidden[about], strconv.Quote(doc.ID))
		case doc.Language != "" && doc.Language != string(locale):
			about := "documents of type " + doc.Type +
				" are hidden, since the site does not use their language"
			hidden[about] = append(hidden[about], fmt.Sprintf("%q (%.40s)", doc.ID, doc.Language))
		default:
			kept = append(kept, doc)
		}
	}

	for _, about := range slices.Sorted(maps.Keys(hidden)) {
		named := hidden[about]
		if more := len(named) - maxHidden; more > 0 {
			named = append(named[:maxHidden], fmt.Sprintf("and %d more", more))
		}
		problems = append(problems, about+": "+strings.Join(named, ", "))
	}
	return kept, problems
}

// load fetches the content of a locale in a perspective of the CMS, and encodes it.
func (c *Service) load(ctx context.Context, perspective string, locale schema.Locale) ([]byte, error) {
	docs, hidden, err := Fetch(ctx, c.CMS, c.types, locale, perspective)
	if err != nil {
		return nil, err
	}

	head, err := json.Marshal(snapshotHead{c.origin, hidden})
	lines := [][]byte{head}
	for _, doc := range docs {
		fields := doc.Fields
		doc.Fields = nil
		line, failed := json.Marshal(doc)
		lines, err = append(lines, line, fields), errors.Join(err, failed)
	}
	return bytes.Join(lines, []byte("\n")), err
}

// Inspect fetches the content of a locale from a CMS, to look for problems in it.
func Inspect(
	ctx context.Context, source cms.Content, types []string, locale schema.Locale,
) (*Snapshot, error) {
	docs, hidden, err := Fetch(ctx, source, types, locale, "")
	return newSnapshot(docs, hidden, locale), err
}

// decodeSnapshot decodes an entry that load encoded. It logs each problem of the content
// once.
func (c *Service) decodeSnapshot(
	ctx context.Context, entry cache.Entry, locale schema.Locale,
) (*Snapshot, error) {
	lines := bytes.Split(entry.Value, []byte("\n"))
	var head snapshotHead
	if json.Unmarshal(lines[0], &head) != nil || head.Origin != c.origin {
		return nil, errors.New("the content is from an instance with another configuration")
	}

	var docs []cms.Document
	for pair := range slices.Chunk(lines[1:], 2) {
		var doc cms.Document
		if len(pair) < 2 || json.Unmarshal(pair[0], &doc) != nil || !json.Valid(pair[1]) {
			return nil, fmt.Errorf("document %d of a content snapshot is damaged", len(docs)+1)
		}
		doc.Fields = pair[1]
		docs = append(docs, doc)
	}

	s := newSnapshot(docs, head.Hidden, locale)
	s.Revision, s.size = entry.Revision, len(entry.Value)
	for _, problem := range slices.Concat(s.Problems, s.priceProblems) {
		if _, logged := c.problems.LoadOrStore(problem, true); !logged {
			c.Log.Warn().Ctx(ctx).Str("locale", string(locale)).Str("problem", problem).
				Msg("leaving out content that cannot be used")
		}
	}
	return s, nil
}

// newSnapshot returns the content of a locale. Problems are those found before.
func newSnapshot(docs []cms.Document, problems []string, locale schema.Locale) *Snapshot {
	s := &Snapshot{
		Locale:    locale,
		Problems:  problems,
		Unusable:  map[string]bool{},
		documents: map[string][]*schema.ContentDocument{},
		byID:      map[string]*schema.ContentDocument{},
		wordings:  map[string][]string{},
		groups:    map[string]map[schema.Locale]string{},
		bases:     map[string]string{},
		slugsOf:   map[string]slugPlaces{},
		ranksOf:   map[string]map[string][]int32{},
	}
	s.Labels = cms.Labels(docs, string(locale))
	users := map[string]string{} // ids of the documents that use a slug or a purpose
	for _, doc := range docs {
		if doc.Type == cms.TranslationsType {
			s.addTranslations(doc)
			continue
		}

		shown := contentDocument(doc)
		s.documents[doc.Type] = append(s.documents[doc.Type], shown)
		s.byID[doc.ID] = shown
		if base, language := baseOf(doc.ID); language != "" {
			s.bases[base] = doc.ID
		}

		var problems []string
		if doc.Useless != "" {
			s.Problems = append(s.Problems, fmt.Sprintf("document %q: its language %.40s does not count, "+
				"since the document belongs to all languages", doc.ID, doc.Useless))
		}
		switch {
		case doc.Type == cms.SettingsType && (s.Settings == nil || doc.ID == cms.SettingsType):
			s.Settings, problems = newSettings(doc, string(locale))
		case doc.Type == cms.OptionType:
			problems = s.addOption(doc, users)
		case doc.Type == cms.ConsentType:
			problems = s.addConsent(doc, users)
		case doc.Type == cms.TextsType:
			var texts *Texts
			if texts, problems = readTexts(doc); doc.ID == cms.TextsType {
				s.Texts, s.Unusable[store.Texts] = texts, len(problems) > 0
			}
		case doc.ID == cms.RulesType:
			s.Unusable[store.Prices] = true
		}
		for _, problem := range problems {
			s.Problems = append(s.Problems, fmt.Sprintf("document %q: %s", doc.ID, problem))
		}
	}

	slices.SortStableFunc(s.Options, func(a, b Option) int {
		last := math.Inf(1)
		return cmp.Or(
			slices.Index(price.Fields, a.Field)-slices.Index(price.Fields, b.Field),
			cmp.Compare(schema.ValueOr(a.Order, last), schema.ValueOr(b.Order, last)),
		)
	})
	s.Prices, s.priceProblems = price.Read(docs, string(locale))
	s.Unusable[store.Prices] = s.Unusable[store.Prices] && s.Prices == nil
	return s
}

// addOption adds an option of the calculator, and returns its problems.
func (s *Snapshot) addOption(doc cms.Document, users map[string]string) (problems []string) {
	field, slug := cms.OptionSlug(doc)
	option := Option{Choice: price.Choice{Field: field, Slug: slug}}
	var document struct{ Order *float64 }
	if json.Unmarshal(doc.Fields, &document) == nil { // a value of another type counts as missing
		option.Order = document.Order
	}

	known := slices.IndexFunc(s.Options, func(o Option) bool { return o.Choice == option.Choice })
	if known < 0 && slug != "" && field != "" {
		s.Options = append(s.Options, option)
	} else if known >= 0 && doc.Language != "" {
		s.Options[known] = option
	}
	if slug != "" && s.Labels[slug] == "" {
		problems = append(problems, "it has no label in "+string(s.Locale))
	}
	return append(problems, unusable(doc, slug, field, users)...)
}

// addConsent adds the wording of a consent, and returns its problems.
func (s *Snapshot) addConsent(doc cms.Document, users map[string]string) (problems []string) {
	var consent struct {
		Purpose string
		Text    any
	}
	_ = json.Unmarshal(doc.Fields, &consent) // a value of another type counts as missing
	text, _ := cms.Text(consent.Text, string(s.Locale))
	s.wordings[consent.Purpose] = append(s.wordings[consent.Purpose], schema.Clean(text))
	return unusable(doc, consent.Purpose, text, users)
}

// unusable returns the problems of a document with a slug and a group, or a purpose and a
// text. Users has the ids of the documents before it, by type, language and slug or purpose.
func unusable(doc cms.Document, name, value string, users map[string]string) []string {
	use := strings.Join([]string{doc.Type, doc.Language, name}, " ")
	switch other := users[use]; {
	case name == "" || value == "":
		return []string{"its slug and group, or its purpose and text, are missing"}
	case other != "":
		return []string{fmt.Sprintf("document %q has the same slug or purpose", other)}
	}
	users[use] = doc.ID
	return nil
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

// HasWording reports whether a purpose has a published consent with this wording.
func (s *Snapshot) HasWording(purpose, text string) bool {
	return slices.Contains(s.wordings[purpose], text)
}
