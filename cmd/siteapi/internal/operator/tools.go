package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"github.com/vektah/gqlparser/v2/formatter"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// ready is `siteapi ready`.
func (d Deps) ready() *cli.Command {
	return &cli.Command{
		Name: "ready", Usage: "ask the running service whether it is ready; exit code 2: it is not",
		Description: "Prints what /readyz at LISTEN_ADDR on this machine answers. It is the health check of containers, which hold no\n" +
			"other program that could ask.\n\n   siteapi ready\n   siteapi ready --live",
		Flags: []cli.Flag{serverFlag(), &cli.BoolFlag{Name: "live", Usage: "ask /healthz, which is 200 while dependencies are down"}},
		Action: d.action([]string{"LISTEN_ADDR"}, func(ctx context.Context, c *cli.Command, s *config.Settings) error {
			server, err := serverAddress(c, s)
			if err != nil {
				return err
			}
			path := "/readyz"
			if c.Bool("live") {
				path = "/healthz"
			}
			status, _, body, err := get(ctx, server+path)
			if err != nil {
				return finding(fmt.Sprintf("the service does not answer: %v", err))
			}
			if _, err := fmt.Fprintln(c.Root().Writer, strings.TrimSpace(string(body))); err != nil {
				return err
			}
			if status != http.StatusOK {
				return finding("the service is not ready")
			}
			return nil
		}),
	}
}

// get fetches a short document within five seconds.
func get(ctx context.Context, address string) (status int, header http.Header, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp.StatusCode, resp.Header, body, err
}

// crm is `siteapi crm`.
func (d Deps) crm() *cli.Command {
	return &cli.Command{
		Name: "crm", Usage: "prepare the CRM", Action: group, Description: "   siteapi crm setup",
		Commands: []*cli.Command{{
			Name: "setup", Usage: "create the properties that leads are stored in; safe to repeat",
			Description: "Prints a line for each property. The token needs the right to change the schema of contacts.\n\n" +
				"   CRM_DRIVER=hubspot HUBSPOT_TOKEN=… siteapi crm setup",
			Action: d.action([]string{"DATA_DIR", "CRM_DRIVER", "HUBSPOT_*"}, d.setUpCRM),
		}},
	}
}

func (d Deps) setUpCRM(ctx context.Context, c *cli.Command, s *config.Settings) error {
	contacts, err := d.OpenCRM(s)
	if err != nil {
		return fmt.Errorf("opening the CRM: %w", err)
	}
	driver, ok := contacts.(crm.Setup)
	if !ok {
		_, err := fmt.Fprintf(c.Root().Writer, "CRM_DRIVER=%s needs no preparation: nothing was done\n", s.CRMDriver)
		return err
	}
	lines, err := driver.Setup(ctx)
	for _, line := range lines {
		_, _ = fmt.Fprintln(c.Root().Writer, line)
	}
	switch {
	case err == nil:
		return nil
	case upstream.KindOf(err) == upstream.Refused:
		return fmt.Errorf("%w\n(the token must be valid and have the scopes crm.schemas.contacts.read and crm.schemas.contacts.write)", err)
	}
	return fmt.Errorf("%w\n(what is listed above is done: run the command again for the rest)", err)
}

// sdl is `siteapi sdl`.
func sdl() *cli.Command {
	return &cli.Command{
		Name: "sdl", Usage: "print the GraphQL schema, for code generators and other tools",
		Description: "It needs no settings, and no introspection.\n\n   siteapi sdl > schema.graphql",
		Action:      func(_ context.Context, c *cli.Command) error { return printSDL(c.Root().Writer) },
	}
}

// printSDL prints the schema without @rest, which describes routes in the service's own operation documents and
// means nothing to clients.
func printSDL(out io.Writer) error {
	public := *schema.AST()
	public.Types, public.Directives = maps.Clone(public.Types), maps.Clone(public.Directives)
	delete(public.Types, "RestMethod")
	delete(public.Types, "RestAnswer")
	delete(public.Directives, "rest")
	var text bytes.Buffer
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(&public)
	_, err := out.Write(text.Bytes())
	return err
}

// cms is `siteapi cms`.
func (d Deps) cms() *cli.Command {
	return &cli.Command{
		Name: "cms", Usage: "prepare the CMS", Action: group, Description: "   siteapi cms setup",
		Commands: []*cli.Command{{
			Name: "setup", Usage: "print the webhook that the CMS needs, or create it; safe to repeat",
			Description: "Prints the settings of the webhook, without its secrets, and what is missing here. With --create it is created\n" +
				"if the token may manage webhooks.\n\n" +
				"   CMS_DRIVER=sanity SANITY_PROJECT_ID=… SITE_URL=https://api.example siteapi cms setup",
			Flags:  []cli.Flag{&cli.BoolFlag{Name: "create", Usage: "create the webhook, unless one for this address exists"}},
			Action: d.action([]string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CMS_FILE", "SANITY_*", "SITE_URL"}, d.setUpCMS),
		}},
	}
}

func (d Deps) setUpCMS(ctx context.Context, c *cli.Command, s *config.Settings) error {
	driver, err := d.OpenCMS(s)
	if err != nil {
		return fmt.Errorf("opening the CMS: %w", err)
	}
	setup, ok := driver.(cms.WebhookSetup)
	if !ok {
		_, err := fmt.Fprintf(c.Root().Writer, "CMS_DRIVER=%s needs no webhook: nothing was done\n", s.CMSDriver)
		return err
	}
	hook := cms.Webhook{URL: s.SiteURL + "/api/webhooks/cms"}
	var missing []string
	if s.SiteURL == "" {
		hook.URL = "https://<this service>" + hook.URL
		missing = append(missing, "SITE_URL: the address at which the CMS reaches this service")
	}
	if len(s.WebhookSecrets) == 0 || s.WebhookSecrets[0] == config.DevWebhookSecret {
		missing = append(missing, "CMS_WEBHOOK_SECRET: a long random value, which the webhook sends as its token")
	} else {
		hook.Token = s.WebhookSecrets[0]
	}
	if len(s.SigningSecrets) > 0 {
		hook.Secret = s.SigningSecrets[0]
	} else {
		missing = append(missing, "CMS_WEBHOOK_SIGNING_SECRET: a long random value, with which the webhook signs what it sends (recommended)")
	}
	lines := append([]string{"webhook of the CMS"}, setup.DescribeWebhook(hook)...)
	for _, text := range missing {
		lines = append(lines, "missing here: "+text)
	}
	if _, err := fmt.Fprintln(c.Root().Writer, strings.Join(lines, "\n  ")); err != nil || !c.Bool("create") {
		return err
	}
	if s.SiteURL == "" || hook.Token == "" {
		return errors.New("creating the webhook: set SITE_URL and CMS_WEBHOOK_SECRET first")
	}
	outcome, err := setup.CreateWebhook(ctx, hook)
	if upstream.KindOf(err) == upstream.Refused {
		return fmt.Errorf("%w\n(the token may not manage webhooks: create it by hand with the settings above)", err)
	}
	if err == nil {
		_, err = fmt.Fprintln(c.Root().Writer, outcome)
	}
	return err
}
