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

// located is a document's text and where in the file it begins.
type located struct {
	raw    json.RawMessage
	offset int
}

// parse reads a content file in any of its three forms. Entries that are no documents are
// left out and returned as errors of their own, unless there is nothing else. Errors begin
// with line and column, counted from 1 in bytes.
func parse(data []byte, dec cms.Decoder) (docs []cms.Document, malformed []error, err error) {
	if at := invalidUTF8(data); at >= 0 {
		return nil, nil, position(data, at, errors.New("this is not UTF-8 text"))
	}
	raws, malformed, err := split(data)
	if err != nil {
		return nil, nil, err
	}
	dec.AssetURL = assets(raws, dec.AssetURL)
	docs = make([]cms.Document, 0, len(raws))
	seen := make(map[string]bool, len(raws))
	for _, r := range raws {
		doc, err := dec.Decode(r.raw)
		if err == nil && seen[doc.ID] {
			err = fmt.Errorf("a second document has the _id %q", doc.ID)
		}
		if err != nil {
			malformed = append(malformed, position(data, r.offset, err))
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

// split finds the documents of a file, and the lines that are none where each line is one.
func split(data []byte) (docs []located, malformed []error, err error) {
	start := 0
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		start = len("\ufeff")
	}
	for start < len(data) && isSpace(data[start]) {
		start++
	}
	body := data[start:]
	if len(body) == 0 {
		return nil, nil, position(data, len(data), errors.New("the file is empty"))
	}
	if err := valid(body); err != nil {
		// Not one JSON value: several lines with one each, or broken.
		if body[0] == '{' {
			if first, _, more := bytes.Cut(body, []byte("\n")); more && json.Valid(first) {
				docs, malformed = lines(data, start)
				return docs, malformed, nil
			}
		}
		return nil, nil, position(data, start+err.offset, err)
	}
	if body[0] == '[' {
		docs, err = elements(data, start)
		return docs, nil, err
	}
	var wrapper map[string]json.RawMessage
	if body[0] != '{' || json.Unmarshal(body, &wrapper) != nil {
		return nil, nil, position(data, start, errors.New("neither an array of documents nor a document"))
	}
	if list, ok := wrapper["documents"]; ok && wrapper["_type"] == nil {
		// A RawMessage is a copy, so where it came from is looked up. It begins with a
		// bracket unless it is not an array.
		if list[0] != '[' {
			return nil, nil, position(data, start, errors.New(`"documents" is not an array`))
		}
		docs, err = elements(data, start+bytes.LastIndex(body, list))
		return docs, nil, err
	}
	return []located{{raw: body, offset: start}}, nil, nil
}

// elements returns the elements of the array that begins at an offset.
func elements(data []byte, start int) ([]located, error) {
	dec := json.NewDecoder(bytes.NewReader(data[start:]))
	if _, err := dec.Token(); err != nil {
		return nil, position(data, start, err)
	}
	out := []located{}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, position(data, start+int(dec.InputOffset()), err)
		}
		out = append(out, located{raw: raw, offset: start + int(dec.InputOffset()) - len(raw)})
	}
	return out, nil
}

// lines returns the documents of a file with one on each line, and what is wrong with the
// lines that are not JSON. Empty lines are skipped.
func lines(data []byte, start int) (docs []located, malformed []error) {
	for start < len(data) {
		line, _, _ := bytes.Cut(data[start:], []byte("\n"))
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if err := valid(text); err != nil {
				malformed = append(malformed, position(data, start+bytes.Index(line, text)+err.offset, err))
			} else {
				docs = append(docs, located{raw: text, offset: start + bytes.Index(line, text)})
			}
		}
		start += len(line) + 1
	}
	return docs, malformed
}

// syntaxError is what is wrong with a JSON text, and where.
type syntaxError struct {
	offset int
	text   string
}

func (e *syntaxError) Error() string { return e.text }

// valid checks that a text is one JSON value and nothing more.
func valid(text []byte) *syntaxError {
	var value json.RawMessage
	err := json.Unmarshal(text, &value)
	if err == nil {
		return nil
	}
	out := &syntaxError{text: err.Error()}
	var at *json.SyntaxError
	if errors.As(err, &at) {
		// The offset is behind the byte that was the trouble, or at the end of the text.
		out.offset = max(int(at.Offset)-1, 0)
	}
	return out
}

// position puts line and column in front of an error.
func position(data []byte, offset int, err error) error {
	before := data[:min(offset, len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// assets returns the addresses of assets: those whose own documents are in the file, as
// in an export, then those that others know.
func assets(raws []located, others func(ref string) string) func(ref string) string {
	known := map[string]string{}
	for _, r := range raws {
		var doc struct {
			ID   string `json:"_id"`
			Type string `json:"_type"`
			URL  string `json:"url"`
		}
		if json.Unmarshal(r.raw, &doc) == nil && (doc.Type == "sanity.imageAsset" || doc.Type == "sanity.fileAsset") {
			known[doc.ID] = doc.URL
		}
	}
	return func(ref string) string {
		if known[ref] != "" || others == nil {
			return known[ref]
		}
		return others(ref)
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}
