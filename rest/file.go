package rest

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/maypok86/otter/v2"
)

// file is a download with its headers, ready to be sent any number of times. Ranges are
// not served: files are small, and a part of one could not be told from a part of its
// next rendering.
type file struct {
	body   []byte
	etag   string   // empty: none
	always []header // of every answer, 304 among them
	entity []header // of those that bring the file

	negotiated bool // the client's preferred language decided on it
	stands     func() bool
}

// header is one header. Its value is shared by all answers, so it has no room.
type header struct {
	name  string // in its canonical form
	value []string
}

func newFile(d download, body []byte, negotiated bool) *file {
	f := &file{body: body, etag: d.ETag, negotiated: negotiated}
	f.always = []header{
		{"Cache-Control", []string{"private, no-cache"}}, // may be kept, has to be asked for again
		{"X-Robots-Tag", []string{"noindex"}},
	}
	if d.ETag != "" {
		f.always = append(f.always, header{"Etag", []string{d.ETag}})
	}
	f.entity = []header{
		{"Content-Type", []string{d.ContentType}},
		{"Content-Disposition", []string{disposition(d.FileName)}},
		{"Content-Length", []string{strconv.Itoa(len(body))}},
	}
	if d.Locale != "" {
		f.entity = append(f.entity, header{"Content-Language", []string{d.Locale}})
	}
	return f
}

// write sends the file, or 304 to a client that has it.
func (f *file) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for _, one := range f.always {
		h[one.name] = one.value
	}
	if f.negotiated {
		h["Vary"] = append(slices.Clip(h["Vary"]), "Accept-Language")
	}
	if f.etag != "" && matches(r.Header, f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	for _, one := range f.entity {
		h[one.name] = one.value
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(f.body) // a client that is gone can't be told
	}
}

// files keeps files that a resolver says will stand for a while, by all that they
// depend on. It is bounded, and what is not asked for is soon forgotten.
type files struct {
	cache *otter.Cache[fileKey, *file]
}

// fileKey is what a file depends on.
type fileKey struct {
	route           *route
	query, language string
}

// Bounds of what is kept.
const (
	fileBytes   = 4 << 20         // of all files
	fileLife    = 5 * time.Second // after it was last made
	longestName = 512             // bytes of the query and of Accept-Language, each
)

func newFiles() (*files, error) {
	cache, err := otter.New(&otter.Options[fileKey, *file]{
		MaximumWeight:    fileBytes,
		Weigher:          func(k fileKey, f *file) uint32 { return uint32(len(k.query) + len(k.language) + len(f.body) + 1024) },
		ExpiryCalculator: otter.ExpiryWriting[fileKey, *file](fileLife),
	})
	return &files{cache}, err
}

// find returns the file that a request would be given, nil where that is not known.
func (c *files) find(rt *route, r *http.Request) *file {
	f, ok := c.cache.GetIfPresent(keyOf(rt, r))
	if !ok || !f.stands() {
		return nil
	}
	return f
}

func (c *files) keep(rt *route, r *http.Request, f *file) {
	if k := keyOf(rt, r); len(k.query) <= longestName && len(k.language) <= longestName {
		c.cache.Set(k, f)
	}
}

func keyOf(rt *route, r *http.Request) fileKey {
	return fileKey{rt, r.URL.RawQuery, first(r.Header, "Accept-Language")}
}
