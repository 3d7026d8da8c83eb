package graphqlhttp

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"siteapi/schema"
)

// TrustedDocument is a document that clients may request by id.
type TrustedDocument struct {
	// IDs are the ids that clients send, usually the lower-case hexadecimal SHA-256 of
	// Text.
	IDs []string

	// Name is the origin of the document, for errors.
	Name string

	Text string
}

// ReadTrusted reads trusted documents from a folder or a manifest.
//
// A folder is searched for *.graphql and *.gql files at any depth, except hidden ones:
// Kubernetes keeps the files of a ConfigMap twice, in folders such as "..data". Each file is one
// document, or has fragments for the others. The ids of a document are the SHA-256 of its
// file with and without surrounding white space, since editors end a file with a newline
// and clients send none. A manifest is a JSON file, either in Apollo's format or an object
// from id to document, as graphql-codegen and Relay write it.
func ReadTrusted(path string) (list []TrustedDocument, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.IsDir():
		list, err = readTrustedFolder(path)
	default:
		list, err = readManifest(path)
	}

	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s has no documents", path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading trusted documents: %w", err)
	}
	return list, nil
}

func readTrustedFolder(root string) ([]TrustedDocument, error) {
	var list []TrustedDocument
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && path != root && strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); err != nil || entry.IsDir() || ext != ".graphql" && ext != ".gql" {
			return err
		}

		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		text := strings.TrimPrefix(string(data), "\ufeff")
		ids := []string{hashText(text), hashText(strings.TrimSpace(text))}
		list = append(list, TrustedDocument{ids, path, text})
		return nil
	})
	return list, err
}

func readManifest(path string) ([]TrustedDocument, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var list []TrustedDocument
	var apollo struct {
		Format     string `json:"format"`
		Version    int    `json:"version"`
		Operations []struct {
			ID   string `json:"id"`
			Body string `json:"body"`
			Name string `json:"name"`
		} `json:"operations"`
	}
	err = json.Unmarshal(data, &apollo)
	if err == nil && apollo.Format == "apollo-persisted-query-manifest" && apollo.Version == 1 {
		for _, op := range apollo.Operations {
			list = append(list, TrustedDocument{[]string{op.ID}, path + ": " + op.Name, op.Body})
		}
		return list, nil
	}

	var texts map[string]string
	if err := json.Unmarshal(data, &texts); err != nil {
		return nil, fmt.Errorf("%s: expected an Apollo manifest (version 1) "+
			"or a JSON object that maps ids to documents: %w", path, err)
	}
	for id, text := range texts {
		list = append(list, TrustedDocument{[]string{id}, path + ": " + id, text})
	}
	return list, nil
}

// addTrusted checks the trusted documents. Its error names all invalid ones.
func (d *Documents) addTrusted() error {
	d.byID, d.trusted = map[string]string{}, map[string]bool{}
	var problems []error
	report := func(t TrustedDocument, problem error) {
		if problem != nil {
			problems = append(problems, fmt.Errorf("trusted document %s: %w", t.Name, problem))
		}
	}

	// A document without operations has fragments for the others.
	var documents []TrustedDocument
	var shared ast.FragmentDefinitionList
	for _, t := range d.Trusted {
		parsed, err := parser.ParseQuery(&ast.Source{Input: t.Text})
		if err != nil || len(parsed.Operations) > 0 || len(parsed.Fragments) == 0 {
			documents = append(documents, t)
			continue
		}
		for _, f := range parsed.Fragments {
			if shared.ForName(f.Name) != nil {
				report(t, fmt.Errorf("another document has a fragment %s, too", f.Name))
			}
			shared = append(shared, f)
		}
	}

	for _, t := range documents {
		report(t, d.addOneTrusted(t, shared))
	}
	if d.TrustedOnly && len(documents) == 0 {
		problems = append(problems, errors.New("only trusted documents are accepted, but there are none"))
	}
	return errors.Join(problems...)
}

func (d *Documents) addOneTrusted(t TrustedDocument, shared ast.FragmentDefinitionList) error {
	parsed, err := parseDocument(t.Text)
	if err != nil {
		return err
	}
	t.Text = schema.WithFragments(t.Text, parsed, shared)
	if parsed, err = parseDocument(t.Text); err != nil {
		return err
	}

	operations, errs := d.check(parsed)
	if len(errs) == 0 {
		errs = operations[0].wrong
	}
	if len(errs) > 0 {
		return errs[0]
	}

	for _, id := range t.IDs {
		if known, ok := d.byID[id]; id == "" || ok && known != t.Text {
			return fmt.Errorf("its id %q is missing or belongs to another document", id)
		}
		d.byID[id] = t.Text
	}
	for _, op := range parsed.Operations {
		d.trusted[canonical(op, parsed.Fragments)] = true
	}
	return nil
}

// isTrusted reports whether each operation of a document is one of a trusted document.
func (d *Documents) isTrusted(doc *ast.QueryDocument) bool {
	return len(d.trusted) > 0 && !slices.ContainsFunc(doc.Operations, func(op *ast.OperationDefinition) bool {
		return !d.trusted[canonical(op, doc.Fragments)]
	})
}

// plainTypename matches a field __typename without an alias or a directive in a formatted
// document, which has each field on a line of its own.
var plainTypename = regexp.MustCompile(`(?m)^\s*__typename\n`)

// canonical formats an operation with the fragments that it reaches. The result does not
// depend on white space, commas, comments, descriptions, the order of definitions, and the
// field __typename, which Apollo Client and urql add to each selection.
func canonical(op *ast.OperationDefinition, all ast.FragmentDefinitionList) string {
	one := ast.OperationList{op}
	text := schema.Format(&ast.QueryDocument{Operations: one, Fragments: schema.Reached(one, all)})
	return plainTypename.ReplaceAllString(text, "")
}

// hashText returns the id of a document: the SHA-256 of its text in hexadecimal.
func hashText(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
