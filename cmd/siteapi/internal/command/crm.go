package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"siteapi/integrations/crm"
	"siteapi/resolvers/leads"
)

func (d Drivers) crmCommands() *cobra.Command {
	return group("crm", "prepare the CRM, and ask it what became of leads",
		d.command("setup", "create the properties that leads are stored in; safe to repeat",
			[]string{"DATA_DIR", "CRM_DRIVER", "HUBSPOT_*"}, setUpCRM,
			"siteapi crm setup"),
		d.command("pull", "ask the CRM now what became of leads, as a running service does every hour",
			append(databaseSettings(), "CRM_DRIVER", "HUBSPOT_*"), pullOutcomes,
			"siteapi crm pull"))
}

func pullOutcomes(ctx context.Context, c *call) error {
	if err := c.openDatabase(ctx); err != nil {
		return err
	}
	if err := CheckSystems(ctx, c.db.Tables, c.settings); err != nil {
		return err
	}
	contacts, err := c.drivers.OpenCRM(c.settings)
	if err != nil {
		return err
	}
	source, ok := contacts.(crm.Outcomes)
	if !ok {
		c.say("CRM_DRIVER=%s does not know what became of leads: nothing was done", c.settings.CRMDriver)
		return nil
	}

	pull := &leads.Pull{
		CRM:      source,
		Notes:    c.db.Tables,
		Archive:  c.db.Archive,
		Outcomes: c.db.Tables,
		Log:      zerolog.Nop(),
		Count:    func(string, string) {},
	}
	known, err := pull.Once(ctx)
	if err == nil {
		c.say("%d outcomes were set", known.Set)
	}
	return err
}

func setUpCRM(ctx context.Context, c *call) error {
	contacts, err := c.drivers.OpenCRM(c.settings)
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
	if err != nil {
		return fmt.Errorf("%w\n(what is listed above is done: run the command again for the rest. "+
			"The token needs the scopes crm.schemas.contacts.read and crm.schemas.contacts.write)", err)
	}
	return nil
}
