package sanitytest

import (
	"encoding/json"
	"fmt"
	"regexp"
)

var (
	idForm   = regexp.MustCompile(`^[a-zA-Z0-9._][a-zA-Z0-9._-]{0,127}$`)
	nameForm = regexp.MustCompile(`^\$?[a-zA-Z0-9_-]{1,256}$`)
)

// document is a document taken apart.
type document struct {
	id, typ string
	fields  map[string]any
	raw     json.RawMessage
}

// readDocument takes a document apart, or says what is wrong with it.
func readDocument(raw json.RawMessage) (document, string) {
	d := document{raw: raw}
	if err := json.Unmarshal(raw, &d.fields); err != nil || d.fields == nil {
		return d, "the document is not an object"
	}
	var isText bool
	if d.id, isText = d.fields["_id"].(string); !isText {
		return d, "the document has no _id"
	}
	if problem := checkID(d.id); problem != "" {
		return d, problem
	}
	if d.typ, isText = d.fields["_type"].(string); !isText || d.typ == "" {
		return d, "the document must have a _type"
	}
	return d, checkNames(d.fields)
}

// checkID says what is wrong with an id.
func checkID(id string) string {
	if !idForm.MatchString(id) {
		return fmt.Sprintf("Document ID %q contains invalid characters or is too long", id)
	}
	return ""
}

// checkNames says what is wrong with the names of fields, at any depth.
func checkNames(node any) string {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			if problem := checkNames(child); problem != "" {
				return problem
			}
		}
	case map[string]any:
		for name, child := range n {
			if !nameForm.MatchString(name) {
				return fmt.Sprintf("Attribute name %q is invalid", name)
			}
			if problem := checkNames(child); problem != "" {
				return problem
			}
		}
	}
	return ""
}
