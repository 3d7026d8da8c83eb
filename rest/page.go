package rest

import (
	"bytes"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"siteapi/schema"
	"siteapi/schema/request"
)

// pagePolicy allows inline styles and images, and forms to this service, but no scripts.
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

// pageOf returns the paths of the routes that a browser opens as pages, or posts the forms
// of such a page to.
func pageOf(paths []Path) (list []string) {
	for _, path := range paths {
		shows := func(rt *Route) bool { return rt.Form || rt.Produces == "text/html" }
		if slices.ContainsFunc(path.Routes, shows) {
			list = append(list, path.Path)
		}
	}
	return list
}

// opensPage reports whether a browser opens a page, so that errors are pages, too.
func (a *API) opensPage(r *http.Request) bool {
	return slices.Contains(a.pages, r.URL.Path) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// WriteError responds with a problem document, or with a page to a browser that opens one.
func (a *API) WriteError(w http.ResponseWriter, r *http.Request, e *schema.Error) {
	if !a.opensPage(r) {
		WriteProblem(w, r, e)
		return
	}

	p := problemOf(w, r, e)
	locale := schema.AcceptedLocale(r.Header)
	shown := errorPages[locale]
	view := struct {
		Locale               schema.Locale
		Title, Text, Request string
	}{locale, shown.broken, shown.brokenText, p.RequestID}
	if p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError {
		view.Title, view.Text = shown.later, shown.laterText
	}

	var page bytes.Buffer
	_ = errorPage.Execute(&page, view) // a buffer takes everything
	writePage(w, r, p.Status, &schema.File{Content: page.Bytes()})
}

// errorPages has the words of an error in each language, for a link that is not right and
// for a service that is busy or unavailable.
var errorPages = map[schema.Locale]struct{ broken, brokenText, later, laterText string }{
	schema.LocaleEn: {
		"This link does not work", "It may be incomplete. Please open it from the mail again.",
		"Please try again in a moment", "The page can't be shown right now. Nothing is lost.",
	},
	schema.LocaleEs: {
		"Este enlace no funciona", "Puede que esté incompleto. Ábralo de nuevo desde el correo.",
		"Inténtelo de nuevo dentro de poco", "Ahora no se puede mostrar la página. No se ha perdido nada.",
	},
	schema.LocaleRo: {
		"Acest link nu funcționează",
		"Poate că este incomplet. Vă rugăm să îl deschideți din nou din e-mail.",
		"Încercați din nou peste puțin timp", "Pagina nu poate fi afișată acum. Nu s-a pierdut nimic.",
	},
}

var errorPage = template.Must(template.New("error").Parse(`<!doctype html>
<html lang="{{.Locale}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>main { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 44rem; padding: 1.25rem }</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
<p><small>{{.Request}}</small></p>
</main>
</body>
</html>
`))
