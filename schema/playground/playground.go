// Package playground is the page to try the GraphQL API out: GraphiQL if it was built into the binary
// (`make pages`), else a small form. Either loads everything from the service itself.
package playground

import (
	"embed"
	"io/fs"
	"net/http"

	"siteapi/schema"
	"siteapi/schema/page"
)

// web holds the small form, the page of GraphiQL, and the files in static, which they load. The build adds dist.
//
//go:embed all:web
var web embed.FS

// Path is where the page is.
const Path = "/playground"

// Options is what the pages show. The tokens are visible to every visitor, so they must be the well-known ones of
// development or placeholders.
type Options struct {
	GraphQLPath              string // operations are sent there
	Introspection            bool   // off: the page says so, and does not ask for the schema
	CacheToken, WebhookToken string // for the headers of the operations that need them
	Refuse                   func(w http.ResponseWriter, r *http.Request, e *schema.Error)
}

// GraphiQL's editor adds <style> elements, which it gives the page's nonce, and places each line by a style attribute,
// which no nonce can cover; style attributes run nothing.
const policy = "worker-src 'self'; style-src-attr 'unsafe-inline'"

// New returns the playground, for GET and HEAD.
func New(o Options) (http.Handler, error) {
	files, _ := fs.Sub(web, "web") // fails on a malformed name only
	return newPage(o, files)
}

func newPage(o Options, files fs.FS) (http.Handler, error) {
	introspection := "off"
	if o.Introspection {
		introspection = "on"
	}
	return page.New(page.Options{
		Path: Path, Files: files, Policy: policy, Refuse: o.Refuse,
		Values: map[string]string{
			"graphql-path": o.GraphQLPath, "introspection": introspection,
			"cache-token": o.CacheToken, "webhook-token": o.WebhookToken,
		},
	})
}
