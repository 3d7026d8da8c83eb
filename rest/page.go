package rest

import (
	"encoding/json"
	"net/http"
	"strings"

	"siteapi/schema"
	"siteapi/schema/request"
)

// pagePolicy permits a page its own styles, pictures within it and forms to this service,
// and no script.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// writePage sends a page, which shows personal data to anyone who has its address.
func writePage(w http.ResponseWriter, r *http.Request, status int, page *schema.File) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Content-Type", "text/html; charset=utf-8")

	// With no-referrer, a browser would send "Origin: null" with the page's forms.
	h.Set("Referrer-Policy", "same-origin")
	request.WriteBody(w, r, status, page.Content)
}

// redirect sends the browser to the url of the root field's value. The address is relative
// to the request's, because a proxy may serve the API below a path of its own.
func redirect(w http.ResponseWriter, r *http.Request, value []byte) {
	var result struct{ URL string }
	if err := json.Unmarshal(value, &result); err != nil {
		panic(err) // the schema has this field
	}
	w.Header().Set("Cache-Control", "no-store")
	root := strings.Repeat("../", strings.Count(r.URL.Path, "/")-1)
	w.Header().Set("Location", root+strings.TrimPrefix(result.URL, "/"))
	request.WriteBody(w, r, http.StatusSeeOther, nil)
}
