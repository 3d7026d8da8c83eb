package pdf

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image/color"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"siteapi/integrations/upstream"
)

// host is a server that logos are fetched from, and how often it was asked.
type host struct {
	*httptest.Server
	asked  atomic.Int32
	answer atomic.Pointer[http.HandlerFunc]
}

func newHost(t *testing.T, answer http.HandlerFunc) *host {
	t.Helper()
	f := &host{}
	f.answer.Store(&answer)
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.asked.Add(1)
		(*f.answer.Load())(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *host) loader(t *testing.T, o LogoOptions) *LogoLoader {
	t.Helper()
	if o.AllowedHosts == nil {
		o.AllowedHosts = []string{strings.TrimPrefix(f.URL, "https://")}
	}
	if o.Transport == nil {
		o.Transport = f.Client().Transport
	}
	l, err := NewLogoLoader(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func send(raw []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(raw) }
}

func TestLoadFetchesOnce(t *testing.T) {
	t.Parallel()
	logo := asPNG(t, drawn(300, 100, color.Transparent, color.Black))
	f := newHost(t, send(logo))
	var now atomic.Int64
	l := f.loader(t, LogoOptions{Now: func() time.Time { return time.Unix(now.Load(), 0) }})

	var group sync.WaitGroup
	results := make([]*Logo, 20)
	for i := range results {
		group.Go(func() {
			var err error
			if results[i], err = l.Load(t.Context(), f.URL+"/logo.png"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, got := range results {
		if got != results[0] || got == nil {
			t.Fatal("callers got different logos")
		}
	}
	if n := f.asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}

	// An hour later it is fetched again; if that fails the old one serves on.
	now.Store(3601)
	broken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusBadGateway) })
	f.answer.Store(&broken)
	if got, err := l.Load(t.Context(), f.URL+"/logo.png"); err != nil || got != results[0] {
		t.Errorf("the last good logo is gone (%v)", err)
	}
	if n := f.asked.Load(); n != 2 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestLoadLeavesAFailureAlone(t *testing.T) {
	t.Parallel()
	f := newHost(t, func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) })
	var now atomic.Int64
	l := f.loader(t, LogoOptions{Now: func() time.Time { return time.Unix(now.Load(), 0) }})
	for range 5 {
		if _, err := l.Load(t.Context(), f.URL+"/logo.png"); err == nil || !strings.Contains(err.Error(), "404") {
			t.Fatalf("the error is %v", err)
		}
	}
	if n := f.asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times within a minute", n)
	}
	now.Store(61)
	good := send(asPNG(t, drawn(30, 10, color.White, color.Black)))
	f.answer.Store(&good)
	if _, err := l.Load(t.Context(), f.URL+"/logo.png"); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	good := asPNG(t, drawn(30, 10, color.White, color.Black))
	elsewhere := newHost(t, send(good))
	f := newHost(t, func(w http.ResponseWriter, r *http.Request) {
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
			http.Redirect(w, r, elsewhere.URL+"/logo.png", http.StatusFound)
		case "/plain":
			http.Redirect(w, r, "http://"+r.Host+"/logo.png", http.StatusFound)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/page":
			fmt.Fprint(w, "<html></html>")
		case "/slow":
			<-r.Context().Done()
		default:
			w.Write(good)
		}
	})
	l := f.loader(t, LogoOptions{})
	for name, address := range map[string]string{
		"too large a file":       f.URL + "/large",
		"an endless file":        f.URL + "/endless",
		"another host":           elsewhere.URL + "/logo.png",
		"a redirect elsewhere":   f.URL + "/elsewhere",
		"a redirect to HTTP":     f.URL + "/plain",
		"a redirect inside":      f.URL + "/metadata",
		"redirects in a circle":  f.URL + "/round",
		"a page":                 f.URL + "/page",
		"a server that sleeps":   f.URL + "/slow",
		"plain HTTP":             "http" + strings.TrimPrefix(f.URL, "https") + "/logo.png",
		"another scheme":         "file:///etc/passwd",
		"credentials":            strings.Replace(f.URL, "https://", "https://user:pass@", 1) + "/logo.png",
		"no address":             "",
		"no host":                "https:///logo.png",
		"a broken address":       "https://[::1",
		"data without a comma":   "data:image/png;base64",
		"data that is no base64": "data:image/png;base64,!!!",
		"data that is no text":   "data:image/svg+xml,%zz",
		"data that is no image":  "data:text/plain,hello",
		"too much data":          "data:image/png;base64," + base64.StdEncoding.EncodeToString(make([]byte, 4*maxLogoFile)),
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
	t.Run("but not what is right", func(t *testing.T) {
		t.Parallel()
		if _, err := l.Load(t.Context(), f.URL+"/logo.png"); err != nil {
			t.Error(err)
		}
	})
}

func TestLoadGivesUpWithItsCaller(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := newHost(t, func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.Write(asPNG(t, drawn(30, 10, color.White, color.Black)))
	})
	l := f.loader(t, LogoOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Load(ctx, f.URL+"/logo.png"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the error is %v", err)
	}
	close(release)
	// The fetch went on for whoever comes next.
	if _, err := l.Load(t.Context(), f.URL+"/logo.png"); err != nil {
		t.Error(err)
	}
	if n := f.asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestLoadOfData(t *testing.T) {
	t.Parallel()
	l, err := NewLogoLoader(LogoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	png := asPNG(t, drawn(30, 10, color.White, color.Black))
	for name, address := range map[string]string{
		"PNG":            "data:image/png;base64," + base64.StdEncoding.EncodeToString(png),
		"SVG in base64":  "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(plainSVG)),
		"SVG in percent": "data:image/svg+xml;charset=utf-8," + url.PathEscape(plainSVG),
		"SVG as it is":   "data:image/svg+xml," + strings.ReplaceAll(plainSVG, "#", "%23"),
	} {
		if _, err := l.Load(t.Context(), address); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range 2 * keptLogos {
		_, _ = l.Load(t.Context(), fmt.Sprintf("data:nothing,%d", i))
	}
	if n := len(l.kept); n > keptLogos {
		t.Errorf("%d addresses are remembered", n)
	}
}

// TestDialerRefusesPrivateAddresses uses the loader's own transport: names that lead
// inside are refused, addresses that a rule itself names are not.
func TestDialerRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(send(asPNG(t, drawn(30, 10, color.White, color.Black))))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	named, err := NewLogoLoader(LogoOptions{AllowedHosts: []string{"http://localhost:" + port}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := named.Load(t.Context(), "http://localhost:"+port+"/"); !errors.Is(err, upstream.ErrHostNotAllowed) {
		t.Errorf("by name: %v", err)
	}
	addressed, err := NewLogoLoader(LogoOptions{AllowedHosts: []string{"http://127.0.0.1:" + port}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := addressed.Load(t.Context(), "http://127.0.0.1:"+port+"/"); err != nil {
		t.Errorf("by address: %v", err)
	}
}

// pipeline answers in the place of the CMS's servers.
type pipeline struct{ asked []string }

func (p *pipeline) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked = append(p.asked, r.URL.RequestURI())
	recorder := httptest.NewRecorder()
	if r.URL.RawQuery != "" {
		http.Error(recorder, "can't", http.StatusBadRequest)
	} else {
		recorder.WriteString(plainSVG)
	}
	return recorder.Result(), nil
}

func TestLoadFallsBackToTheUploadedFile(t *testing.T) {
	t.Parallel()
	p := &pipeline{}
	l, err := NewLogoLoader(LogoOptions{AllowedHosts: []string{"cdn.sanity.io"}, Transport: p})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Load(t.Context(), "https://cdn.sanity.io/images/p/d/abc-1x1.svg"); err != nil {
		t.Fatal(err)
	}
	if len(p.asked) != 2 || !strings.HasSuffix(p.asked[0], "?fit=max&fm=png&w=900") || p.asked[1] != "/images/p/d/abc-1x1.svg" {
		t.Errorf("it asked for %q", p.asked)
	}
}
