// Package pages serves the embedded HTML pages: front page, playground, API reference,
// calculator and inbox.
//
// `make pages` builds them with npm into dist, which is committed. Each page has a folder
// with an index.html and gzipped assets, whose names contain a hash so that browsers can
// cache them.
package pages

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"siteapi/rest"
	"siteapi/schema"
	"siteapi/schema/request"
)

//go:embed dist
var dist embed.FS

// Files returns the built files of a page.
func Files(name string) fs.FS {
	files, _ := fs.Sub(dist, "dist/"+name) // fails only for a malformed name
	return files
}

// Options configures a page.
type Options struct {
	// Path is the path of the page. Its assets are served below Path/assets.
	Path string

	// Files contains index.html and its gzipped assets.
	Files fs.FS

	// Policy is added to the Content-Security-Policy, which allows assets of the service.
	Policy string

	// Values replace placeholders such as {{name}} in the page. {{nonce}} is reserved for
	// <style> elements.
	Values map[string]string

	// Phones, if set, returns the telephone numbers that replace {{phones}}.
	Phones func(context.Context) string
}

type handler struct {
	Options
	assets string // path of the assets
	page   string
}

// New returns the handler of a page, for GET and HEAD.
func New(o Options) (http.Handler, error) {
	text, err := fs.ReadFile(o.Files, "index.html")
	if err != nil {
		return nil, fmt.Errorf("reading the page at %s: %w", o.Path, err)
	}

	var replacements []string
	for name, value := range o.Values {
		replacements = append(replacements, "{{"+name+"}}", html.EscapeString(value))
	}

	return &handler{
		Options: o,
		assets:  strings.TrimSuffix(o.Path, "/") + "/assets/",
		page:    strings.NewReplacer(replacements...).Replace(string(text)),
	}, nil
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")

	name, isFile := strings.CutPrefix(r.URL.Path, h.assets)
	switch {
	case r.URL.Path == h.Path, r.URL.Path == h.Path+"/":
		h.servePage(w, r)
	case isFile && h.serveFile(w, r, name):
	default:
		rest.WriteProblem(w, r, schema.NotFound("The page has no such file."))
	}
}

const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; style-src 'self' 'nonce-%s'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'; %s"

// servePage sends the page. No cache may store it, as its nonce is valid for one
// response.
func (h *handler) servePage(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", fmt.Sprintf(policy, nonce, h.Policy))

	page := strings.NewReplacer("{{nonce}}", nonce,
		"{{local}}", strconv.FormatBool(request.CallerFrom(r.Context()).Local)).Replace(h.page)
	if h.Phones != nil {
		page = strings.ReplaceAll(page, "{{phones}}", html.EscapeString(h.Phones(r.Context())))
	}
	request.WriteBody(w, r, http.StatusOK, []byte(page))
}

// contentTypes are fixed, since the types of package mime depend on the system.
var contentTypes = map[string]string{
	".js":    "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".svg":   "image/svg+xml",
	".ttf":   "font/ttf",
	".woff2": "font/woff2",
	".txt":   "text/plain; charset=utf-8",
}

// serveFile sends an asset, which is already compressed. It returns false if the asset
// does not exist.
func (h *handler) serveFile(w http.ResponseWriter, r *http.Request, name string) bool {
	header := w.Header()
	file, err := packedFile(h.Files, name, header, r)
	if err != nil {
		return false
	}

	header.Set("Content-Type", contentTypes[path.Ext(name)])
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	// A worker uses the policy of its own file, not of the page that starts it.
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; frame-ancestors 'none'")
	request.WriteBody(w, r, http.StatusOK, file)
	return true
}

// packedFile returns a built file in the best coding that the client accepts, and sets
// Content-Encoding. Only some files are also packed with brotli.
func packedFile(files fs.FS, name string, h http.Header, r *http.Request) ([]byte, error) {
	if request.Accepts(r, "br") {
		if file, err := fs.ReadFile(files, name+".br"); err == nil {
			h.Set("Content-Encoding", "br")
			return file, nil
		}
	}

	file, err := fs.ReadFile(files, name+".gz")
	if err != nil || !request.Accepts(r, "gzip") {
		return unpack(file)
	}
	h.Set("Content-Encoding", "gzip")
	return file, nil
}

// unpack unpacks a file; an empty one, which does not exist, is an error.
func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
