package pdf

import (
	"encoding/base64"
	"image/color"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// newHost starts a server for logos and returns it with a loader that may fetch from it.
func newHost(t *testing.T, response http.HandlerFunc) (*httptest.Server, *LogoLoader) {
	t.Helper()
	host := httptest.NewTLSServer(response)
	t.Cleanup(host.Close)

	l, err := NewLogoLoader([]string{strings.TrimPrefix(host.URL, "https://")})
	must(t, err)
	l.client.Transport = host.Client().Transport
	return host, l
}

func send(raw []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(raw) }
}

func TestLoad(t *testing.T) {
	t.Parallel()
	good := asPNG(t, drawn(30, 10, color.White, color.Black))
	elsewhere, _ := newHost(t, send(good))
	host, l := newHost(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			w.Write(append(good, make([]byte, maxLogoFile)...))
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/elsewhere":
			http.Redirect(w, r, elsewhere.URL+"/logo.png", 302)
		case "/plain":
			http.Redirect(w, r, "http://"+r.Host+"/logo.png", 302)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest", 302)
		default:
			w.Write(good)
		}
	})

	for name, address := range map[string]string{
		"a file that is too large":        host.URL + "/large",
		"an endless file":                 host.URL + "/endless",
		"another host":                    elsewhere.URL + "/logo.png",
		"a redirect to another host":      host.URL + "/elsewhere",
		"a redirect to HTTP":              host.URL + "/plain",
		"a redirect to a private address": host.URL + "/metadata",
		"plain HTTP":                      "http" + strings.TrimPrefix(host.URL, "https") + "/logo.png",
		"credentials": strings.Replace(host.URL, "https://", "https://user:pass@", 1) +
			"/logo.png",
		"an empty address":        "",
		"a broken address":        "https://[::1",
		"data without a comma":    "data:image/png;base64",
		"data that is not base64": "data:image/png;base64,!!!",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := l.Load(t.Context(), address); err == nil {
				t.Error("it was loaded")
			} else if len(err.Error()) > 400 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}

	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(good)
	for _, address := range []string{host.URL + "/logo.png", data} {
		if _, err := l.Load(t.Context(), address); err != nil {
			t.Error(err)
		}
	}
}

// pipeline is a transport that responds in place of the CMS's image servers.
type pipeline struct {
	asked string
	logo  []byte
}

func (p *pipeline) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked = r.URL.RequestURI()
	recorder := httptest.NewRecorder()
	recorder.Write(p.logo)
	return recorder.Result(), nil
}

func TestLoadAsksTheCMSForAPNG(t *testing.T) {
	t.Parallel()
	p := &pipeline{logo: asPNG(t, drawn(30, 10, color.White, color.Black))}
	l, err := NewLogoLoader([]string{"cdn.sanity.io"})
	must(t, err)
	l.client.Transport = p

	if _, err := l.Load(t.Context(), "https://cdn.sanity.io/images/p/d/abc-1x1.svg"); err != nil {
		t.Fatal(err)
	}
	if p.asked != "/images/p/d/abc-1x1.svg?fit=max&fm=png&w=900" {
		t.Errorf("it requested %q", p.asked)
	}
}
