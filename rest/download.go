package rest

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"siteapi/schema"
	"siteapi/schema/coding"
)

// download is the response of a route that sends a file.
type download struct {
	FileName, ContentType, Etag, Locale string

	// again returns the file while it is unchanged. It is nil if that is unknown.
	again func() (content []byte, same bool)
}

// downloadKey holds the parts of the request on which a download depends.
type downloadKey struct{ path, query, acceptLanguage string }

// The service remembers downloads without their files. Sending a remembered one again
// spares running its operation, which takes a third of pdf-cached-vs-nethttp.
const (
	maxDownloads   = 10_000
	maxDownloadKey = 512 // bytes that a client can choose
)

// serveDownload sends the file that the operation's root field describes and attaches.
func (a *API) serveDownload(
	ctx context.Context, w http.ResponseWriter, r *http.Request, rt *route, vars map[string]any,
) {
	key := downloadKey{rt.path, r.URL.RawQuery, strings.Join(r.Header["Accept-Language"], ",")}
	repeatable := rt.body == nil // The key covers the whole request.
	if repeatable && a.repeat(w, r, key) {
		return
	}

	value, file, problem := a.run(ctx, rt, vars, r.Header)
	if problem == nil && file == nil {
		problem = &schema.Error{Code: schema.CodeInternal}
	}
	if problem != nil {
		WriteProblem(w, r, problem)
		return
	}

	d := &download{again: file.Again}
	if err := json.Unmarshal(value, d); err != nil {
		panic(err) // compile has checked the fields
	}

	d.write(w, r, file.Content)
	if repeatable {
		a.remember(key, d)
	}
}

// remember keeps a download, so that the next request for it is answered without running
// the operation.
func (a *API) remember(key downloadKey, d *download) {
	if d.again != nil && len(key.query)+len(key.acceptLanguage) <= maxDownloadKey {
		key.query = strings.Clone(key.query) // The copy does not retain the rest of the request line.
		a.downloads.Set(key, d)
	}
}

// repeat sends a remembered download, unless its operation could have a different result
// now.
func (a *API) repeat(w http.ResponseWriter, r *http.Request, key downloadKey) bool {
	if d, known := a.downloads.GetIfPresent(key); known {
		if content, same := d.again(); same {
			d.write(w, r, content)
			return true
		}
		a.downloads.Invalidate(key)
	}
	return false
}

// write sends the file. Ranges are not supported because files are small.
func (d *download) write(w http.ResponseWriter, r *http.Request, content []byte) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache") // may be stored, must be revalidated
	h.Set("X-Robots-Tag", "noindex")

	if d.Locale != "" {
		h.Set("Content-Language", d.Locale)
		h.Add("Vary", "Accept-Language")
	}

	if d.Etag != "" {
		h.Set("ETag", d.Etag)
	}

	h.Set("Content-Disposition", disposition(d.FileName))
	write(w, r, http.StatusOK, d.ContentType, coding.NewBody(content))
}

// disposition returns the header that offers a file for saving under a name (RFC 6266).
func disposition(name string) string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": name})
}
