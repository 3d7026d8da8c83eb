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

	"siteapi/integrations/upstream"
)

// maxLogoFile is the most bytes of a logo as it is sent.
const maxLogoFile = 1 << 20

// LogoOptions configure a loader.
type LogoOptions struct {
	AllowedHosts []string          // as upstream.ParseAllowedHosts reads them; none: only data: addresses are loaded
	Transport    http.RoundTripper // nil: one that refuses addresses of private networks
}

// LogoLoader fetches logos. Its methods may be called concurrently.
type LogoLoader struct {
	hosts  *upstream.AllowedHosts
	client *http.Client
}

// NewLogoLoader returns a loader. The error names a host that can't be read.
func NewLogoLoader(o LogoOptions) (*LogoLoader, error) {
	hosts, err := upstream.ParseAllowedHosts(o.AllowedHosts)
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = hosts.Transport()
	}
	client := &http.Client{
		Transport: o.Transport,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirects")
			}
			return hosts.Check(next.URL)
		},
	}
	return &LogoLoader{hosts, client}, nil
}

// Load returns the logo at an https or data address as [PrepareLogo] makes it.
func (l *LogoLoader) Load(ctx context.Context, address string) ([]byte, error) {
	if data, ok := strings.CutPrefix(address, "data:"); ok {
		raw, err := decodeData(data)
		if err != nil {
			return nil, err
		}
		return PrepareLogo(raw)
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

func (l *LogoLoader) get(ctx context.Context, u *url.URL) ([]byte, error) {
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
		return nil, err // names the address and the cause
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
	return PrepareLogo(raw)
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
