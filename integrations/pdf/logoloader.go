package pdf

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// LogoOptions set a loader up. Zero fields take the defaults named with them.
type LogoOptions struct {
	// AllowedHosts are the hosts logos may come from: "cdn.example.com",
	// "*.example.com", with ":port" where it is not the usual one, with "http://" in
	// front where plain HTTP is meant. None: only data: addresses are loaded.
	AllowedHosts []string
	// MaxBytes bounds the file as it is sent; 1 MiB.
	MaxBytes int64
	// Timeout bounds one fetch with its redirects; 3 s.
	Timeout time.Duration
	// Transport carries the requests. Default: one that goes through no proxy and
	// refuses names which lead to addresses of a private network.
	Transport http.RoundTripper
	// Fresh is how long a logo is used before it is fetched again; an hour.
	Fresh time.Duration
	// Retry is how long a logo that can't be had is left alone; a minute.
	Retry time.Duration
	// Now is the clock; time.Now.
	Now func() time.Time
}

// LogoLoader fetches logos and keeps them, flattened, by their address. Its methods
// may be called concurrently.
type LogoLoader struct {
	rules    []hostRule
	maxBytes int64
	client   *http.Client
	timeout  time.Duration
	fresh    time.Duration
	retry    time.Duration
	now      func() time.Time

	flights singleflight.Group
	mu      sync.Mutex
	kept    map[string]keptLogo
}

// keptLogo is what came of the last fetch.
type keptLogo struct {
	data  []byte // nil: there never was a usable logo
	err   error  // of the last fetch
	until time.Time
}

// keptLogos bounds how many addresses a loader remembers.
const keptLogos = 16

// NewLogoLoader returns a loader. The error names a host rule that can't be read.
func NewLogoLoader(o LogoOptions) (*LogoLoader, error) {
	rules, err := parseHostRules(o.AllowedHosts)
	if err != nil {
		return nil, fmt.Errorf("reading the allowed hosts: %w", err)
	}
	l := &LogoLoader{
		rules:    rules,
		maxBytes: orElse(o.MaxBytes, 1<<20),
		timeout:  orElse(o.Timeout, 3*time.Second),
		fresh:    orElse(o.Fresh, time.Hour),
		retry:    orElse(o.Retry, time.Minute),
		now:      o.Now,
		kept:     map[string]keptLogo{},
	}
	if l.now == nil {
		l.now = time.Now
	}
	transport := o.Transport
	if transport == nil {
		transport = &http.Transport{
			DialContext:            (&net.Dialer{Timeout: l.timeout, Control: publicOnly(rules)}).DialContext,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
			IdleConnTimeout:        10 * time.Second,
		}
	}
	l.client = &http.Client{Transport: transport, CheckRedirect: l.redirect}
	return l, nil
}

func orElse[T int64 | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// Load returns the logo at an https or data address as an opaque PNG or JPEG, ready
// for [Company.Logo]. One that was loaded before is returned without a request; if it
// can't be fetched again the last good one is used on. Concurrent calls for one
// address cause one fetch, which goes on when the caller that began it gives up.
func (l *LogoLoader) Load(ctx context.Context, address string) ([]byte, error) {
	key := address
	if len(key) > 512 { // a data: address
		key = fmt.Sprintf("%x", sha256.Sum256([]byte(address)))
	}
	l.mu.Lock()
	kept, ok := l.kept[key]
	l.mu.Unlock()
	if ok && l.now().Before(kept.until) {
		return kept.result()
	}
	flight := l.flights.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
		defer cancel()
		data, err := l.fetch(ctx, address)
		return l.keep(key, data, err), nil
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("loading the logo: %w", ctx.Err())
	case done := <-flight:
		return done.Val.(keptLogo).result()
	}
}

func (k keptLogo) result() ([]byte, error) {
	if k.data != nil {
		return k.data, nil
	}
	return nil, fmt.Errorf("loading the logo: %w", k.err)
}

// keep remembers what came of a fetch; a failure leaves the last good logo in place.
func (l *LogoLoader) keep(key string, data []byte, err error) keptLogo {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := keptLogo{data: data, err: err, until: l.now().Add(l.fresh)}
	if err != nil {
		kept.data, kept.until = l.kept[key].data, l.now().Add(l.retry)
	}
	if _, ok := l.kept[key]; !ok && len(l.kept) >= keptLogos {
		for oldest := range l.kept { // any will do: a site has one logo
			delete(l.kept, oldest)
			break
		}
	}
	l.kept[key] = kept
	return kept
}
