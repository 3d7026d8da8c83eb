package content

import (
	"bytes"
	"encoding/json"
	"slices"

	"siteapi/schema"
)

// References replaces the references in documents by the documents that they name.
type References struct {
	Snapshot *Snapshot
	Types    []string // types of documents that may replace a reference

	// Build is called with the size of each document before it is copied. Its error ends
	// the work.
	Build func(size int) error
}

// Resolve returns copies of documents whose references are replaced, depth references
// deep. A reference to a document that the content does not have or may not show stays
// as it is, as does one to a document that contains the reference.
func (r References) Resolve(docs []*schema.ContentDocument, depth int) ([]*schema.ContentDocument, error) {
	resolved := make([]*schema.ContentDocument, len(docs))
	for i, doc := range docs {
		fields, err := r.fields(doc, map[string]any{}, depth, nil)
		if err != nil {
			return nil, err
		}
		shown := *doc
		shown.Fields, resolved[i] = fields, &shown
	}
	return resolved, nil
}

// fields adds the fields of a document to the given ones, and resolves the references in
// them. within has the ids of the enclosing documents.
func (r References) fields(
	doc *schema.ContentDocument, fields map[string]any, depth int, within []string,
) (json.RawMessage, error) {
	raw := doc.Fields.(json.RawMessage)
	if err := r.Build(len(raw)); err != nil {
		return nil, err
	}

	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber() // preserve the notation of numbers
	if err := in.Decode(&fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		var err error
		if fields[name], err = r.value(value, depth, append(slices.Clip(within), doc.ID)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// value replaces the references in a decoded value.
func (r References) value(node any, depth int, within []string) (_ any, err error) {
	switch n := node.(type) {
	case []any:
		for i, child := range n {
			if n[i], err = r.value(child, depth, within); err != nil {
				return nil, err
			}
		}

	case map[string]any:
		ref, _ := n["_ref"].(string)
		doc := r.Snapshot.byID[ref]
		if depth > 0 && doc != nil && n["_dataset"] == nil &&
			slices.Contains(r.Types, doc.Type) && !slices.Contains(within, ref) {
			fields := map[string]any{"_id": doc.ID, "_type": doc.Type}
			if n["_key"] != nil { // The key is the place in a list.
				fields["_key"] = n["_key"]
			}
			return r.fields(doc, fields, depth-1, within)
		}

		for name, child := range n {
			if n[name], err = r.value(child, depth, within); err != nil {
				return nil, err
			}
		}
	}
	return node, nil
}
