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
		fields, err := r.fields(doc, depth, nil)
		if err != nil {
			return nil, err
		}
		shown := *doc
		shown.Fields, resolved[i] = fields, &shown
	}
	return resolved, nil
}

// fields returns the fields of a document with replaced references. Within are the ids of
// the documents around it.
func (r References) fields(doc *schema.ContentDocument, depth int, within []string) (json.RawMessage, error) {
	raw := doc.Fields.(json.RawMessage)
	if err := r.Build(len(raw)); err != nil {
		return nil, err
	}
	if depth == 0 || !bytes.Contains(raw, []byte(`"_ref"`)) {
		return raw, nil
	}

	var value any
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber() // preserve the notation of numbers
	if err := in.Decode(&value); err != nil {
		return nil, err
	}
	value, err := r.value(value, depth, append(slices.Clip(within), doc.ID))
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
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
		if doc != nil && n["_dataset"] == nil && slices.Contains(r.Types, doc.Type) && !slices.Contains(within, ref) {
			return r.document(doc, n["_key"], depth-1, within)
		}
		for name, child := range n {
			if n[name], err = r.value(child, depth, within); err != nil {
				return nil, err
			}
		}
	}
	return node, nil
}

// document returns a document in place of a reference, with the reference's key in its
// list.
func (r References) document(
	doc *schema.ContentDocument, key any, depth int, within []string,
) (json.RawMessage, error) {
	fields, err := r.fields(doc, depth, within)
	if err != nil {
		return nil, err
	}

	names := map[string]any{"_id": doc.ID, "_type": doc.Type}
	if key != nil {
		names["_key"] = key
	}
	head, err := json.Marshal(names)
	if len(fields) > len("{}") {
		return slices.Concat(head[:len(head)-1], []byte(","), fields[1:]), err
	}
	return head, err
}
