package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"siteapi/cmd/siteapi/internal/systems"
	"siteapi/integrations/crm"
)

func (d commands) crmCommands() *cobra.Command {
	return group("crm", "prepare the CRM, and read outcomes of leads from it",
		d.command("setup", "create the properties of leads in the CRM, and list the stages of deals; "+
			"safe to repeat",
			[]string{"DATA_DIR", "CRM_DRIVER"}, setUpCRM,
			"siteapi crm setup"),
		d.command("pull", "read outcomes of leads from the CRM now, as a running service does every hour",
			append(databaseSettings(), "CRM_DRIVER"), pullOutcomes,
			"siteapi crm pull"))
}

func pullOutcomes(ctx context.Context, c *call) error {
	if err := c.openDatabase(ctx); err != nil {
		return err
	}
	if err := systems.CheckNote(ctx, c.db.Store, c.settings); err != nil {
		return err
	}
	contacts, err := c.open.CRM()
	if err != nil {
		return err
	}
	pull := c.open.Pull(c.db, contacts)
	if pull == nil {
		c.printLine("CRM_DRIVER=%s has no outcomes of leads, as HubSpot has with HUBSPOT_DEAL_STAGE: "+
			"nothing was done",
			c.settings.CRMDriver)
		return nil
	}

	known, err := pull.Once(ctx)
	if err == nil {
		c.printLine("%d outcomes were set", known.Set)
	}
	return err
}

func setUpCRM(ctx context.Context, c *call) error {
	contacts, err := c.open.CRM()
	if err != nil {
		return err
	}

	driver, ok := contacts.(crm.Setup)
	if !ok {
		c.printLine("CRM_DRIVER=%s needs no preparation: nothing was done", c.settings.CRMDriver)
		return nil
	}

	lines, err := driver.Setup(ctx)
	c.printLine("%s", strings.Join(lines, "\n"))
	if err != nil {
		return fmt.Errorf("%w\n(the steps above are done: run the command again for the others)", err)
	}
	return nil
}
