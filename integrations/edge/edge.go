// Package edge tells caches in front of the service, and renderers of the site, that content
// has changed: it purges a CDN by the names in Cache-Tag and Surrogate-Key, and posts signed
// events.
package edge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"siteapi/integrations/internal/event"
	"siteapi/integrations/upstream"
)

// Kind is a kind of CDN.
type Kind string

// The kinds of CDN.
const (
	Varnish    Kind = "varnish" // needs its module xkey and the VCL of this service
	Fastly     Kind = "fastly"
	Cloudflare Kind = "cloudflare"
)

// Kinds lists the kinds of CDN.
func Kinds() []string { return []string{string(Varnish), string(Fastly), string(Cloudflare)} }

// Every returns the least time between two purges. Small plans of Cloudflare allow five a
// minute.
func (k Kind) Every() time.Duration {
	if k == Cloudflare {
		return 15 * time.Second
	}
	return Every
}

// Every is the least time between two calls that the other receivers get.
const Every = 2 * time.Second

const (
	system    = "edge"
	timeout   = 5 * time.Second
	maxAnswer = 64 << 10 // bytes
)

// Options describes a receiver.
type Options struct {
	// URL is the address that is called. Its host may be in a private network.
	URL string

	// Observe is passed to the HTTP client. It may be nil.
	Observe func(ctx context.Context, c upstream.Call)
}

// newClient returns the client of a receiver, and a request to its address.
func newClient(o Options, op, token string) (*upstream.Client, upstream.Request, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, upstream.Request{}, errors.New("it is not an address") // the parser's error would repeat it
	}

	client := upstream.New(upstream.Options{
		System:  system,
		BaseURL: u.Scheme + "://" + u.Host,
		Token:   token,
		Timeout: timeout,
		MaxBody: maxAnswer,
		Observe: o.Observe,
	})
	path := "/" + strings.TrimPrefix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return client, upstream.Request{Op: op, Method: http.MethodPost, Path: path}, nil
}

// call makes a call whose answer has no meaning beyond its status.
func call(ctx context.Context, client *upstream.Client, request upstream.Request) error {
	resp, err := client.Do(ctx, request)
	if e, ok := errors.AsType[*upstream.Error](err); ok && e.Status != 0 && upstream.StatusKind(e.Status) == "" {
		return nil // done, although the body of the answer is missing or too large
	}
	if err != nil {
		return err
	}
	if kind := upstream.StatusKind(resp.Status); kind != "" {
		return client.Failure(request.Op, resp, kind, "")
	}
	return nil
}

// Purger removes answers from a CDN.
type Purger struct {
	client *upstream.Client
	target upstream.Request
	kind   Kind
	token  string
}

// NewPurger returns the purger of a CDN, which authenticates with a token.
func NewPurger(kind Kind, token string, o Options) (*Purger, error) {
	bearer := token
	if kind == Fastly {
		bearer = ""
	}
	client, target, err := newClient(o, "purging the CDN", bearer)
	return &Purger{client, target, kind, token}, err
}

// Purge removes the answers that are made from the content under some keys.
func (p *Purger) Purge(ctx context.Context, keys []string) error {
	request := p.target
	switch p.kind {
	case Varnish:
		request.Method = "PURGE"
		request.Header = http.Header{"Cache-Tag": {strings.Join(keys, " ")}}
	case Fastly:
		request.Header = http.Header{
			"Fastly-Key":        {p.token},
			"Fastly-Soft-Purge": {"1"},
			"Surrogate-Key":     {strings.Join(keys, " ")},
		}
	case Cloudflare:
		request.Body = map[string][]string{"tags": keys}
	}
	return call(ctx, p.client, request)
}

// Notifier posts an event to a renderer of the site.
type Notifier struct {
	client *upstream.Client
	target upstream.Request
	signer event.Signer
}

// NewNotifier returns the notifier of a renderer, with secrets of the form "whsec_…". Each
// signs every event.
func NewNotifier(secrets []string, o Options) (*Notifier, error) {
	client, target, err := newClient(o, "announcing changed content", "")
	if err != nil {
		return nil, err
	}
	signer, err := event.NewSigner(secrets)
	return &Notifier{client, target, signer}, err
}

// Changed is the data of an event.
type Changed struct {
	Locales []string `json:"locales"`
	Keys    []string `json:"keys"`
}

// Notify announces that the content under some keys has changed. The last part of a key is
// its locale.
func (n *Notifier) Notify(ctx context.Context, keys []string) error {
	changed := Changed{Keys: keys}
	for _, key := range keys {
		changed.Locales = append(changed.Locales, key[strings.LastIndexByte(key, ':')+1:])
	}

	// A repetition is an event of its own: a receiver must not ignore it.
	id, now := "content_"+rand.Text(), time.Now().UTC().Truncate(time.Millisecond)
	body, header, err := n.signer.Sign(id, "content.changed", now, changed)
	if err != nil {
		return fmt.Errorf("announcing changed content: %w", err)
	}

	request := n.target
	request.Body, request.Header = body, header
	return call(ctx, n.client, request)
}
