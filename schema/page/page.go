// Package page serves an HTML page and the files it loads, all embedded into the binary.
// Pages are built with npm (`make pages`) into gzipped files with hashed names, which
// browsers cache. The service compiles and runs without them: in place of a page that was
// not built, it serves one that explains how to build it.
package page

import (
	"bytes"
	"crypto/rand"
	"embed"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"siteapi/schema"
)

// web holds a folder for each page. `make pages` builds the pages of schema/clients into
// web/<name>/dist.
//
//go:embed all:web
var web embed.FS

// Files returns the files of a page that is embedded here. If the page was not built,
// they are those of a page that explains how to build it.
func Files(name string) fs.FS {
	if _, err := fs.Stat(web, "web/"+name); err != nil {
		name = "unbuilt"
	}
	files, _ := fs.Sub(web, "web/"+name) // fails only if the name is malformed
	return files
}

// Options describes a page.
type Options struct {
	// Path is the path of the page. Its files are in the folder assets below it.
	Path string

	// Files holds the page, which is dist/index.html if it was built and index.html
	// otherwise. The other files of dist are gzipped and named by their contents. Files
	// in static are served as they are.
	Files fs.FS

	// Policy is added to the Content-Security-Policy. Without it a page can load files of
	// the service and pictures from ImageHosts, nothing else.
	Policy     string
	ImageHosts []string

	// Values replace their {{names}} in the page, as text. The name {{nonce}} is reserved
	// for the nonce that allows <style> elements.
	Values map[string]string

	// Refuse responds to requests for files that do not exist.
	Refuse func(w http.ResponseWriter, r *http.Request, e *schema.Error)
}

type handler struct {
	Options
	assets string // path of the folder of the files
	page   string
}

// New returns the handler of a page, for GET and HEAD.
func New(o Options) (http.Handler, error) {
	name := "dist/index.html"
	if _, err := fs.Stat(o.Files, name); err != nil {
		name = "index.html" // The page was not built.
	}

	text, err := fs.ReadFile(o.Files, name)
	if err != nil {
		return nil, fmt.Errorf("reading the page at %s: %w", o.Path, err)
	}

	var places []string
	for name, value := range o.Values {
		places = append(places, "{{"+name+"}}", html.EscapeString(value))
	}

	page := strings.NewReplacer(places...).Replace(string(text))
	return &handler{Options: o, assets: strings.TrimSuffix(o.Path, "/") + "/assets/", page: page}, nil
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")

	name, ok := strings.CutPrefix(r.URL.Path, h.assets)
	switch {
	case r.URL.Path == h.Path, r.URL.Path == h.Path+"/":
		h.servePage(w)
	case ok && h.serveFile(w, r, name):
	default:
		h.Refuse(w, r, &schema.Error{Code: schema.CodeNotFound, Message: "The page has no such file."})
	}
}

const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:%s; " +
	"font-src 'self'; style-src 'self' 'nonce-%s'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; %s"

// servePage sends the page. Its nonce is for one response, so no cache may store it.
func (h *handler) servePage(w http.ResponseWriter) {
	nonce := rand.Text()

	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")

	images := ""
	for _, host := range h.ImageHosts {
		images += " https://" + host
	}

	w.Header().Set("Content-Security-Policy", fmt.Sprintf(policy, images, nonce, h.Policy))

	// Writing fails only if the client has disconnected.
	_, _ = io.WriteString(w, strings.ReplaceAll(h.page, "{{nonce}}", nonce))
}

// contentTypes are fixed because the types that package mime knows differ between
// systems.
var contentTypes = map[string]string{
	".js":    "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".svg":   "image/svg+xml",
	".ttf":   "font/ttf",
	".woff2": "font/woff2",
	".txt":   "text/plain; charset=utf-8",
}

// serveFile sends a file. It returns false if there is no file of that name.
func (h *handler) serveFile(w http.ResponseWriter, r *http.Request, name string) bool {
	caching := "no-cache"
	data, err := fs.ReadFile(h.Files, "static/"+name)
	if err != nil {
		if data, err = fs.ReadFile(h.Files, "dist/"+name+".gz"); err != nil {
			return false
		}
		caching = "public, max-age=31536000, immutable"
		w.Header().Set("Content-Encoding", "gzip") // Every browser supports it.
	}

	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", caching)

	// A worker has the policy of its own file, not of the page that starts it.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; frame-ancestors 'none'")

	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	return true
}
