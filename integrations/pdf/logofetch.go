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
)

// fetch gets and flattens a logo.
func (l *LogoLoader) fetch(ctx context.Context, address string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(address, "data:"); ok {
		raw, err := decodeData(rest, l.maxBytes)
		if err != nil {
			return nil, err
		}
		return flatLogo(raw)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address can't be read")
	}
	var last error
	for _, candidate := range rasters(u) {
		raw, err := l.get(ctx, candidate)
		if err == nil {
			var flat []byte
			if flat, err = flatLogo(raw); err == nil {
				return flat, nil
			}
		}
		last = err
	}
	return nil, last
}

// flatLogo flattens a logo and makes sure that it can be drawn.
func flatLogo(raw []byte) ([]byte, error) {
	l, err := newLogo(raw)
	if err != nil {
		return nil, err
	}
	return l.data, nil
}

// get fetches one address.
func (l *LogoLoader) get(ctx context.Context, u *url.URL) ([]byte, error) {
	if err := allowed(u, l.rules); err != nil {
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
	raw, err := io.ReadAll(io.LimitReader(response.Body, l.maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", u.Host, err)
	}
	if int64(len(raw)) > l.maxBytes {
		return nil, fmt.Errorf("the file is larger than %d bytes", l.maxBytes)
	}
	return raw, nil
}

// redirect holds redirects to the same rule as first addresses.
func (l *LogoLoader) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > 3 {
		return errors.New("too many redirects")
	}
	return allowed(next.URL, l.rules)
}

// rasters lists the addresses to try. Sanity's image pipeline turns every format,
// SVG with text included, into a PNG of the size the page needs; the file as it was
// uploaded comes second.
func rasters(u *url.URL) []*url.URL {
	if u.Host != "cdn.sanity.io" || !strings.HasPrefix(u.Path, "/images/") || u.RawQuery != "" {
		return []*url.URL{u}
	}
	raster := *u
	raster.RawQuery = url.Values{"fm": {"png"}, "w": {"900"}, "fit": {"max"}}.Encode()
	return []*url.URL{&raster, u}
}

// decodeData decodes what follows "data:" in an address.
func decodeData(rest string, maxBytes int64) ([]byte, error) {
	kind, body, ok := strings.Cut(rest, ",")
	if !ok || int64(len(body)) > 3*maxBytes {
		return nil, errors.New("the data: address can't be read")
	}
	text, err := url.PathUnescape(body)
	if err != nil {
		return nil, errors.New("the data: address can't be read")
	}
	raw := []byte(text)
	if strings.HasSuffix(kind, ";base64") {
		if raw, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, errors.New("the data: address can't be read")
		}
	}
	if int64(len(raw)) > maxBytes {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxBytes)
	}
	return raw, nil
}
