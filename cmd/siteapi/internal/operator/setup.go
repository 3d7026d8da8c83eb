package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// crm is `siteapi crm`.
func (d Deps) crm() *cobra.Command {
	return group("crm", "prepare the CRM", "  siteapi crm setup", d.command(&cobra.Command{
		Use: "setup", Short: "create the properties that leads are stored in; safe to repeat",
		Long:    "The token needs the right to change the schema of contacts.",
		Example: "  CRM_DRIVER=hubspot HUBSPOT_TOKEN=… siteapi crm setup",
	}, []string{"DATA_DIR", "CRM_DRIVER", "HUBSPOT_*"}, setUpCRM))
}

func setUpCRM(ctx context.Context, c *call) error {
	contacts, err := c.OpenCRM(c.settings)
	if err != nil {
		return fmt.Errorf("opening the CRM: %w", err)
	}
	driver, ok := contacts.(crm.Setup)
	if !ok {
		c.say("CRM_DRIVER=%s needs no preparation: nothing was done", c.settings.CRMDriver)
		return nil
	}
	lines, err := driver.Setup(ctx)
	for _, line := range lines {
		c.say("%s", line)
	}
	switch {
	case err == nil:
		return nil
	case upstream.KindOf(err) == upstream.Refused:
		return fmt.Errorf("%w\n(the token must be valid and have the scopes crm.schemas.contacts.read and crm.schemas.contacts.write)", err)
	}
	return fmt.Errorf("%w\n(what is listed above is done: run the command again for the rest)", err)
}

// cms is `siteapi cms`.
func (d Deps) cms() *cobra.Command {
	return group("cms", "prepare the CMS", "  siteapi cms setup", d.command(&cobra.Command{
		Use: "setup", Short: "print the webhook that the CMS needs, or create it; safe to repeat",
		Long:    "Prints the settings of the webhook, without its secrets, and what is missing here.",
		Example: "  CMS_DRIVER=sanity SANITY_PROJECT_ID=… SITE_URL=https://api.example siteapi cms setup",
	}, []string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CMS_FILE", "SANITY_*", "SITE_URL"}, setUpCMS,
		boolFlag("create", "create the webhook, unless one for this address exists; the token must have the right to")))
}

func setUpCMS(ctx context.Context, c *call) error {
	s := c.settings
	driver, err := c.OpenCMS(s)
	if err != nil {
		return fmt.Errorf("opening the CMS: %w", err)
	}
	setup, ok := driver.(cms.WebhookSetup)
	if !ok {
		c.say("CMS_DRIVER=%s needs no webhook: nothing was done", s.CMSDriver)
		return nil
	}
	tokens := s.WebhookSecrets
	if len(tokens) > 0 && tokens[0] == config.DevWebhookSecret {
		tokens = nil
	}
	hook := cms.Webhook{URL: s.SiteURL + "/api/webhooks/cms", Token: append(tokens, "")[0], Secret: append(s.SigningSecrets, "")[0]}
	if s.SiteURL == "" {
		hook.URL = "https://<this service>" + hook.URL
	}
	c.say("webhook of the CMS")
	for _, line := range setup.DescribeWebhook(hook) {
		c.say("  %s", line)
	}
	for _, missing := range []struct{ value, advice string }{
		{s.SiteURL, "SITE_URL: the address at which the CMS reaches this service"},
		{hook.Token, "CMS_WEBHOOK_SECRET: a long random value, which the webhook sends as its token"},
		{hook.Secret, "CMS_WEBHOOK_SIGNING_SECRET: a long random value, with which the webhook signs what it sends (recommended)"},
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
		return fmt.Errorf("%w\n(the token may not manage webhooks: create it by hand with the settings above)", err)
	case err == nil:
		c.say("%s", outcome)
	}
	return err
}
