package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"siteapi/integrations/cms"
)

// parse reads a content file. An entry that is not a document is left out and reported in
// malformed. A file with no document among its entries is an error.
func parse(data []byte) (docs []cms.Document, malformed []error, err error) {
	entries, malformed, err := split(data)
	if err != nil {
		return nil, nil, err
	}

	assetURL := assetURLs(entries)
	docs = make([]cms.Document, 0, len(entries))
	seen := make(map[string]bool, len(entries))

	for i, entry := range entries {
		doc, err := cms.Decode(entry, assetURL)
		entries[i] = nil // a large file is not kept in memory twice
		if err == nil && seen[doc.ID] {
			err = fmt.Errorf("a second document has the _id %q", doc.ID)
		}
		if err != nil {
			malformed = append(malformed, fmt.Errorf("entry %d: %w", i+1, err))
			continue
		}

		seen[doc.ID] = true
		docs = append(docs, doc)
	}

	if len(docs) == 0 && len(malformed) > 0 {
		return nil, nil, malformed[0]
	}

	slices.SortFunc(docs, func(a, b cms.Document) int { return strings.Compare(a.ID, b.ID) })
	return docs, malformed, nil
}

// split returns the entries of a file, which holds an array, a single object, or one
// object per line. Lines that are not JSON are reported in malformed.
func split(data []byte) (entries []json.RawMessage, malformed []error, err error) {
	if !utf8.Valid(data) {
		return nil, nil, position(
			data, bytes.IndexRune(data, utf8.RuneError), errors.New("this is not UTF-8 text"))
	}

	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	switch {
	case len(text) == 0:
		return nil, nil, errors.New("the file is empty")
	case text[0] == '[':
		err := json.Unmarshal(text, &entries)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			err = position(data, bytes.Index(data, text)+int(syntax.Offset)-1, err)
		}
		return entries, nil, err
	case text[0] != '{':
		return nil, nil, errors.New("the file begins with neither [ nor {")
	case json.Valid(text):
		return []json.RawMessage{text}, nil, nil
	}

	for i, line := range bytes.Split(data, []byte("\n")) {
		switch line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))); {
		case len(line) == 0:
		case json.Valid(line):
			entries = append(entries, line)
		default:
			malformed = append(malformed, fmt.Errorf("line %d: not a JSON object", i+1))
		}
	}

	if len(entries) == 0 {
		return nil, nil, malformed[0]
	}
	return entries, malformed, nil
}

// position puts line and column, counted from 1 in bytes, in front of an error.
func position(data []byte, offset int, err error) error {
	before := data[:min(max(offset, 0), len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// assetURLs returns a function that looks up the address of an asset. It knows the assets
// whose own documents are in the file, as they are in an export.
func assetURLs(entries []json.RawMessage) func(ref string) string {
	known := map[string]string{}
	for _, entry := range entries {
		var doc struct {
			ID   string `json:"_id"`
			Type string `json:"_type"`
			URL  string `json:"url"`
		}

		if json.Unmarshal(entry, &doc) == nil &&
			(doc.Type == "sanity.imageAsset" || doc.Type == "sanity.fileAsset") {
			known[doc.ID] = doc.URL
		}
	}

	return func(ref string) string { return known[ref] }
}
