package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/lead"
	"siteapi/resolvers/leads"
	"siteapi/schema"
)

func (d Drivers) verifyCommand() *cobra.Command {
	return d.command("verify",
		"compare stored leads with the CMS and the CRM; exit code 2: something is missing",
		upstreamSettings(), &verifyDeliveries{},
		"siteapi deliveries verify",
		"siteapi deliveries verify --fix")
}

func targetVar(f *pflag.FlagSet, target *lead.Target) {
	enumVar(f, target, "target", "only this `target`", lead.Targets())
}

// recordResent stores that a lead is sent to a target again.
func (c *call) recordResent(ctx context.Context, leadID string, to lead.Target) error {
	return c.record(ctx, c.entry(schema.AuditActionResent, leadID, map[string]any{"target": to}))
}

type verifyDeliveries struct {
	since  time.Time
	target lead.Target
	fix    bool
	result result
}

func (cmd *verifyDeliveries) flags(f *pflag.FlagSet) {
	timeVar(f, &cmd.since, "since", "only leads submitted since that")
	targetVar(f, &cmd.target)
	f.BoolVar(&cmd.fix, "fix", false, "send again what is missing")
	cmd.result.flags(f)
}

func (cmd *verifyDeliveries) run(ctx context.Context, c *call) error {
	if err := c.openAll(ctx); err != nil {
		return err
	}
	if err := c.sameSystems(ctx, "CMS_DRIVER", "SANITY_PROJECT_ID", "SANITY_DATASET", "CRM_DRIVER"); err != nil {
		return err
	}

	var fix leads.Fix
	if cmd.fix {
		fix = c.recordResent
	}
	v, err := c.rules.Verify(ctx, cmd.since, cmd.target, fix)
	if err != nil {
		return err
	}

	err = cmd.result.print(c, v, func() {
		c.say("%d submissions compared", v.Leads)
		header := table.Row{"TARGET", "PRESENT", "UNDER WAY", "MISSING", "SENT AGAIN", "NOT SENT", "ERROR"}
		printTable(c, "targets", v.Targets, header, func(t *leads.VerifiedTarget) table.Row {
			return table.Row{t.Target, t.Present, t.UnderWay, t.Missing, t.Resent, t.NotSent, t.Error}
		})
	})

	missing := 0
	for _, t := range v.Targets {
		if t.Asked() { // failed deliveries to others are retried like other deliveries, but never by --fix
			missing += t.Missing
		}
		if t.Error != "" {
			err = errors.Join(err, fmt.Errorf("the %s could not be asked: %s", t.Target, t.Error))
		}
	}

	switch {
	case err != nil || missing == 0:
		return err
	case cmd.fix:
		return finding(fmt.Sprintf("%d deliveries were missing: "+
			"they are sent while the service runs; verify again later", missing))
	}
	return finding(fmt.Sprintf("%d deliveries are missing: "+
		"`siteapi deliveries verify --fix` sends them again", missing))
}
