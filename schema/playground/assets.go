package playground

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// web holds the page's files. The folder web/dist below it is made by `make playground`
// and is not there in a fresh clone; everything compiles and runs without it.
//
//go:embed all:web
var web embed.FS

// assetsFolder is the folder below the page that its files are served from.
const assetsFolder = "/assets/"

// bundle names the files of the built GraphiQL page, as the build wrote them down.
type bundle struct {
	Script   string `json:"script"`
	Style    string `json:"style"`
	Licences string `json:"licences"`
}

// assets are the page's files, each under a name that changes with its contents, so
// that browsers may keep them for good.
type assets struct {
	names map[string]string // served name by name in the tree
	files map[string]asset  // by served name
}

type asset struct {
	contentType string
	packed      []byte // gzipped
}

// readAssets reads the files of the page. The bundle is nil where GraphiQL was not built.
func readAssets(files fs.FS) (assets, *bundle, error) {
	a := assets{names: map[string]string{}, files: map[string]asset{}}
	for _, name := range []string{"icon.svg", "fallback.css", "fallback.js"} {
		contents, err := fs.ReadFile(files, "web/"+name)
		if err != nil {
			return a, nil, fmt.Errorf("reading a file of the playground: %w", err)
		}
		sum := sha256.Sum256(contents)
		ext := path.Ext(name)
		a.add(name, strings.TrimSuffix(name, ext)+"-"+hex.EncodeToString(sum[:4])+ext, pack(contents))
	}
	list, err := fs.ReadFile(files, "web/dist/manifest.json")
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil, nil
	}
	if err != nil {
		return a, nil, fmt.Errorf("reading the list of GraphiQL's files: %w", err)
	}
	built := &bundle{}
	if err := json.Unmarshal(list, built); err != nil {
		return a, nil, fmt.Errorf("reading the list of GraphiQL's files: %w", err)
	}
	found, err := fs.Glob(files, "web/dist/*.gz")
	if err != nil {
		return a, nil, fmt.Errorf("finding GraphiQL's files: %w", err)
	}
	for _, file := range found {
		packed, err := fs.ReadFile(files, file)
		if err != nil {
			return a, nil, fmt.Errorf("reading a file of GraphiQL: %w", err)
		}
		name := strings.TrimSuffix(path.Base(file), ".gz")
		a.add(name, name, packed)
	}
	return a, built, nil
}

func (a assets) add(name, served string, packed []byte) {
	a.names[name] = served
	a.files[served] = asset{contentType: contentType(path.Ext(name)), packed: packed}
}

// contentType is fixed here, since what systems know of extensions differs.
func contentType(ext string) string {
	return map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
		".ttf": "font/ttf", ".txt": "text/plain; charset=utf-8",
	}[ext]
}

// pack gzips. Writing to memory can't fail.
func pack(contents []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(contents)
	_ = w.Close()
	return out.Bytes()
}

// serve sends a file, false where there is none of the name.
func (a assets) serve(w http.ResponseWriter, r *http.Request, name string) bool {
	file, ok := a.files[name]
	if !ok {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", file.contentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	// A worker has the policy of its own file, not of the page that starts it.
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; frame-ancestors 'none'")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(file.packed)))
		_, _ = w.Write(file.packed) // the reader is gone: nothing left to do
		return true
	}
	plain, err := gzip.NewReader(bytes.NewReader(file.packed))
	if err != nil {
		panic(fmt.Errorf("unpacking %s: %w", name, err)) // the build wrote something else than gzip
	}
	_, _ = io.Copy(w, plain)
	return true
}
