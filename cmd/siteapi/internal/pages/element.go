package pages

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"siteapi/schema/request"
)

// Paths of the calculator as a custom element for pages of any site.
const (
	ElementPath   = "/calculator.js" // defines the element
	elementScript = "/calculator-"   // followed by a hash of the script
)

// Element returns the handlers that define <siteapi-calculator>, by path: a short loader
// with the values of this service, and the script that it imports, whose name changes with
// its contents. The flag mails is whether visitors get a confirmation by e-mail; preview is
// a token for drafts, which a public page must not have.
func Element(mails bool, preview string) (map[string]http.Handler, error) {
	files := Files("calculator")
	names, err := fs.Glob(files, "element-*.js.gz")
	if err != nil || len(names) != 1 {
		return nil, fmt.Errorf("reading the calculator's script: %d files, %w", len(names), err)
	}
	name := strings.TrimSuffix(names[0], ".gz")
	hash := strings.TrimSuffix(strings.TrimPrefix(name, "element-"), ".js")

	loader := fmt.Sprintf(`import { define } from ".%s%s.js";
define(new URL(".", import.meta.url), { mails: %t, preview: %q });
`, elementScript, hash, mails, preview)
	return map[string]http.Handler{
		ElementPath:                  serveLoader([]byte(loader)),
		elementScript + hash + ".js": serveScript(files, name),
	}, nil
}

// forEverySite lets pages of any origin load a script, also those that require it of what
// they embed (Cross-Origin-Embedder-Policy).
func forEverySite(h http.Header, cache string) {
	h.Set("Content-Type", contentTypes[".js"])
	h.Set("Cache-Control", cache)
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

func serveLoader(loader []byte) http.HandlerFunc {
	etag := fmt.Sprintf(`"%.8x"`, sha256.Sum256(loader))
	return func(w http.ResponseWriter, r *http.Request) {
		forEverySite(w.Header(), "public, max-age=300")
		w.Header().Set("ETag", etag)
		request.WriteBody(w, r, http.StatusOK, loader)
	}
}

func serveScript(files fs.FS, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		forEverySite(w.Header(), "public, max-age=31536000, immutable")
		file, err := packedFile(files, name, w.Header(), r)
		if err != nil {
			panic(err) // the file is embedded
		}
		request.WriteBody(w, r, http.StatusOK, file)
	}
}
