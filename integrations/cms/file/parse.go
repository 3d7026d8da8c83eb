package file

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"siteapi/integrations/cms"
)

// parse parses a content file, whose pictures have the addresses that assetURL returns
// unless their documents are in the file. An entry that is not a document is left out and reported
// in malformed. If none of the entries is a document, parse fails.
func parse(
	data []byte, assetURL func(ref string) string,
) (docs []cms.Document, malformed []error, err error) {
	entries, err := split(data)
	if err != nil {
		return nil, nil, err
	}

	known, seen := assetURLs(entries), map[string]bool{}
	address := func(ref string) string { return cmp.Or(known[ref], assetURL(ref)) }
	for i, entry := range entries {
		doc, err := cms.Decode(entry, address)
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

// split returns the entries of a file that contains an array or consecutive values.
func split(data []byte) (entries []json.RawMessage, err error) {
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case !utf8.Valid(text):
		return nil, errors.New("the file is not UTF-8 text")
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("the file is empty")
	}

	// Most files are one array, of which a decoder would hold several copies.
	if json.Unmarshal(text, &entries) == nil {
		return entries, nil
	}

	entries = nil
	for in := json.NewDecoder(bytes.NewReader(text)); ; {
		var value json.RawMessage
		err := in.Decode(&value)
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			end := len(text)
			if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
				end = int(syntax.Offset)
			}
			return nil, fmt.Errorf("line %d: %w", bytes.Count(text[:end], []byte("\n"))+1, err)
		}

		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			list = []json.RawMessage{value}
		}
		entries = append(entries, list...)
	}
}

// assetURLs returns the addresses of the assets whose documents are in the file.
func assetURLs(entries []json.RawMessage) map[string]string {
	known := map[string]string{}
	for _, entry := range entries {
		var doc struct {
			ID   string `json:"_id"`
			Type string `json:"_type"`
			URL  string `json:"url"`
		}
		if json.Unmarshal(entry, &doc) == nil && strings.HasPrefix(doc.Type, "sanity.") {
			known[doc.ID] = doc.URL
		}
	}
	return known
}
