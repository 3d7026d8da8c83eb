package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
)

// pdfCache forgets rendered PDFs, wherever the service keeps them.
type pdfCache interface {
	// clear removes the PDFs of some submissions. Of none it removes all PDFs: an earlier
	// try may have ended after it had forgotten which. It says what it did where that
	// needs saying.
	clear(ctx context.Context, submissions []string) (removed int, detail string, err error)
}

// pdfPatterns returns what to clear. Many are cleared at once with everybody else's,
// who get theirs drawn anew.
func pdfPatterns(submissions []string) []string {
	const most, prefix = 10, "quote:pdf:"
	if len(submissions) == 0 || len(submissions) > most {
		return []string{prefix + "*"}
	}
	patterns := make([]string, len(submissions))
	for i, id := range submissions {
		patterns[i] = cache.Escape(prefix+id+":") + "*"
	}
	return patterns
}

// newPDFCache returns the one that CACHE_URL names. With the memory backend it is the
// running service's, at server or, left out, where LISTEN_ADDR says.
func newPDFCache(s *config.Settings, log zerolog.Logger, server string) (pdfCache, error) {
	if s.CacheURL.Scheme != "memory" {
		return sharedPDFs{s, log}, nil
	}
	if server == "" {
		server = loopback(s.ListenAddr)
	}
	if err := config.WebAddress(server); err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	p := memoryPDFs{server: strings.TrimSuffix(server, "/"), client: &http.Client{Timeout: 10 * time.Second}}
	if len(s.CacheTokens) > 0 {
		p.token = s.CacheTokens[0]
	}
	if s.DatabaseURL == nil {
		p.alone = func() (bool, error) {
			busy, err := anyoneAlive(s)
			return !busy, err
		}
	}
	return p, nil
}

// loopback is the address of a listener for somebody on the same machine.
func loopback(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// sharedPDFs are on a server that this process can ask itself.
type sharedPDFs struct {
	settings *config.Settings
	log      zerolog.Logger
}

func (p sharedPDFs) clear(ctx context.Context, submissions []string) (removed int, _ string, err error) {
	c, conn, err := openCache(ctx, p.settings, p.log)
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, text := range pdfPatterns(submissions) {
		pattern, err := cache.ParsePattern(text)
		if err != nil {
			return removed, "", err
		}
		n, err := c.Clear(ctx, pattern)
		if removed += n; err != nil {
			return removed, "", err
		}
	}
	return removed, "", nil
}

// memoryPDFs are in the memory of the running service.
type memoryPDFs struct {
	server string
	token  string
	client *http.Client
	alone  func() (bool, error) // whether no service runs on this database; nil: nobody knows
}

func (p memoryPDFs) clear(ctx context.Context, submissions []string) (removed int, detail string, err error) {
	for _, pattern := range pdfPatterns(submissions) {
		n, err := p.clearOne(ctx, pattern)
		if removed += n; err == nil {
			continue
		}
		if _, dialled := errors.AsType[*net.OpError](err); dialled && p.alone != nil {
			if alone, lookErr := p.alone(); alone && lookErr == nil {
				return removed, "no service is running, so none has a PDF in memory", nil
			}
		}
		return removed, "", fmt.Errorf("%w (a running service hands a PDF out for up to an hour: repeat with --server, or restart the service)", err)
	}
	return removed, "asked " + p.server, nil
}

// clearOne asks once, and a second time if it was told to wait.
func (p memoryPDFs) clearOne(ctx context.Context, pattern string) (int, error) {
	for again := true; ; again = false {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.server+"/api/cache/clear?pattern="+url.QueryEscape(pattern), nil)
		if err != nil {
			return 0, err
		}
		req.Header.Set("Authorization", "Bearer "+p.token)
		resp, err := p.client.Do(req)
		if err != nil {
			return 0, fmt.Errorf("the service at %s does not answer: %w", p.server, err)
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return 0, fmt.Errorf("reading the answer of %s: %w", p.server, err)
		}
		switch resp.StatusCode {
		case http.StatusOK:
			var answer struct{ Cleared *int }
			if err := json.Unmarshal(body, &answer); err != nil || answer.Cleared == nil {
				return 0, fmt.Errorf("what answers at %s is not this service", p.server)
			}
			return *answer.Cleared, nil
		case http.StatusUnauthorized:
			return 0, fmt.Errorf("the service at %s has another CACHE_API_TOKEN", p.server)
		case http.StatusTooManyRequests:
			seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
			if err == nil && again && seconds <= 60 {
				select {
				case <-ctx.Done():
					return 0, ctx.Err()
				case <-time.After(time.Duration(seconds) * time.Second):
				}
				continue
			}
		}
		return 0, fmt.Errorf("the service at %s answers %s", p.server, resp.Status)
	}
}
