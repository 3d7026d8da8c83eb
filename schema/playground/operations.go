package playground

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"siteapi/schema"
)

// Operation is one operation that the page has ready.
type Operation struct {
	Title     string `json:"title"` // the document's first line, a comment
	Query     string `json:"query"`
	Variables string `json:"variables"` // JSON; empty: it has none
	Token     string `json:"token"`     // bearer token it needs; empty: none
}

// sessionMark stands in variables where a session of the calculator belongs.
const sessionMark = "{session}"

// readOperations reads the prepared operations, in the order of their file names: a
// document each, with its variables in a JSON file beside it.
func readOperations(files fs.FS, o Options) ([]Operation, error) {
	documents, err := fs.Glob(files, "web/operations/*.graphql")
	if err != nil {
		return nil, fmt.Errorf("finding the prepared operations: %w", err)
	}
	if len(documents) == 0 {
		return nil, errors.New("there are no prepared operations")
	}
	var list []Operation
	for _, file := range documents {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("reading a prepared operation: %w", err)
		}
		variables, err := fs.ReadFile(files, strings.TrimSuffix(file, path.Ext(file))+".json")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading the variables of a prepared operation: %w", err)
		}
		token, err := tokenFor(file, string(text), o)
		if err != nil {
			return nil, err
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		list = append(list, Operation{
			Title: title, Query: string(text), Variables: strings.TrimSpace(string(variables)), Token: token,
		})
	}
	return list, nil
}

// tokenFor returns the bearer token a document needs, as its root fields' @auth says.
func tokenFor(file, text string, o Options) (string, error) {
	doc, err := parser.ParseQuery(&ast.Source{Name: file, Input: text})
	if err != nil {
		return "", fmt.Errorf("reading a prepared operation: %w", err)
	}
	api := schema.AST()
	for _, operation := range doc.Operations {
		root := api.Query
		if operation.Operation == ast.Mutation {
			root = api.Mutation
		}
		for _, selection := range operation.SelectionSet {
			field, ok := selection.(*ast.Field)
			if !ok {
				continue
			}
			definition := root.Fields.ForName(field.Name)
			if definition == nil {
				return "", fmt.Errorf("%s: there is no root field %s", file, field.Name)
			}
			auth := definition.Directives.ForName("auth")
			if auth == nil {
				continue
			}
			if auth.Arguments.ForName("token").Value.Raw == string(schema.TokenKindWebhook) {
				return o.WebhookToken, nil
			}
			return o.CacheToken, nil
		}
	}
	return "", nil
}

// inSession returns the operations with this session in their variables.
func inSession(list []Operation, session string) []Operation {
	out := make([]Operation, len(list))
	for i, op := range list {
		op.Variables = strings.ReplaceAll(op.Variables, sessionMark, session)
		out[i] = op
	}
	return out
}
