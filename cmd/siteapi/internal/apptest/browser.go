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

// Send sends a request with the cookie, and returns the response and its JSON.
func (b *Browser) Send(method, path, body string, headers ...string) (*http.Response, map[string]any) {
	b.T.Helper()
	response := map[string]any{}
	resp := b.exchange(&response, method, path, body, headers...)
	return resp, response
}

// query sends a GraphQL document, and decodes the response.
func (b *Browser) query(path, document string, to any, headers ...string) *http.Response {
	b.T.Helper()
	body, _ := json.Marshal(object{"query": document})
	return b.exchange(to, "POST", path, string(body), headers...)
}

// exchange sends a request with the cookie, and decodes the response if it is JSON.
func (b *Browser) exchange(to any, method, path, body string, headers ...string) *http.Response {
	b.T.Helper()
	if b.Cookie != nil {
		headers = append(headers, "Cookie: "+b.Cookie.Name+"="+b.Cookie.Value)
	}
	resp, err := Send(b.T.Context(), HTTP, method, b.Base+path, body, headers...)
	must(b.T, err)
	defer func() { _ = resp.Body.Close() }()
	_ = json.NewDecoder(resp.Body).Decode(to) // HTML pages are not JSON
	return resp
}

// SignIn signs in without cookies, and returns the last response and its body.
func (b *Browser) SignIn() (*http.Response, string) {
	b.T.Helper()
	jar, _ := cookiejar.New(nil)
	resp, err := (&http.Client{Transport: Unpooled, Jar: jar}).Get(b.Base + "/admin/login")
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
