package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/resolvers/leads"
)

// clearShared clears PDFs from a cache that this process can reach itself.
func (d Deps) clearShared(ctx context.Context, s *config.Settings, ids []string) (n int, err error) {
	c, err := d.OpenCache(ctx, s)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return leads.ClearPDFs(ctx, c, ids)
}

// clearMemory clears PDFs from the memory of the running service. If none is running, idle, there are no PDFs.
func clearMemory(ctx context.Context, server string, tokens, ids []string, idle bool) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	address := server + "/api/cache/clear?" + url.Values{"pattern": {leads.PDFPattern(ids)}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return 0, err
	}
	if len(tokens) > 0 {
		req.Header.Set("Authorization", "Bearer "+tokens[0])
	}
	const advice = "PDFs stay in the memory of a running service for an hour: run the command again with --server, or restart the service"
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if _, dialing := errors.AsType[*net.OpError](err); dialing && idle {
			return 0, nil
		}
		return 0, fmt.Errorf("the service at %s does not answer: %w (%s)", server, err, advice)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var answer struct{ Cleared *int }
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil || answer.Cleared == nil {
		return 0, fmt.Errorf("the service at %s answers %s to CACHE_API_TOKEN (%s)", server, resp.Status, advice)
	}
	return *answer.Cleared, nil
}

// serverAddress reads --server, by default the address of this machine that LISTEN_ADDR names.
func serverAddress(c *cli.Command, s *config.Settings) (string, error) {
	server, err := serverFlagValue(c)
	return cmp.Or(server, localAddress(s)), err
}

// serverFlagValue reads --server.
func serverFlagValue(c *cli.Command) (string, error) {
	server := strings.TrimSuffix(c.String("server"), "/")
	if server == "" {
		return "", nil
	}
	if err := config.WebAddress(server); err != nil {
		return "", fmt.Errorf("--server: %w", err)
	}
	return server, nil
}

// localAddress is the address of this machine that LISTEN_ADDR names.
func localAddress(s *config.Settings) string {
	host, port, err := net.SplitHostPort(s.ListenAddr)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
