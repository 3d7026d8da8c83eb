// Package edge notifies caches in front of the service, and renderers of the site, of changed
// content: it purges a CDN by the keys in Cache-Tag and Surrogate-Key, and posts signed
// events to the renderers.
package edge

import (
	"context"
	"crypto/rand"
	"encoding/json"
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

	// refusal returns why a purge failed although its status is that of a success.
	refusal func(body []byte) (reason string)
}

// CDNs returns the supported kinds of CDN. Varnish needs its module xkey and the VCL of this
// service. Small plans of Cloudflare allow five purges a minute.
func CDNs() []CDN {
	return []CDN{
		{Kind: "varnish", Method: "PURGE", Keys: cacheTag, Every: Every},

		{
			Kind:   "fastly",
			Method: http.MethodPost,
			Keys:   surrogateKey,
			Token:  "Fastly-Key",
			Header: map[string]string{"Fastly-Soft-Purge": "1"},
			Every:  Every,
			Public: true,
		},

		{
			Kind:    "cloudflare",
			Method:  http.MethodPost,
			Every:   15 * time.Second,
			Public:  true,
			refusal: cloudflareRefusal,
		},
	}
}

// cloudflareRefusal returns the errors in a response of Cloudflare's API.
func cloudflareRefusal(body []byte) string {
	var response struct {
		Success *bool
		Errors  []struct{ Message string }
	}
	_ = json.Unmarshal(body, &response) // The status decides without JSON.
	if response.Success == nil || *response.Success {
		return ""
	}

	reason := "the response has success: false"
	for _, e := range response.Errors {
		reason += ": " + e.Message
	}
	return reason
}

// Kinds lists the kinds of CDN for people.
func Kinds() string {
	var kinds []string
	for _, c := range CDNs() {
		kinds = append(kinds, c.Kind)
	}
	return strings.Join(kinds, ", ")
}

// Headers of public responses that are meant for CDNs: two with the keys of their content,
// and one with their lifetime (RFC 9213).
const (
	cacheTag     = "Cache-Tag"     // separated by commas
	surrogateKey = "Surrogate-Key" // separated by blanks
	lifetime     = "CDN-Cache-Control"
)

// Headers lists the headers that [SetHeaders] sets.
func Headers() []string { return []string{cacheTag, surrogateKey, lifetime} }

// SetHeaders sets the keys and the lifetime of a public response; 0: shared caches store it
// as they do without the service.
func SetHeaders(h http.Header, keys []string, maxAge time.Duration) {
	h[cacheTag], h[surrogateKey] = []string{strings.Join(keys, ",")}, []string{strings.Join(keys, " ")}
	if maxAge > 0 {
		h.Set(lifetime, fmt.Sprintf("public, max-age=%.0f", maxAge.Seconds()))
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
	if err != nil {
		return nil, err
	}
	endpoint.Refusal = cdn.refusal
	return &Purger{endpoint, cdn, token}, nil
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
