package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms"
	"siteapi/integrations/upstream"
)

func (d Drivers) cmsCommands() *cobra.Command {
	settings := []string{"ENVIRONMENT", "DATA_DIR", "CMS_DRIVER", "CMS_FILE", "SANITY_*"}

	return group("cms", "prepare the CMS",
		d.command("setup",
			"print the webhook that the CMS needs and what is missing here, or create it; safe to repeat",
			append(settings, "SITE_URL"), &setUpCMS{},
			"siteapi cms setup"),

		d.command("seed", "put the documents of the sample company into an empty dataset, after asking",
			settings, &seedCMS{},
			"siteapi cms seed"),
	)
}

type setUpCMS struct{ create bool }

func (cmd *setUpCMS) flags(f *pflag.FlagSet) {
	f.BoolVar(&cmd.create, "create", false,
		"create the webhook, unless one for this address exists; the token must have the right to")
}

func (cmd *setUpCMS) run(ctx context.Context, c *call) error {
	s := c.settings
	driver, err := c.drivers.OpenCMS(s)
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

	for _, setting := range []struct{ value, advice string }{
		{s.SiteURL, "SITE_URL: the address at which the CMS reaches this service"},
		{hook.Token, "CMS_WEBHOOK_SECRET: a long random value, which the webhook sends as its token"},
		{hook.Secret, "CMS_WEBHOOK_SIGNING_SECRET: a long random value, " +
			"with which the webhook signs what it sends (recommended)"},
	} {
		if setting.value == "" {
			c.say("  missing here: %s", setting.advice)
		}
	}

	if !cmd.create {
		return nil
	}
	var needed []string
	if s.SiteURL == "" {
		needed = append(needed, "SITE_URL")
	}
	if hook.Token == "" {
		needed = append(needed, "CMS_WEBHOOK_SECRET")
	}
	if len(needed) > 0 {
		return fmt.Errorf("creating the webhook: set %s first", strings.Join(needed, " and "))
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

// seedCMS puts the documents of the sample company into a dataset that has no content of
// its own. It may be repeated: documents that exist stay as they are.
type seedCMS struct{ yes bool }

func (cmd *seedCMS) flags(f *pflag.FlagSet) {
	f.BoolVar(&cmd.yes, "yes", false, "do not ask")
}

func (cmd *seedCMS) run(ctx context.Context, c *call) error {
	driver, err := c.drivers.OpenCMS(c.settings)
	if err != nil {
		return err
	}

	seeder, ok := driver.(cms.Seeder)
	if !ok {
		c.say("CMS_DRIVER=%s needs no sample: development writes it to the content file", c.settings.CMSDriver)
		return nil
	}

	var docs []json.RawMessage
	if err := json.Unmarshal(c.drivers.Sample, &docs); err != nil {
		return fmt.Errorf("reading the sample: %w", err)
	}
	ids, types := make([]string, len(docs)), []string{}
	for i, raw := range docs {
		var doc cms.Document
		if doc, err = cms.Decode(raw, func(string) string { return "" }); err != nil {
			return fmt.Errorf("reading the sample: %w", err)
		}
		ids[i], types = doc.ID, append(types, doc.Type)
	}
	slices.Sort(types)

	existing, err := seeder.IDs(ctx, slices.Compact(types))
	if err != nil {
		return err
	}
	for _, id := range existing {
		if !slices.Contains(ids, id) {
			return finding(fmt.Sprintf("%s has content of its own, such as %s: nothing was added",
				c.dataset(), id))
		}
	}

	missing := len(docs) - len(existing)
	if missing == 0 {
		c.say("%s has all documents of the sample company: nothing was added", c.dataset())
		return nil
	}
	if !cmd.confirmed(c, "Publish %d documents of the sample company in %s?", missing, c.dataset()) {
		return finding("nothing was added")
	}
	if err := seeder.Seed(ctx, docs); err != nil {
		return err
	}

	c.say("%d documents were added to %s: replace the sample company by yours in Studio, and add its logo",
		missing, c.dataset())
	return nil
}

// dataset names the dataset that is written to.
func (c *call) dataset() string {
	return fmt.Sprintf("dataset %s of project %s", c.settings.SanityDataset, c.settings.SanityProjectID)
}

// confirmed asks a question on standard input, unless --yes is given.
func (cmd *seedCMS) confirmed(c *call, question string, args ...any) bool {
	if cmd.yes {
		return true
	}

	c.say(question+" [y/N]", args...)
	_ = c.out.Flush() // a failure is reported at the end of the command
	answer, _ := bufio.NewReader(c.in).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
