package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/vektah/gqlparser/v2/formatter"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
	"siteapi/schema/exec"
)

func isReady(ctx context.Context, c *call) error {
	answer, err := ask(ctx, http.MethodGet, c.server()+"/readyz", "")
	if err != nil {
		return finding(fmt.Sprintf("the service does not answer: %v", err))
	}

	c.say("%s", answer)
	if answer.StatusCode() != http.StatusOK {
		return finding("the service is not ready")
	}
	return nil
}

func printConfig(_ context.Context, c *call) error {
	c.say("%s", strings.Join(c.settings.Lines(), "\n"))
	for _, warning := range c.settings.Warnings {
		_, _ = fmt.Fprintln(c.ErrOrStderr(), "siteapi:", warning)
	}
	return c.CheckServing(c.settings)
}

// server returns the value of --server, or else the address on this machine that
// LISTEN_ADDR names.
func (c *call) server() string {
	host, port, _ := net.SplitHostPort(c.settings.ListenAddr)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}

	return cmp.Or(c.texts["server"], "http://"+net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
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

// printSDL prints the schema without @rest, which has a meaning only in the service's own
// operation documents.
func printSDL(_ context.Context, c *call) error {
	public := *exec.AST()
	public.Types, public.Directives = maps.Clone(public.Types), maps.Clone(public.Directives)

	delete(public.Types, "RestMethod")
	delete(public.Types, "RestAnswer")
	delete(public.Directives, "rest")

	formatter.NewFormatter(c.out, formatter.WithIndent("  ")).FormatSchema(&public)
	return nil
}

func setUpCRM(ctx context.Context, c *call) error {
	contacts, err := c.OpenCRM(c.settings)
	if err != nil {
		return err
	}

	driver, ok := contacts.(crm.Setup)
	if !ok {
		c.say("CRM_DRIVER=%s needs no preparation: nothing was done", c.settings.CRMDriver)
		return nil
	}

	lines, err := driver.Setup(ctx)
	c.say("%s", strings.Join(lines, "\n"))

	switch {
	case err == nil:
		return nil
	case upstream.KindOf(err) == upstream.Refused:
		return fmt.Errorf("%w\n(the token needs the scopes "+
			"crm.schemas.contacts.read and crm.schemas.contacts.write)", err)
	}
	return fmt.Errorf("%w\n(what is listed above is done: run the command again for the rest)", err)
}

func setUpCMS(ctx context.Context, c *call) error {
	s := c.settings
	driver, err := c.OpenCMS(s)
	if err != nil {
		return err
	}

	setup, ok := driver.(cms.WebhookSetup)
	if !ok {
		c.say("CMS_DRIVER=%s needs no webhook: nothing was done", s.CMSDriver)
		return nil
	}

	site := cmp.Or(s.SiteURL, "https://<this service>")
	hook := cms.Webhook{
		URL:    site + "/api/webhooks/cms",
		Token:  first(s.WebhookSecrets),
		Secret: first(s.SigningSecrets),
	}
	// The token of development is public, so a webhook must not use it.
	if hook.Token == config.DevWebhookSecret {
		hook.Token = ""
	}

	c.say("webhook of the CMS\n  %s", strings.Join(setup.DescribeWebhook(hook), "\n  "))

	for _, missing := range []struct{ value, advice string }{
		{s.SiteURL, "SITE_URL: the address at which the CMS reaches this service"},
		{hook.Token, "CMS_WEBHOOK_SECRET: a long random value, which the webhook sends as its token"},
		{hook.Secret, "CMS_WEBHOOK_SIGNING_SECRET: a long random value, " +
			"with which the webhook signs what it sends (recommended)"},
	} {
		if missing.value == "" {
			c.say("  missing here: %s", missing.advice)
		}
	}

	if !c.on("create") {
		return nil
	}
	if s.SiteURL == "" || hook.Token == "" {
		return errors.New("creating the webhook: set SITE_URL and CMS_WEBHOOK_SECRET first")
	}

	outcome, err := setup.CreateWebhook(ctx, hook)
	switch {
	case upstream.KindOf(err) == upstream.Refused:
		return fmt.Errorf("%w\n(the token may not manage webhooks: "+
			"create it by hand with the settings above)", err)
	case err == nil:
		c.say("%s", outcome)
	}
	return err
}

// first returns the first of several values, or "".
func first(values []string) string { return append(values, "")[0] }
