package pdf

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"siteapi/integrations/upstream"
)

const (
	maxLogoFile = 1 << 20         // bytes of a logo as it is sent
	logoTimeout = 8 * time.Second // of one fetch with its redirects
	logoLife    = time.Hour       // after which a logo is fetched again
	keptLogos   = 16              // most addresses that are remembered
)

// LogoRetry is how long a logo that can't be had is not asked for again.
const LogoRetry = time.Minute

// LogoOptions configure a loader.
type LogoOptions struct {
	AllowedHosts []string          // as upstream.ParseAllowedHosts reads them; none: only data: addresses are loaded
	Transport    http.RoundTripper // nil: one that refuses addresses of private networks
	Now          func() time.Time  // nil: time.Now
}

// LogoLoader fetches logos and keeps them by their address. Its methods may be called
// concurrently.
type LogoLoader struct {
	hosts  *upstream.AllowedHosts
	client *http.Client
	now    func() time.Time
	loads  singleflight.Group
	mu     sync.Mutex
	kept   map[string]keptLogo
}

// keptLogo is the outcome of the last fetch.
type keptLogo struct {
	logo  *Logo // the last good one
	err   error // why there is none
	until time.Time
}

// NewLogoLoader returns a loader. The error names a host that can't be read.
func NewLogoLoader(o LogoOptions) (*LogoLoader, error) {
	hosts, err := upstream.ParseAllowedHosts(o.AllowedHosts)
	if err != nil {
		return nil, err
	}
	l := &LogoLoader{hosts: hosts, now: o.Now, kept: map[string]keptLogo{}}
	if l.now == nil {
		l.now = time.Now
	}
	if o.Transport == nil {
		o.Transport = hosts.Transport()
	}
	l.client = &http.Client{Transport: o.Transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > 3 {
			return errors.New("too many redirects")
		}
		return hosts.Check(next.URL)
	}}
	return l, nil
}

// Load returns the logo at an https or data address. One that was loaded before is
// returned without a request, and used on if it can't be fetched again. Concurrent calls
// for one address cause one fetch, which goes on when the caller gives up.
func (l *LogoLoader) Load(ctx context.Context, address string) (*Logo, error) {
	l.mu.Lock()
	kept, ok := l.kept[address]
	l.mu.Unlock()
	if !ok || !l.now().Before(kept.until) {
		load := l.loads.DoChan(address, func() (any, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoTimeout)
			defer cancel()
			logo, err := l.fetch(ctx, address)
			return l.keep(address, logo, err), nil
		})
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("loading the logo: %w", ctx.Err())
		case done := <-load:
			kept = done.Val.(keptLogo)
		}
	}
	if kept.logo == nil {
		return nil, fmt.Errorf("loading the logo: %w", kept.err)
	}
	return kept.logo, nil
}

// keep remembers the outcome of a fetch; a failure leaves the last good logo in place.
func (l *LogoLoader) keep(address string, logo *Logo, err error) keptLogo {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.kept[address]
	kept := keptLogo{logo: logo, until: l.now().Add(logoLife)}
	if err != nil {
		kept = keptLogo{logo: last.logo, err: err, until: l.now().Add(LogoRetry)}
	}
	if !ok && len(l.kept) >= keptLogos {
		clear(l.kept) // a site has one logo, seldom two
	}
	l.kept[address] = kept
	return kept
}

// fetch gets and prepares a logo.
func (l *LogoLoader) fetch(ctx context.Context, address string) (*Logo, error) {
	if data, ok := strings.CutPrefix(address, "data:"); ok {
		raw, err := decodeData(data)
		if err != nil {
			return nil, err
		}
		return NewLogo(raw)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address can't be read")
	}
	// Sanity turns every format, SVG with text included, into a PNG of the size the page
	// needs; the file as it was uploaded comes second.
	if u.Host == "cdn.sanity.io" && strings.HasPrefix(u.Path, "/images/") && u.RawQuery == "" {
		raster := *u
		raster.RawQuery = url.Values{"fm": {"png"}, "w": {"900"}, "fit": {"max"}}.Encode()
		if logo, err := l.get(ctx, &raster); err == nil {
			return logo, nil
		}
	}
	return l.get(ctx, u)
}

// get fetches one address.
func (l *LogoLoader) get(ctx context.Context, u *url.URL) (*Logo, error) {
	if err := l.hosts.Check(u); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	request.Header.Set("Accept", "image/png, image/jpeg, image/svg+xml")
	response, err := l.client.Do(request)
	if err != nil {
		return nil, err // it names the address and the cause
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", u.Host, response.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxLogoFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", u.Host, err)
	}
	if len(raw) > maxLogoFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxLogoFile)
	}
	return NewLogo(raw)
}

// decodeData decodes what follows "data:" in an address.
func decodeData(data string) ([]byte, error) {
	kind, body, ok := strings.Cut(data, ",")
	if !ok || len(body) > 3*maxLogoFile {
		return nil, errors.New("the data: address can't be read")
	}
	text, err := url.PathUnescape(body)
	raw := []byte(text)
	if err == nil && strings.HasSuffix(kind, ";base64") {
		raw, err = base64.StdEncoding.DecodeString(text)
	}
	if err != nil {
		return nil, errors.New("the data: address can't be read")
	}
	return raw, nil
}
