package playground

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
)

// page is what the template of the page is filled with. Its exported part is what the
// template reads.
type page struct {
	GraphQLPath   string
	Introspection bool
	Bundle        *bundle // nil: GraphiQL was not built

	base       string // folder of the files, as the browser sees it
	assets     assets
	operations []Operation
	template   *template.Template
	random     func() string
}

// answer is one answer's page.
type answer struct {
	*page
	Nonce      string      // what a <style> element has to carry
	Operations []Operation // with a session of this answer's own
}

// open makes a playground of the files in a file system.
func open(o Options, files fs.FS) (*Handler, error) {
	assets, bundle, err := readAssets(files)
	if err != nil {
		return nil, err
	}
	operations, err := readOperations(files, o)
	if err != nil {
		return nil, err
	}
	file := "web/fallback.html"
	if bundle != nil {
		file = "web/graphiql.html"
	}
	tmpl, err := template.ParseFS(files, file)
	if err != nil {
		return nil, fmt.Errorf("reading the page: %w", err)
	}
	p := &page{
		GraphQLPath: o.GraphQLPath, Introspection: o.Introspection, Bundle: bundle,
		base: o.Path + assetsFolder, assets: assets, operations: operations, template: tmpl, random: o.Random,
	}
	if err := p.render(new(bytes.Buffer), ""); err != nil { // now rather than in front of a reader
		return nil, err
	}
	return &Handler{path: o.Path, page: p, assets: assets, refuse: o.Refuse}, nil
}

// Asset returns the address of a file, for the template.
func (p *page) Asset(name string) (string, error) {
	address, ok := p.assets.names[name]
	if !ok {
		return "", fmt.Errorf("the playground has no file %q", name)
	}
	return p.base + address, nil
}

// serve sends the page. It holds a nonce, so nobody may keep it.
func (p *page) serve(w http.ResponseWriter) {
	nonce := p.random()
	var body bytes.Buffer
	if err := p.render(&body, nonce); err != nil {
		panic(err) // it was rendered once at the start, and nothing in it has changed since
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", p.policy(nonce))
	_, _ = w.Write(body.Bytes()) // the reader is gone: nothing left to do
}

func (p *page) render(body *bytes.Buffer, nonce string) error {
	a := answer{page: p, Nonce: nonce, Operations: inSession(p.operations, "playground-"+p.random())}
	if err := p.template.Execute(body, a); err != nil {
		return fmt.Errorf("rendering the page: %w", err)
	}
	return nil
}

// policy is the Content-Security-Policy of the page: scripts, pictures and requests of
// this origin only, no code made from text, no frames.
//
// GraphiQL needs two things more. Its editor adds <style> elements, which the page
// gives the nonce, and it positions every line by a style attribute, which no nonce can
// cover: style attributes are therefore allowed there. They can't run anything.
func (p *page) policy(nonce string) string {
	rules := []string{
		"default-src 'none'", "script-src 'self'", "connect-src 'self'", "img-src 'self' data:",
		"base-uri 'none'", "frame-ancestors 'none'",
	}
	if p.Bundle != nil {
		rules = append(rules,
			"style-src 'self' 'nonce-"+nonce+"'", "style-src-attr 'unsafe-inline'",
			"font-src 'self'", "worker-src 'self'", "form-action 'none'")
	} else {
		rules = append(rules, "style-src 'self'", "form-action 'self'")
	}
	return strings.Join(rules, "; ")
}
