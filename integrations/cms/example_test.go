package cms_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"siteapi/integrations/cms"
	"siteapi/integrations/cms/file"
)

// A query returns the documents of a language, and those that belong to every language.
func ExampleContent() {
	dir, err := os.MkdirTemp("", "cms")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	path := filepath.Join(dir, "content.json")
	if err := os.WriteFile(path, []byte(`[
		{"_id": "hero-en", "_type": "heroSection", "language": "en"},
		{"_id": "hero-es", "_type": "heroSection", "language": "es"},
		{"_id": "siteSettings", "_type": "siteSettings"}
	]`), 0o600); err != nil {
		panic(err)
	}

	content, err := file.Open(file.Options{Path: path, Dir: dir})
	if err != nil {
		panic(err)
	}
	docs, err := content.Fetch(context.Background(), cms.Query{
		Types:  []string{"heroSection", "siteSettings"},
		Locale: "es",
	})
	for _, d := range docs {
		fmt.Println(d.ID)
	}
	fmt.Println(err)

	// Output:
	// hero-es
	// siteSettings
	// <nil>
}
