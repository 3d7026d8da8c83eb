// Package playground is the page for trying out the GraphQL API. It is GraphiQL if that
// was built into the binary (`make pages`), and a small form otherwise. Both load
// everything from the service itself.
package playground

import (
	"embed"
	"io/fs"

	"siteapi/schema/page"
)

// web holds the small form, the page of GraphiQL, and the files in static, which both
// load. The build adds dist.
//
//go:embed all:web
var web embed.FS

// Path is the path of the page.
const Path = "/playground"

// Page describes the playground. Its values are graphql-path, the path to which
// operations are sent; introspection, on or off; and cache-token and webhook-token, for
// the headers of the operations that need them. Every visitor sees the tokens.
func Page() page.Options {
	files, _ := fs.Sub(web, "web") // fails only if the name is malformed
	return page.Options{
		// GraphiQL's editor adds <style> elements, which take the page's nonce, and
		// positions each line by a style attribute, which a nonce cannot allow. Style
		// attributes cannot run code.
		Path:   Path,
		Files:  files,
		Policy: "worker-src 'self'; style-src-attr 'unsafe-inline'",
	}
}
