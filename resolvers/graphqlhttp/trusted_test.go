package graphqlhttp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"siteapi/resolvers/graphqlhttp"
)

func TestUnreadableTrustedDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"notes.md":     "# Notes",
		"not.json":     `{`,
		"numbers.json": `{"a":1}`,
		"empty.json":   `{}`,
		"version.json": `{"format":"apollo-persisted-query-manifest","version":2,"operations":[]}`,
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, name := range []string{"missing", "", "not.json", "numbers.json", "empty.json", "version.json"} {
		if list, err := graphqlhttp.ReadTrusted(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s: read as %v", name, list)
		}
	}

	// The error names every document that is not valid.
	_, err := graphqlhttp.NewDocuments(graphqlhttp.DocumentOptions{
		Trusted: []graphqlhttp.TrustedDocument{
			{IDs: []string{"1"}, Name: "one.graphql", Text: `{ nothing }`},
			{IDs: []string{""}, Name: "three.graphql", Text: `{ __typename }`},
			{IDs: []string{"4"}, Name: "four.graphql", Text: `{ __typename }`},
			{IDs: []string{"4"}, Name: "five.graphql", Text: `{ a: __typename }`},
			{IDs: []string{"6"}, Name: "six.graphql", Text: `fragment A on Query { __typename }`},
			{IDs: []string{"7"}, Name: "seven.graphql", Text: `fragment A on Query { a: __typename }`},
			{IDs: []string{"8"}, Name: "eight.graphql", Text: `{ ...B }`},
			{IDs: []string{"9"}, Name: "nine.graphql", Text: `# nothing yet`},
		},
	})

	for _, name := range []string{"one", "three", "five", "seven", "eight", "nine"} {
		if err == nil || !strings.Contains(err.Error(), name+".graphql") {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}

	if _, err := graphqlhttp.NewDocuments(graphqlhttp.DocumentOptions{
		TrustedOnly: true,
	}); err == nil {
		t.Error("only trusted documents, but none: accepted")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
