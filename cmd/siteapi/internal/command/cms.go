package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/cms"
)

func (d commands) cmsCommands() *cobra.Command {
	settings := []string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER"}

	setup := d.command("setup",
		"print the webhook that the CMS needs and missing settings, or create it; safe to repeat",
		append(settings, "SITE_URL"), setUpCMS,
		"siteapi cms setup")
	setup.Flags().Bool("create", false,
		"create the webhook unless one for this address exists; the token needs the permission")

	seed := d.command("seed", "publish the sample content in an empty dataset, after asking",
		settings, seedCMS,
		"siteapi cms seed")
	seed.Flags().Bool("yes", false, "do not ask")

	return group("cms", "prepare the CMS", setup, seed)
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

// seedCMS publishes the sample content in a dataset without other content. It is safe to
// repeat: existing documents stay unchanged.
func seedCMS(ctx context.Context, c *call) error {
	s := c.settings
	driver, err := c.open.CMS()
	if err != nil {
		return err
	}
	seeder, ok := driver.(cms.Seeder)
	if !ok {
		c.printLine("CMS_DRIVER=%s needs no seed: development writes the sample to the content file", s.CMSDriver)
		return nil
	}

	var docs []json.RawMessage
	var heads []struct {
		ID   string `json:"_id"`
		Type string `json:"_type"`
	}
	sample := systems.SampleContent()
	err = errors.Join(json.Unmarshal(sample, &docs), json.Unmarshal(sample, &heads))
	if err != nil {
		return fmt.Errorf("reading the sample: %w", err)
	}
	types, missing := []string{}, map[string]bool{}
	for _, doc := range heads {
		types, missing[doc.ID] = append(types, doc.Type), true
	}

	dataset := fmt.Sprintf("dataset %s of project %s", s.SanityDataset, s.SanityProjectID)
	existing, err := seeder.IDs(ctx, types)
	if err != nil {
		return err
	}
	for _, id := range existing {
		if !missing[id] {
			return finding(fmt.Sprintf("%s has other content, such as %s: nothing was added", dataset, id))
		}
		delete(missing, id)
	}

	question := fmt.Sprintf("Publish %d sample documents in %s?", len(missing), dataset)
	switch {
	case len(missing) == 0:
		c.printLine("%s already has all sample documents: nothing was added", dataset)
		return nil
	case c.flag("yes") != "true" && !c.confirmed(question):
		return finding("nothing was added")
	}
	if err := seeder.Seed(ctx, docs); err != nil {
		return err
	}
	c.printLine("added %d documents to %s: replace them with your own content in Studio, and add your logo",
		len(missing), dataset)
	return nil
}
