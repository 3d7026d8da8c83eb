package operator

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/store"
	"siteapi/schema"
)

func (d Drivers) sessionsCommands() *cobra.Command {
	return group("sessions", "list and end the sessions of operators who signed in with their account",
		d.onDatabase("list", "list sessions, the newest first", &listSessions{}, "siteapi sessions list"),
		d.onDatabase("end <session> … | --all", "end sessions, at once and at every instance", &endSessions{},
			"siteapi sessions end --all"))
}

type listSessions struct{}

func (*listSessions) flags(*pflag.FlagSet) {}

func (*listSessions) run(ctx context.Context, c *call) error {
	list, err := c.db.Tables.ListLogins(ctx, time.Now())
	if err != nil {
		return err
	}

	header := table.Row{"SESSION", "SUBJECT", "ROLE", "SINCE", "UNTIL"}
	printTable(c, "sessions", list, header, func(s store.Login) table.Row {
		return table.Row{
			s.ID(),
			printable(s.Subject),
			s.Role,
			s.StartedAt.Format(time.DateTime),
			s.ExpiresAt.Format(time.DateTime),
		}
	})
	return nil
}

type endSessions struct{ all bool }

func (cmd *endSessions) flags(f *pflag.FlagSet) {
	f.BoolVar(&cmd.all, "all", false, "the sessions of all operators")
}

func (cmd *endSessions) run(ctx context.Context, c *call) error {
	names := c.args
	if cmd.all {
		names = []string{""}
	}

	ended := int64(0)
	for _, name := range names {
		if len(name) < store.LoginIDLength && !cmd.all {
			return errors.New("a session is named by the first column of `siteapi sessions list`")
		}

		detail := map[string]any{"session": cmp.Or(name, "all")}
		if err := c.record(ctx, c.entry(schema.AuditActionSessionEnded, "", detail)); err != nil {
			return err
		}
		n, err := c.db.Tables.EndLogins(ctx, name)
		if err != nil {
			return err
		}
		ended += n
	}

	c.say("%d sessions ended", ended)
	return nil
}
