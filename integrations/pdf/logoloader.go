package pdf

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"
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
	// AllowedHosts are the hosts logos may come from: "cdn.example.com", "*.example.com",
	// with ":port" where it is not the scheme's, with "http://" in front where plain HTTP
	// is meant. None: only data: addresses are loaded.
	AllowedHosts []string
	Transport    http.RoundTripper // nil: one that refuses addresses of private networks
	Now          func() time.Time  // nil: time.Now
}

// LogoLoader fetches logos and keeps them by their address. Its methods may be called
// concurrently.
type LogoLoader struct {
	hosts  []*url.URL // a host with a leading dot stands for its subdomains
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
	l := &LogoLoader{now: o.Now, kept: map[string]keptLogo{}}
	for _, text := range o.AllowedHosts {
		host, err := ParseLogoHost(text)
		if err != nil {
			return nil, err
		}
		l.hosts = append(l.hosts, host)
	}
	if l.now == nil {
		l.now = time.Now
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{
			DialContext:            (&net.Dialer{Timeout: logoTimeout, Control: l.publicOnly}).DialContext,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
			IdleConnTimeout:        10 * time.Second,
		}
	}
	l.client = &http.Client{Transport: o.Transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > 3 {
			return errors.New("too many redirects")
		}
		return l.allow(next.URL)
	}}
	return l, nil
}

// ParseLogoHost reads one of LogoOptions.AllowedHosts.
func ParseLogoHost(text string) (*url.URL, error) {
	address := strings.ToLower(strings.TrimSpace(text))
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(strings.Replace(address, "://*.", "://.", 1))
	if err != nil || strings.Trim(u.Hostname(), ".") == "" || strings.Contains(address, "://.") || strings.Contains(u.Host, "*") || u.Path != "" ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("%q is not a host, such as cdn.example.com or *.example.com", text)
	}
	return u, nil
}

var errNotAllowed = errors.New("the logo's host is not among the allowed ones")

// allow checks an address against the allowed hosts.
func (l *LogoLoader) allow(u *url.URL) error {
	name := strings.ToLower(u.Hostname())
	for _, host := range l.hosts {
		subdomain := strings.HasPrefix(host.Host, ".") && strings.HasSuffix(name, host.Hostname())
		if u.Scheme == host.Scheme && u.Port() == host.Port() && u.User == nil && (subdomain || name == host.Hostname()) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", errNotAllowed, u.Host)
}

// publicOnly is a dialer's control function: an allowed name that resolves to a private
// address is refused, unless the allowed hosts name that address itself.
func (l *LogoLoader) publicOnly(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("checking the logo's address: %w", err)
	}
	ip := to.Addr().Unmap()
	for _, host := range l.hosts {
		if named, err := netip.ParseAddr(host.Hostname()); err == nil && named.Unmap() == ip {
			return nil
		}
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return fmt.Errorf("%w: its name resolves to the private address %s", errNotAllowed, ip)
	}
	return nil
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
	if err := l.allow(u); err != nil {
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
