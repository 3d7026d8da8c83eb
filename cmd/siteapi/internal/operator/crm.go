package operator

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

func (d Deps) crmCommands() *cobra.Command {
	return group("crm", "prepare the CRM",
		d.command("setup", "create the properties that leads are stored in; safe to repeat",
			[]string{"DATA_DIR", "CRM_DRIVER", "HUBSPOT_*"}, plain(setUpCRM),
			"siteapi crm setup"))
}

func setUpCRM(ctx context.Context, c *call) error {
	contacts, err := c.deps.OpenCRM(c.settings)
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
