package main

import (
	"context"
	"fmt"
	"io"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/crm"
	"siteapi/integrations/upstream"
)

// crmCommand prepares the CRM.
func crmCommand(getenv func(string) string, out io.Writer) *cli.Command {
	o := operator{getenv, out}
	return &cli.Command{
		Name: "crm", Usage: "prepare the CRM", Action: group,
		Description: "   siteapi crm setup",
		Commands: []*cli.Command{{
			Name: "setup", Usage: "create the properties that leads are stored in; safe to repeat",
			Description: "Prints a line for each property. The token needs the right to change the schema of contacts.\n\n" +
				"   CRM_DRIVER=hubspot HUBSPOT_TOKEN=… siteapi crm setup",
			Action: o.command(o.setUpCRM),
		}},
	}
}

func (o operator) setUpCRM(ctx context.Context, c *cli.Command, s *config.Settings, log zerolog.Logger) error {
	if err := only(c, 0); err != nil {
		return err
	}
	contacts, err := openCRM(s, log, nil, func() {})
	if err != nil {
		return fmt.Errorf("opening the CRM: %w", err)
	}
	far, ok := contacts.(crm.Setup)
	if !ok {
		_, err := fmt.Fprintf(o.out, "CRM_DRIVER=%s needs no preparation: nothing was done\n", s.CRMDriver)
		return err
	}
	lines, err := far.Setup(ctx)
	for _, line := range lines {
		if _, err := fmt.Fprintln(o.out, line); err != nil {
			return err
		}
	}
	switch {
	case err == nil:
		return nil
	case upstream.KindOf(err) == upstream.Refused:
		return fmt.Errorf("%w\n(the token must be valid and have the scopes crm.schemas.contacts.read and crm.schemas.contacts.write)", err)
	default:
		return fmt.Errorf("%w\n(what is listed above is done: repeat the command for the rest)", err)
	}
}
