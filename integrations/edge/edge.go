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

// CDN is a kind of CDN: how it is told which answers to drop.
type CDN struct {
	Kind string
	// Keys is the header that has the keys, separated by blanks; empty: they are the list
	// "tags" of a JSON body.
	Keys   string
	Method string
	Token  string            // the header that has the token; empty: Authorization, as a bearer
	Header map[string]string // further headers
	Every  time.Duration     // least time between two purges
	Public bool              // it is called over the internet
}

// CDNs returns the kinds of CDN. Varnish needs its module xkey and the VCL of this service;
// small plans of Cloudflare allow five purges a minute.
func CDNs() []CDN {
	return []CDN{
		{Kind: "varnish", Method: "PURGE", Keys: "Cache-Tag", Every: Every},
		{
			Kind:   "fastly",
			Method: http.MethodPost,
			Keys:   "Surrogate-Key",
			Token:  "Fastly-Key",
			Header: map[string]string{"Fastly-Soft-Purge": "1"},
			Every:  Every,
			Public: true,
		},
		{Kind: "cloudflare", Method: http.MethodPost, Every: 15 * time.Second, Public: true},
	}
}

// Find returns the CDN of a kind.
func Find(kind string) (CDN, bool) {
	for _, c := range CDNs() {
		if c.Kind == kind {
			return c, true
		}
	}
	return CDN{}, false
}

// Every is the least time between two calls that receivers get, but for those CDNs that
// allow fewer.
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
	cdn    CDN
	token  string
}

// NewPurger returns the purger of a CDN, which authenticates with a token.
func NewPurger(cdn CDN, token string, o Options) (*Purger, error) {
	bearer := token
	if cdn.Token != "" {
		bearer = ""
	}
	client, target, err := newClient(o, "purging the CDN", bearer)
	target.Method = cdn.Method
	return &Purger{client, target, cdn, token}, err
}

// Purge removes the answers that are made from the content under some keys.
func (p *Purger) Purge(ctx context.Context, keys []string) error {
	request := p.target
	request.Header = http.Header{}
	for name, value := range p.cdn.Header {
		request.Header.Set(name, value)
	}

	if p.cdn.Token != "" {
		request.Header.Set(p.cdn.Token, p.token)
	}
	if p.cdn.Keys != "" {
		request.Header.Set(p.cdn.Keys, strings.Join(keys, " "))
	} else {
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
