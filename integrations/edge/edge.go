// Package edge notifies caches in front of the service, and renderers of the site, of changed
// content: it purges a CDN by the keys in Cache-Tag and Surrogate-Key, and posts signed
// events to the renderers.
package edge

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"siteapi/integrations/internal/event"
	"siteapi/integrations/upstream"
)

// CDN describes the purge requests of a kind of CDN.
type CDN struct {
	Kind string
	// Keys is the header for the keys, separated by spaces. If empty, the keys are sent as
	// "tags" in a JSON body.
	Keys   string
	Method string
	Token  string            // the header for the token; empty: Authorization, as a bearer token
	Header map[string]string // further headers
	Every  time.Duration     // minimum time between two purges
	Public bool              // The API is on the internet.
}

// CDNs returns the supported kinds of CDN. Varnish needs its module xkey and the VCL of this
// service. Small plans of Cloudflare allow five purges a minute.
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

// Every is the minimum time between two calls of a receiver, except for CDNs with a stricter
// limit.
const Every = 2 * time.Second

// Options describes a receiver.
type Options struct {
	// URL is the address of the receiver. Its host may be in a private network.
	URL string

	// Observe is passed to the HTTP client. It may be nil.
	Observe func(ctx context.Context, c upstream.Call)
}

// newEndpoint returns the endpoint of a receiver.
func newEndpoint(o Options, token string) (*upstream.Endpoint, error) {
	return upstream.NewEndpoint(upstream.Options{
		System:  "edge",
		BaseURL: o.URL,
		Token:   token,
		Timeout: 5 * time.Second,
		Observe: o.Observe,
	}, false)
}

// Purger removes cached responses from a CDN.
type Purger struct {
	endpoint *upstream.Endpoint
	cdn      CDN
	token    string
}

// NewPurger returns a purger that authenticates to a CDN with a token.
func NewPurger(cdn CDN, token string, o Options) (*Purger, error) {
	bearer := token
	if cdn.Token != "" {
		bearer = ""
	}
	endpoint, err := newEndpoint(o, bearer)
	return &Purger{endpoint, cdn, token}, err
}

// Purge removes the responses that depend on the content under some keys.
func (p *Purger) Purge(ctx context.Context, keys []string) error {
	request := upstream.Request{Op: "purging the CDN", Method: p.cdn.Method, Header: http.Header{}}
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
	return p.endpoint.Send(ctx, request)
}

// Notifier posts an event to a renderer of the site.
type Notifier struct {
	endpoint *upstream.Endpoint
	signer   event.Signer
}

// NewNotifier returns the notifier of a renderer. Every event is signed with each of the
// secrets, which have the form "whsec_…".
func NewNotifier(secrets []string, o Options) (*Notifier, error) {
	endpoint, err := newEndpoint(o, "")
	if err != nil {
		return nil, err
	}
	signer, err := event.NewSigner(secrets)
	return &Notifier{endpoint, signer}, err
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

	// Each call has a new id, since receivers drop ids that they have seen.
	id, now := "content_"+rand.Text(), time.Now().UTC().Truncate(time.Millisecond)
	body, header, err := n.signer.Sign(id, "content.changed", now, changed)
	if err != nil {
		return fmt.Errorf("announcing changed content: %w", err)
	}
	return n.endpoint.Send(ctx, upstream.Request{
		Op:     "announcing changed content",
		Method: http.MethodPost,
		Header: header,
		Body:   body,
	})
}
