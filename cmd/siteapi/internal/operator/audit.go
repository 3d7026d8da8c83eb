package operator

import (
	"cmp"
	"context"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/operators"
	"siteapi/schema"
)

// entry returns the entry of the audit for what this command does.
func (c *call) entry(action schema.AuditAction, leadID string, detail map[string]any) store.AuditEntry {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return operators.AuditEntry(schema.CommandPrefix+cmp.Or(name, "unknown"), action, leadID, detail, time.Now())
}

// record stores what this command does.
func (c *call) record(ctx context.Context, entries ...store.AuditEntry) error {
	return c.db.Tables.Record(ctx, entries...)
}

// recordOpened stores that leads are shown.
func (c *call) recordOpened(ctx context.Context, list []lead.Lead) error {
	entries := make([]store.AuditEntry, len(list))
	for i, l := range list {
		entries[i] = c.entry(schema.AuditActionOpened, l.ID, nil)
	}
	return c.record(ctx, entries...)
}

func (d Drivers) auditCommands() *cobra.Command {
	return group("audit", "what operators did with leads",
		d.onDatabase("verify", "check that no entry was changed or removed; exit code 2: one was", &verifyAudit{},
			"siteapi audit verify",
			"siteapi audit verify --head 3f5a…"))
}

type verifyAudit struct{ head string }

func (cmd *verifyAudit) flags(f *pflag.FlagSet) {
	textVar(f, &cmd.head, "head",
		"the `hash` that an \"audit head\" line of the log names: it must still be there")
}

func (cmd *verifyAudit) run(ctx context.Context, c *call) error {
	report, err := c.db.Tables.VerifyAudit(ctx, cmd.head)
	if err != nil {
		return err
	}
	if report.Problem != "" {
		return finding("the audit is not as it was written: " + report.Problem)
	}

	c.say("%d entries follow one from the other\nhead: %s (entry %d)", report.Entries, report.Head, report.Seq)
	return nil
}
