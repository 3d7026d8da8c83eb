package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/schema/exec"
)

func (d Drivers) configCommand() *cobra.Command {
	return d.command("config", "print the effective settings, secrets redacted, and check them",
		nil, &printConfig{},
		"siteapi config | grep RETENTION")
}

func (d Drivers) readyCommand() *cobra.Command {
	return d.command("ready", "ask the running service whether it is ready; exit code 2: it is not",
		[]string{"LISTEN_ADDR"}, &isReady{},
		"siteapi ready")
}

func (d Drivers) sdlCommand() *cobra.Command {
	return d.command("sdl", "print the GraphQL schema, for code generators and other tools",
		[]string{"(none)"}, plain(printSDL),
		"siteapi sdl > schema.graphql")
}

type isReady struct{ server }

func (cmd *isReady) run(ctx context.Context, c *call) error {
	answer, err := ask(ctx, http.MethodGet, cmd.base(c)+"/readyz", "")
	if err != nil {
		return finding(fmt.Sprintf("the service does not answer: %v", err))
	}

	c.say("%s", answer)
	if answer.StatusCode() != http.StatusOK {
		return finding("the service is not ready")
	}
	return nil
}

// printConfig prints the settings, or else every problem of them.
type printConfig struct{}

func (*printConfig) flags(*pflag.FlagSet) {}

func (*printConfig) tolerant() {}

func (*printConfig) run(_ context.Context, c *call) error {
	wrong := c.drivers.CheckServing(c.settings, c.wrong)
	if len(c.wrong) > 0 {
		return wrong
	}

	c.say("%s", strings.Join(c.settings.Lines(), "\n"))
	for _, warning := range c.settings.Warnings {
		_, _ = fmt.Fprintln(c.errOut, "siteapi:", warning)
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// ask sends a request to a service, with a token unless that is empty. It reads at most
// 64 KiB of the response.
func ask(ctx context.Context, method, address, token string) (*resty.Response, error) {
	client := resty.New().
		SetTimeout(10 * time.Second).
		SetResponseBodyLimit(64 << 10).
		SetCloseConnection(true)
	return client.R().SetContext(ctx).SetAuthToken(token).Execute(method, address)
}

func printSDL(_ context.Context, c *call) error {
	_, err := io.WriteString(c.out, exec.SDL())
	return err
}
