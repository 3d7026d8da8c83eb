// Package playground is the page to try the GraphQL API out: GraphiQL if it was built into the binary
// (`make pages`), else a small form. Either loads everything from the service itself.
package playground

import (
	"embed"
	"io/fs"

	"siteapi/schema/page"
)

// web holds the small form, the page of GraphiQL, and the files in static, which they load. The build adds dist.
//
//go:embed all:web
var web embed.FS

// Path is where the page is.
const Path = "/playground"

// Page describes the playground. Its values are graphql-path, where operations are sent; introspection, on or off; and
// cache-token and webhook-token for the headers of the operations that need them. Every visitor sees the tokens.
func Page() page.Options {
	files, _ := fs.Sub(web, "web") // fails on a malformed name only
	return page.Options{
		// GraphiQL's editor adds <style> elements, which it gives the page's nonce, and places each line by a style
		// attribute, which no nonce can cover; style attributes run nothing.
		Path:   Path,
		Files:  files,
		Policy: "worker-src 'self'; style-src-attr 'unsafe-inline'",
	}
}
