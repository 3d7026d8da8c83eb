package rest

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	"siteapi/schema"
	"siteapi/schema/request"
)

// download is the response of a route that sends a file.
type download struct {
	FileName, ContentType, Etag, Locale string

	// again returns the file as long as it is unchanged. nil: changes cannot be detected.
	again func() (content []byte, same bool)
}

// keyOf returns the parts of the request on which a download depends. The body is not
// included, since responses to POST are not cached.
func keyOf(r *http.Request) string {
	return strings.Join(append(slices.Clip(r.Header["Accept-Language"]), r.URL.Path, r.URL.RawQuery), "\n")
}

// The service caches downloads without their files. Sending a cached one again avoids
// running its operation, which takes a third of pdf-cached-vs-nethttp.
const (
	maxDownloads   = 10_000
	maxDownloadKey = 512 // bytes that a client can choose
)

// download sends the file that the operation's root field describes and attaches. It caches
// the download, so the next request for it does not run the operation.
func (a *API) download(w http.ResponseWriter, r *http.Request, value []byte, file *schema.File) {
	if file == nil {
		WriteProblem(w, r, &schema.Error{Code: schema.CodeInternal})
		return
	}

	sent := &download{again: file.Again}
	if err := json.Unmarshal(value, sent); err != nil {
		panic(err) // the schema has these fields
	}
	sent.write(w, r, file.Content)

	key := keyOf(r)
	if sent.again != nil && r.Method != http.MethodPost && len(key) <= maxDownloadKey {
		a.downloads.Set(key, sent)
	}
}

// repeat sends a cached download, unless its operation could have a different result now.
func (a *API) repeat(w http.ResponseWriter, r *http.Request) bool {
	sent, known := a.downloads.GetIfPresent(keyOf(r))
	if !known || r.Method == http.MethodPost {
		return false
	}
	content, same := sent.again()
	if same {
		sent.write(w, r, content)
	} else {
		a.downloads.Invalidate(keyOf(r))
	}
	return same
}

// write sends the file. Ranges are not supported because files are small.
func (d *download) write(w http.ResponseWriter, r *http.Request, content []byte) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache") // may be stored, must be revalidated
	if request.CallerFrom(r.Context()).Preview != "" {
		h.Set("Cache-Control", "private, no-store")
	}
	h.Set("X-Robots-Tag", "noindex")

	h.Set("Content-Language", d.Locale)
	h.Add("Vary", "Accept-Language")
	h.Set("ETag", d.Etag)

	// Browsers offer to save the file under its name (RFC 6266).
	name := map[string]string{"filename": d.FileName}
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", name))
	h.Set("Content-Type", d.ContentType)
	request.WriteBody(w, r, http.StatusOK, content)
}
