// Package playground is the page at which people try the GraphQL API out: GraphiQL if it was built into the binary
// (`make playground`), else a small form. Either loads everything from the service itself.
package playground

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"siteapi/schema"
)

// web holds the pages and the files in static, which they load. `make playground` adds dist, GraphiQL's page and its
// files, gzipped and named by their contents; everything compiles and runs without it.
//
//go:embed all:web
var web embed.FS

// Path is where the page is. Its files are in the folder assets below.
const Path = "/playground"

// Options is what the pages show. Everyone who opens them can read the tokens, so these have to be well known or words
// that stand for a token.
type Options struct {
	GraphQLPath              string // operations are sent there
	Introspection            bool   // off: the page says so, and does not ask for the schema
	CacheToken, WebhookToken string // for the headers of the operations that need them
	Refuse                   func(w http.ResponseWriter, r *http.Request, e *schema.Error)
}

// handler serves the page and its files.
type handler struct {
	Options
	files fs.FS
	page  *template.Template
}

// New returns the playground. Requests by other methods than GET and HEAD are not for it.
func New(o Options) (http.Handler, error) { return open(o, web) }

func open(o Options, files fs.FS) (http.Handler, error) {
	name := "web/dist/index.html"
	if _, err := fs.Stat(files, name); err != nil {
		name = "web/fallback.html" // GraphiQL was not built
	}
	page, err := template.ParseFS(files, name)
	if err != nil {
		return nil, fmt.Errorf("reading the playground's page: %w", err)
	}
	return &handler{Options: o, files: files, page: page}, nil
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	name, ok := strings.CutPrefix(r.URL.Path, Path+"/assets/")
	switch {
	case r.URL.Path == Path, r.URL.Path == Path+"/":
		h.servePage(w)
	case ok && h.serveFile(w, r, name):
	default:
		h.Refuse(w, r, &schema.Error{Code: schema.CodeNotFound, Message: "The playground has no such file."})
	}
}

// policy is the Content-Security-Policy of the page, with a nonce for the <style> elements that GraphiQL's editor adds.
// The editor also places each line by a style attribute, which no nonce can cover; style attributes run nothing.
const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"worker-src 'self'; style-src 'self' 'nonce-%s'; style-src-attr 'unsafe-inline'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// servePage sends the page. Its nonce is for one answer, so no cache may store it.
func (h *handler) servePage(w http.ResponseWriter) {
	view := struct {
		Options
		Nonce string
	}{h.Options, rand.Text()}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", fmt.Sprintf(policy, view.Nonce))
	_ = h.page.Execute(w, view) // fails only if the client is gone
}

// contentTypes are fixed, since systems differ in what they make of a file's extension.
var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".ttf": "font/ttf", ".txt": "text/plain; charset=utf-8",
}

// serveFile sends a file, or returns false if there is none of the name.
func (h *handler) serveFile(w http.ResponseWriter, r *http.Request, name string) bool {
	caching := "no-cache"
	data, err := fs.ReadFile(h.files, "web/static/"+name)
	if err != nil {
		if data, err = fs.ReadFile(h.files, "web/dist/"+name+".gz"); err != nil {
			return false
		}
		caching = "public, max-age=31536000, immutable"
		w.Header().Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
		} else {
			data = unpack(data)
		}
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", caching)
	// A worker has the policy of its own file, not of the page that starts it.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; frame-ancestors 'none'")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	return true
}

// unpack returns what the build has gzipped.
func unpack(data []byte) []byte {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		panic(fmt.Errorf("unpacking a file of the playground: %w", err))
	}
	plain, _ := io.ReadAll(reader) // from memory
	return plain
}
