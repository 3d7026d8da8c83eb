package operator

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vektah/gqlparser/v2/formatter"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/schema"
)

// ready is `siteapi ready`.
func (d Deps) ready() *cobra.Command {
	return d.command(&cobra.Command{
		Use: "ready", Short: "ask the running service whether it is ready; exit code 2: it is not",
		Long:    "It is the health check of containers, which hold no other program that could ask.",
		Example: "  siteapi ready\n  siteapi ready --live",
	}, []string{"LISTEN_ADDR"}, isReady, serverFlag(), boolFlag("live", "ask /healthz, which is 200 while dependencies are down"))
}

func isReady(ctx context.Context, c *call) error {
	server, err := c.server()
	if err != nil {
		return err
	}
	path := "/readyz"
	if c.on("live") {
		path = "/healthz"
	}
	status, body, err := ask(ctx, http.MethodGet, server+path, "")
	if err != nil {
		return finding(fmt.Sprintf("the service does not answer: %v", err))
	}
	c.say("%s", bytes.TrimSpace(body))
	if status != http.StatusOK {
		return finding("the service is not ready")
	}
	return nil
}

// server reads --server, by default the address of this machine that LISTEN_ADDR names.
func (c *call) server() (string, error) {
	server := strings.TrimSuffix(c.text("server"), "/")
	if server == "" {
		return localAddress(c.settings), nil
	}
	if err := config.WebAddress(server); err != nil {
		return "", fmt.Errorf("--server: %w", err)
	}
	return server, nil
}

// localAddress is the address of this machine that LISTEN_ADDR names.
func localAddress(s *config.Settings) string {
	host, port, _ := net.SplitHostPort(s.ListenAddr)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	return "http://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
}

// ask sends a request to a service, with a token unless that is empty, and returns the answer, which is short.
func ask(ctx context.Context, method, address, token string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp.StatusCode, body, err
}

// sdl is `siteapi sdl`. It prints the schema without @rest, which describes routes in the service's own operation
// documents and means nothing to clients.
func sdl() *cobra.Command {
	return &cobra.Command{
		Use: "sdl", Short: "print the GraphQL schema, for code generators and other tools",
		Example: "  siteapi sdl > schema.graphql", Args: NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			public := *schema.AST()
			public.Types, public.Directives = maps.Clone(public.Types), maps.Clone(public.Directives)
			delete(public.Types, "RestMethod")
			delete(public.Types, "RestAnswer")
			delete(public.Directives, "rest")
			var text bytes.Buffer
			formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(&public)
			_, err := c.OutOrStdout().Write(text.Bytes())
			return err
		},
	}
}
