package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

// cmsCommand prepares the CMS.
func cmsCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	return &cli.Command{
		Name: "cms", Usage: "prepare the CMS", Action: group,
		Description: "   siteapi cms setup",
		Commands: []*cli.Command{{
			Name: "setup", Usage: "print the webhook that the CMS needs, or create it; safe to repeat",
			Description: "Prints the settings of the webhook, without its secrets, and what is missing here. With --create it is created\n" +
				"if the token may manage webhooks.\n\n" +
				"   CMS_DRIVER=sanity SANITY_PROJECT_ID=… SITE_URL=https://api.example siteapi cms setup",
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "create", Usage: "create the webhook, unless one for this address exists"},
			},
			Action: o.command(o.setUpCMS),
		}},
	}
}

func (o operator) setUpCMS(ctx context.Context, c *cli.Command, s *config.Settings, log zerolog.Logger) error {
	if err := only(c, 0); err != nil {
		return err
	}
	driver, err := openCMS(s, log, nil)
	if err != nil {
		return fmt.Errorf("opening the CMS: %w", err)
	}
	setup, ok := driver.(cms.WebhookSetup)
	if !ok {
		_, err := fmt.Fprintf(o.out, "CMS_DRIVER=%s needs no webhook: nothing was done\n", s.CMSDriver)
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
	if _, err := fmt.Fprintln(o.out, strings.Join(lines, "\n  ")); err != nil || !c.Bool("create") {
		return err
	}
	if s.SiteURL == "" || hook.Token == "" {
		return fmt.Errorf("creating the webhook: set SITE_URL and CMS_WEBHOOK_SECRET first")
	}
	outcome, err := setup.CreateWebhook(ctx, hook)
	if upstream.KindOf(err) == upstream.Refused {
		return fmt.Errorf("%w\n(the token may not manage webhooks: create it by hand with the settings above)", err)
	}
	if err == nil {
		_, err = fmt.Fprintln(o.out, outcome)
	}
	return err
}
