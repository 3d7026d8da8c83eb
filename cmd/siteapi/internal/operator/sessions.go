package operator

import (
	"context"
	"errors"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/store"
)

// sessionName is how much of a session's hash names it.
const sessionName = 12

func (d Deps) sessionsCommands() *cobra.Command {
	return group("sessions", "list and end the sessions of operators who signed in with their account",
		d.onDatabase("list", "list sessions, the newest first", &listSessions{}, "siteapi sessions list"),
		d.onDatabase("end <session> … | --all", "end sessions, at once and at every instance", &endSessions{},
			"siteapi sessions end --all"))
}

type listSessions struct{}

func (*listSessions) flags(*pflag.FlagSet) {}

func (*listSessions) run(ctx context.Context, c *call) error {
	list, err := c.db.Tables.ListSessions(ctx)
	if err != nil {
		return err
	}

	header := table.Row{"SESSION", "SUBJECT", "ROLE", "SINCE", "UNTIL"}
	printTable(c, "sessions", list, header, func(s store.OperatorSession) table.Row {
		return table.Row{
			s.Hash[:sessionName],
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
	f.BoolVar(&cmd.all, "all", false, "everybody's")
}

func (cmd *endSessions) run(ctx context.Context, c *call) error {
	names := c.args
	if cmd.all {
		names = []string{""}
	}

	ended := int64(0)
	for _, name := range names {
		if len(name) < sessionName && !cmd.all {
			return errors.New("a session is named by the first column of `siteapi sessions list`")
		}
		n, err := c.db.Tables.EndSessions(ctx, name)
		if err != nil {
			return err
		}
		ended += n
	}

	c.say("%d sessions ended", ended)
	return nil
}
