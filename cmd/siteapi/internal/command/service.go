package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/rest"
	"siteapi/schema"
	"siteapi/schema/exec"
	"siteapi/schema/operations"
)

func (d commands) configCommand() *cobra.Command {
	return d.diagnosis("config", "check the settings, and print them with redacted secrets", printConfig,
		"siteapi config | grep RETENTION")
}

func (d commands) readyCommand() *cobra.Command {
	address := ""
	command := d.command("ready", "check whether the running service is ready; exit code 2 if it is not",
		[]string{"LISTEN_ADDR"}, func(ctx context.Context, c *call) error { return isReady(ctx, c, address) },
		"siteapi ready")
	serverFlag(command.Flags(), &address)
	return command
}

func (d commands) sdlCommand() *cobra.Command {
	// No setting has the name "(none)", so none is checked.
	return d.command("sdl", "print the GraphQL schema for code generators and other tools",
		[]string{"(none)"}, func(_ context.Context, c *call) error {
			_, err := io.WriteString(c.out, exec.SDL())
			return err
		},
		"siteapi sdl > schema.graphql")
}

func isReady(ctx context.Context, c *call, address string) error {
	response, err := ask(ctx, http.MethodGet, serviceAt(address, c.settings).Address+"/readyz", "", nil)
	if err != nil {
		return finding(fmt.Sprintf("the service is not reachable: %v", err))
	}

	c.printLine("%s", response)
	if response.StatusCode() != http.StatusOK {
		return finding("the service is not ready")
	}
	return nil
}

// printConfig prints the settings, or all of their problems.
func printConfig(_ context.Context, c *call) error {
	if len(c.wrong) > 0 {
		return c.wrong
	}
	c.printLine("%s", strings.Join(c.settings.Lines(), "\n"))
	for _, warning := range c.settings.Warnings {
		c.line.PrintErrln("siteapi:", warning)
	}
	return nil
}

// Service is a running service, with a token for its cache fields.
type Service struct {
	Address string
	token   string
}

// serviceAt returns the service at an address. The default is LISTEN_ADDR on this
// machine.
func serviceAt(address string, s *config.Settings) Service {
	host, port, _ := net.SplitHostPort(s.ListenAddr)
	local := "http://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
	return Service{cmp.Or(address, local), first(s.CacheTokens)}
}

// Run runs an operation through its REST route.
func (s Service) Run(
	ctx context.Context, op *operations.Operation, variables map[string]any,
) (json.RawMessage, *schema.Error) {
	failed := func(err error) (json.RawMessage, *schema.Error) {
		return nil, schema.Unavailable(fmt.Sprintf("The request to the service at %s failed: %v.",
			s.Address, err), err)
	}

	query := url.Values{}
	for _, name := range op.Rest.Query {
		if value, given := variables[name]; given {
			query.Set(name, fmt.Sprint(value))
		}
	}
	var body any
	if name := op.Rest.Body; name != "" {
		body = variables[name]
	}

	resp, err := ask(ctx, op.Rest.Method, s.Address+op.Rest.Path+"?"+query.Encode(), s.token, body)
	if err != nil {
		return failed(err)
	}
	if resp.StatusCode() == http.StatusOK && json.Valid(resp.Body()) {
		return resp.Body(), nil
	}

	var p rest.Problem
	if json.Unmarshal(resp.Body(), &p) != nil || p.Code == "" || p.Code == schema.CodeUnauthenticated {
		return failed(fmt.Errorf("it responds to CACHE_API_TOKEN with %s", resp.Status()))
	}
	return nil, &schema.Error{Code: p.Code, Message: p.Detail, Fields: p.Errors}
}

// ask sends a request to a service, with an optional token and JSON body. It accepts
// responses of at most 64 KiB.
func ask(ctx context.Context, method, address, token string, body any) (*resty.Response, error) {
	client := resty.New().
		SetTimeout(10 * time.Second).
		SetResponseBodyLimit(64 << 10).
		SetCloseConnection(true)
	return client.R().SetContext(ctx).SetAuthToken(token).SetBody(body).Execute(method, address)
}
