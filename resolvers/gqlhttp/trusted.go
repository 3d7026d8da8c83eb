package gqlhttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"
)

// TrustedDocument is a document that clients may name by its id.
type TrustedDocument struct {
	// ID is what clients send, usually the lower-case hexadecimal SHA-256 of Text.
	ID string
	// Name says where the document is from, for error messages.
	Name string
	// Text is the document.
	Text string
}

// ReadTrusted reads trusted documents from a folder or a manifest.
//
// A folder is searched for *.graphql and *.gql files, at any depth; each is one
// document, whose id is the SHA-256 of its text, with or without the white space around
// it: editors end a file with a new line, clients send none. A manifest is a JSON file, either in
// Apollo's format (`"format": "apollo-persisted-query-manifest"`) or an object from id
// to document, as graphql-codegen and Relay write it.
func ReadTrusted(path string) ([]TrustedDocument, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading trusted documents: %w", err)
	}
	var list []TrustedDocument
	if info.IsDir() {
		list, err = readTrustedFolder(path)
	} else {
		list, err = readManifest(path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading trusted documents: %w", err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("reading trusted documents: %s holds none", path)
	}
	return list, nil
}

func readTrustedFolder(root string) ([]TrustedDocument, error) {
	var list []TrustedDocument
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if ext := filepath.Ext(path); ext != ".graphql" && ext != ".gql" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		whole := string(text)
		list = append(list, TrustedDocument{ID: hashText(whole), Name: path, Text: whole})
		if bare := strings.TrimSpace(whole); bare != whole {
			list = append(list, TrustedDocument{ID: hashText(bare), Name: path, Text: bare})
		}
		return nil
	})
	return list, err
}

const apolloFormat = "apollo-persisted-query-manifest"

// apolloManifest is what Apollo's tool generates.
type apolloManifest struct {
	Format     string `json:"format"`
	Version    int    `json:"version"`
	Operations []struct {
		ID   string `json:"id"`
		Body string `json:"body"`
		Name string `json:"name"`
	} `json:"operations"`
}

func readManifest(path string) ([]TrustedDocument, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []TrustedDocument
	if bytes.Contains(data, []byte(apolloFormat)) {
		var manifest apolloManifest
		if err := json.Unmarshal(data, &manifest); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if manifest.Format != apolloFormat || manifest.Version != 1 {
			return nil, fmt.Errorf("%s: only version 1 of %s can be read", path, apolloFormat)
		}
		for _, op := range manifest.Operations {
			list = append(list, TrustedDocument{ID: op.ID, Name: path + ": " + op.Name, Text: op.Body})
		}
		return list, nil
	}
	var plain map[string]string
	if err := json.Unmarshal(data, &plain); err != nil {
		return nil, fmt.Errorf("%s: neither %s nor an object from id to document: %w", path, apolloFormat, err)
	}
	for id, text := range plain {
		list = append(list, TrustedDocument{ID: id, Name: path + ": " + id, Text: text})
	}
	slices.SortFunc(list, func(a, b TrustedDocument) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// addTrusted compiles the policy's trusted documents. All that are not valid are named.
func (d *Documents) addTrusted() error {
	d.byID = make(map[string]*document, len(d.policy.Trusted))
	d.byTokens = make(map[[sha256.Size]byte]*document, len(d.policy.Trusted))
	var problems []error
	for i, t := range d.policy.Trusted {
		doc, errs := d.compile(t.Text, nil)
		switch known := d.byID[t.ID]; {
		case i > 0 && len(errs) > 0 && sameFile(&t, &d.policy.Trusted[i-1]): // said already
		case t.ID == "":
			problems = append(problems, fmt.Errorf("trusted document %s has no id", t.Name))
		case len(errs) > 0:
			problems = append(problems, fmt.Errorf("trusted document %s: %w", t.Name, errs))
		case known != nil && known.text != t.Text:
			problems = append(problems, fmt.Errorf("trusted document %s has the id of another one", t.Name))
		default:
			d.byID[t.ID] = doc
			d.byTokens[tokenHash(t.Text, unlimited)] = doc
		}
	}
	if d.policy.TrustedOnly && len(d.policy.Trusted) == 0 {
		problems = append(problems, errors.New("only trusted documents are accepted, but there are none"))
	}
	return errors.Join(problems...)
}

// sameFile tells whether two documents are one file, read with and without the white
// space around it.
func sameFile(a, b *TrustedDocument) bool {
	return a.Name == b.Name && a.Text == strings.TrimSpace(b.Text)
}

// trusted returns the trusted document with this id.
func (d *Documents) trusted(id string) (*document, bool) {
	doc, ok := d.byID[id]
	return doc, ok
}

// hashText returns the SHA-256 of a text in lower-case hexadecimal.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// tokenHash is the same for documents that differ only in white space, commas and
// comments. Of a document with more tokens than the limit, or one that is no sequence
// of tokens, it is the zero hash, which no document has.
func tokenHash(text string, limit int) [sha256.Size]byte {
	hash := sha256.New()
	lex := lexer.New(&ast.Source{Input: text})
	var number [8]byte
	for range limit {
		token, err := lex.ReadToken()
		switch {
		case err != nil:
			return [sha256.Size]byte{}
		case token.Kind == lexer.EOF:
			return [sha256.Size]byte(hash.Sum(nil))
		case token.Kind == lexer.Comment:
			continue
		}
		// Kind and length keep neighbouring tokens apart.
		binary.LittleEndian.PutUint32(number[:4], uint32(token.Kind))
		binary.LittleEndian.PutUint32(number[4:], uint32(len(token.Value)))
		hash.Write(number[:])
		hash.Write([]byte(token.Value))
	}
	return [sha256.Size]byte{}
}
