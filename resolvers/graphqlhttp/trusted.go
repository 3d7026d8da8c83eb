package graphqlhttp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
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
// A folder is searched for *.graphql and *.gql files at any depth. Each file is one
// document. Its ids are the SHA-256 of its text with and without surrounding white space,
// since editors end a file with a newline and clients send none. A manifest is a JSON
// file, either in Apollo's format or an object from id to document, as graphql-codegen
// and Relay write it.
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
		if ext := filepath.Ext(path); err != nil || entry.IsDir() || ext != ".graphql" && ext != ".gql" {
			return err
		}

		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		text := string(data)
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
		return nil, fmt.Errorf("%s: neither version 1 of Apollo's format nor an object from id to document: %w",
			path, err)
	}
	for id, text := range texts {
		list = append(list, TrustedDocument{[]string{id}, path + ": " + id, text})
	}
	return list, nil
}

// hashText returns the id of a document: the SHA-256 of its text in hexadecimal.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
