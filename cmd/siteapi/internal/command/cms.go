package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms"
)

func (d commands) cmsCommands() *cobra.Command {
	setup := d.command("setup",
		"print the webhook that the CMS needs and missing settings, or create it; safe to repeat",
		[]string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "SITE_URL"}, setUpCMS,
		"siteapi cms setup")
	setup.Flags().Bool("create", false,
		"create the webhook unless one for this address exists; the token needs the permission")

	return group("cms", "prepare the CMS", setup)
}

func setUpCMS(ctx context.Context, c *call) error {
	s := c.settings
	driver, err := c.open.CMS()
	if err != nil {
		return err
	}
	setup, ok := driver.(cms.WebhookSetup)
	if !ok {
		c.printLine("CMS_DRIVER=%s needs no webhook: nothing was done", s.CMSDriver)
		return nil
	}

	hook := cms.Webhook{
		URL:    cmp.Or(s.SiteURL, "https://<this service>") + "/api/webhooks/cms",
		Token:  first(s.WebhookSecrets),
		Secret: first(s.SigningSecrets),
	}
	// The development token is public, so a webhook must not use it.
	if hook.Token == config.DevWebhookSecret {
		hook.Token = ""
	}
	c.printLine("webhook of the CMS\n  %s", strings.Join(setup.DescribeWebhook(hook), "\n  "))

	for _, setting := range []struct{ value, advice string }{
		{s.SiteURL, "SITE_URL: the address of this service for the CMS"},
		{hook.Token, "CMS_WEBHOOK_SECRET: a long random value that the webhook sends as its token"},
		{hook.Secret, "CMS_WEBHOOK_SIGNING_SECRET: a long random value " +
			"that the webhook signs its requests with (recommended)"},
	} {
		if setting.value == "" {
			c.printLine("  missing setting: %s", setting.advice)
		}
	}

	switch {
	case c.flag("create") != "true":
		return nil
	case s.SiteURL == "" || hook.Token == "":
		return errors.New("cannot create the webhook: set SITE_URL and CMS_WEBHOOK_SECRET first")
	}
	outcome, err := setup.CreateWebhook(ctx, hook)
	if err != nil {
		return fmt.Errorf("%w\n"+
			"(if the token lacks the permission to manage webhooks, create the webhook by hand "+
			"with the settings above)", err)
	}
	c.printLine("%s", outcome)
	return nil
}

// first returns the first value, or "".
func first(values []string) string { return append(values, "")[0] }
