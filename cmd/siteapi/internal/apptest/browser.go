package apptest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// Browser is a client of the inbox with the cookie of its login.
type Browser struct {
	T      *testing.T
	Base   string
	Cookie *http.Cookie
}

// NewBrowser returns a browser at an address that is not logged in.
func NewBrowser(t *testing.T, address string) *Browser {
	return &Browser{T: t, Base: "http://" + strings.TrimPrefix(address, "http://")}
}

// open sends a request with the cookie.
func (b *Browser) open(method, path, body string, headers ...string) *http.Response {
	b.T.Helper()
	own := []string{"Content-Type: application/json"}
	if b.Cookie != nil {
		own = append(own, "Cookie: "+b.Cookie.Name+"="+b.Cookie.Value)
	}

	headers = append(own, headers...)
	resp, err := Send(b.T.Context(), http.DefaultClient, method, b.Base+path, body, headers...)
	must(b.T, err)
	return resp
}

// Send sends a request with the cookie, and returns the response and its JSON.
func (b *Browser) Send(method, path, body string, headers ...string) (*http.Response, map[string]any) {
	b.T.Helper()
	resp := b.open(method, path, body, headers...)
	defer func() { _ = resp.Body.Close() }()
	response := map[string]any{}
	_ = json.NewDecoder(resp.Body).Decode(&response) // HTML pages are not JSON
	return resp, response
}

// query sends a GraphQL document, and decodes the response.
func (b *Browser) query(path, document string, to any, headers ...string) *http.Response {
	b.T.Helper()
	body, _ := json.Marshal(object{"query": document})
	resp := b.open("POST", path, string(body), headers...)
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(to); err != nil {
		b.T.Errorf("%s: %d %v", document, resp.StatusCode, err)
	}
	return resp
}

// SignIn signs in without cookies, and returns the last response and its body.
func (b *Browser) SignIn() (*http.Response, string) {
	b.T.Helper()
	jar, _ := cookiejar.New(nil)
	resp, err := (&http.Client{Jar: jar}).Get(b.Base + "/admin/login")
	must(b.T, err)
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)

	at, _ := url.Parse(b.Base + "/admin")
	b.Cookie = nil
	for _, c := range jar.Cookies(at) {
		if c.Name == "siteapi_login" {
			b.Cookie = c
		}
	}
	return resp, string(text)
}
