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

// maxLogoFile limits the size of a logo's file in bytes.
const maxLogoFile = 1 << 20

// LogoLoader fetches logos. Its methods may be called concurrently.
type LogoLoader struct {
	hosts  *upstream.AllowedHosts
	client *http.Client
}

// NewLogoLoader returns a loader for hosts in the syntax of [upstream.ParseAllowedHosts]. If
// there are none, only data: addresses are loaded. It fails if a host can't be parsed; the
// error names the host.
func NewLogoLoader(allowed []string) (*LogoLoader, error) {
	hosts, err := upstream.ParseAllowedHosts(allowed)
	if err != nil {
		return nil, err
	}

	client := &http.Client{
		Transport: hosts.Transport(),
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirects")
			}
			return hosts.Check(next.URL)
		},
	}
	return &LogoLoader{hosts, client}, nil
}

// Load returns the logo at an https or data address, prepared by [PrepareLogo].
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

	// Sanity converts every format, SVG as well, to a PNG of the size that the page
	// needs.
	if u.Host == "cdn.sanity.io" && strings.HasPrefix(u.Path, "/images/") && u.RawQuery == "" {
		u.RawQuery = url.Values{"fm": {"png"}, "w": {"900"}, "fit": {"max"}}.Encode()
	}
	return l.get(ctx, u)
}

func (l *LogoLoader) get(ctx context.Context, u *url.URL) ([]byte, error) {
	if err := l.hosts.Check(u); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("creating the request: %w", err)
	}
	request.Header.Set("Accept", "image/png, image/jpeg")

	response, err := l.client.Do(request)
	if err != nil {
		return nil, err // the error names the address and the cause
	}
	defer func() { _ = response.Body.Close() }()

	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s responded with %s", u.Host, response.Status)
	}

	raw, err := io.ReadAll(io.LimitReader(response.Body, maxLogoFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the response of %s: %w", u.Host, err)
	}
	if len(raw) > maxLogoFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxLogoFile)
	}
	return PrepareLogo(raw)
}

// decodeData decodes the part of an address after "data:", which must be in base64.
func decodeData(data string) ([]byte, error) {
	_, body, ok := strings.Cut(data, ";base64,")
	raw, err := base64.StdEncoding.DecodeString(body)
	if !ok || err != nil || len(raw) > maxLogoFile {
		return nil, errors.New("the data: address can't be read")
	}
	return raw, nil
}
