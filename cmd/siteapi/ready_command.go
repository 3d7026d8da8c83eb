package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/httpserver"
)

// readyTime is how long the running service may take to say how it is: as long as its
// dependencies may, and a little.
const readyTime = httpserver.CheckTimeout + 500*time.Millisecond

// readyCommand asks the running service whether it is ready, for containers that hold
// no other program that could.
func readyCommand(getenv func(string) string, out io.Writer) *cli.Command {
	return &cli.Command{
		Name: "ready", Usage: "ask the running service whether it is ready; exit code 2: it is not",
		Description: "Calls /readyz at LISTEN_ADDR on this machine and prints the answer. A container's health check calls it.\n\n" +
			"   siteapi ready\n   siteapi ready --live",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "live", Usage: "ask /healthz, which is well while dependencies are down"}},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := only(c, 0); err != nil {
				return err
			}
			s, err := config.Read(getenv)
			if err != nil {
				return err
			}
			path := "/readyz"
			if c.Bool("live") {
				path = "/healthz"
			}
			return askReady(ctx, "http://"+ownAddress(s.ListenAddr)+path, out)
		},
	}
}

// ownAddress is where this machine reaches a listener.
func ownAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}

func askReady(ctx context.Context, address string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("LISTEN_ADDR: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return finding(fmt.Sprintf("the service does not answer: %v", err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return finding(fmt.Sprintf("the service broke off: %v", err))
	}
	if _, err := fmt.Fprintln(out, strings.TrimSpace(string(body))); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return finding("the service is not ready")
	}
	return nil
}
