// Package playground is the page at which people try the GraphQL API out: GraphiQL
// where it was built into the binary (`make playground`), else a small page of its own
// with a plain form. Either loads everything from the service itself.
package playground

import (
	"errors"
	"net/http"
	"strings"

	"siteapi/schema"
)

// Options is what a playground is made of.
type Options struct {
	// Path is where the playground is, such as `/playground`: the page itself, and its
	// files in the folder `assets` below. Required.
	Path string
	// GraphQLPath is where the page sends operations. Required.
	GraphQLPath string
	// Introspection tells whether the service answers questions about its schema. Where
	// it does not, the page says so and does not ask.
	Introspection bool
	// CacheToken and WebhookToken are put into the headers of the prepared operations
	// that need them. Everyone who opens the page can read them, so they have to be well
	// known or words that stand for a token.
	CacheToken, WebhookToken string
	// Random returns letters and digits that can't be guessed, with at least 128 bits.
	// Required.
	Random func() string
	// Refuse answers a request for something the playground does not have. Required.
	Refuse func(w http.ResponseWriter, r *http.Request, e *schema.Error)
}

// Handler serves the page and its files.
type Handler struct {
	path   string
	page   *page
	assets assets
	refuse func(w http.ResponseWriter, r *http.Request, e *schema.Error)
}

// New returns a playground. Its error is about files that were built into the binary
// and can't be read.
func New(o Options) (*Handler, error) {
	if o.Path == "" || o.GraphQLPath == "" || o.Random == nil || o.Refuse == nil {
		return nil, errors.New("a playground needs a path, the path of the GraphQL door, randomness and a way to refuse")
	}
	return open(o, web)
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		h.refuse(w, r, &schema.Error{Code: schema.CodeMethodNotAllowed, Message: "The playground is served by GET."})
		return
	}
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	switch name, ok := strings.CutPrefix(r.URL.Path, h.path+assetsFolder); {
	case r.URL.Path == h.path, r.URL.Path == h.path+"/":
		h.page.serve(w)
	case ok && h.assets.serve(w, r, name):
	default:
		h.refuse(w, r, &schema.Error{Code: schema.CodeNotFound, Message: "The playground has no such file."})
	}
}

// Built reports whether GraphiQL is part of the binary.
func (h *Handler) Built() bool { return h.page.Bundle != nil }
